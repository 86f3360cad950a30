// The tokens of a part of a source in a normal form, for comparing two versions. Each statement
// that an if or a loop controls has braces in this form, whether the source has them or not.
#pragma once

#include "sources/syntax/difference.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/source.h"

#include <vector>

namespace flor::sources {

struct Spelling {
  Sequence tokens;
  /// Where each token stands in the file. Braces that are not in the file stand beside the
  /// statement.
  std::vector<Range> at;

  /// The tokens of the file from which `range` of the sequence comes. `piece` is what was spelled.
  Range in_file(Range range, Range piece) const;
};

struct PieceOfSource {
  const Source* source;
  Range range;
};

/// `without` says for each token of the piece whether to leave it out. A statement that uses one of
/// `macros`, even if only a call by that name, gets no braces, since it may expand to several
/// statements.
Spelling spell(const PieceOfSource& piece, const Words& macros, const std::vector<bool>* without);

void add_macros_of(const Source& source, Words& macros);

}  // namespace flor::sources
