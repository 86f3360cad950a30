// Puts statements into a text, on lines of their own.
#pragma once

#include "carry/tree.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::carry {

/// A text to be put in front of a token.
struct Insertion {
  std::size_t token = 0;  ///< of the file; not the first
  std::string text;       ///< statements as they will stand there, without the last line end
  bool apart = false;     ///< an empty line follows, and comments above the token stay with it
};

struct InsertedText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  ///< the additions, in the new text
};

/// Makes all insertions, in the given order if several have one place. The rest of the text stays
/// byte for byte; line ends become those of the file.
InsertedText insert(const Source& source, std::vector<Insertion> insertions);

/// The white space in front of the statements of a block.
std::string indentation_in(const Source& source, const Block& block, std::size_t index);

/// The text of `range` with some names replaced and another indentation. `written`: the same text
/// with comments above it. Nothing if a token is not in the text as it is.
std::optional<std::string> text_with_names(const Source& source, Range range,
                                           const std::string& written,
                                           const std::map<std::string, std::string>& names,
                                           const std::string& indentation);

/// The text without these ranges, and without the lines that become empty by that.
std::string without(const Source& source, const std::vector<Range>& ranges);

}  // namespace flor::carry
