// The tokens of a part of a source in a normal form for comparing two versions: each statement that
// an if or a loop controls stands in braces, whether they are written or not.
#pragma once

#include "sources/syntax/difference.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/source.h"

#include <vector>

namespace flor::sources {

struct Spelling {
  Sequence tokens;
  std::vector<Range> at;  ///< where each stands in the file; braces that are not written: beside them

  /// The tokens of the file that `range` of the sequence comes from, which was made of `piece`.
  Range in_file(Range range, Range piece) const;
};

struct PieceOfSource {
  const Source* source;
  Range range;
};

/// `without`: for each token of the piece whether it is left out. Statements with one of `macros`,
/// or with a seeming call of one, stay as they are: they may be several statements.
Spelling spell(const PieceOfSource& piece, const Words& macros, const std::vector<bool>* without);

void add_macros_of(const Source& source, Words& macros);

}  // namespace flor::sources
