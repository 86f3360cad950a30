// Puts statements into a text, on lines of their own.
#pragma once

#include "carry/tree.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::carry {

/// A text to insert before a token.
struct Insertion {
  std::size_t token = 0;  ///< index among the tokens of the file; not 0
  std::string text;       ///< complete lines with their indentation, without the last line end
  bool apart = false;     ///< adds an empty line after it, and keeps comments above the token
                          ///< attached to the token
};

struct InsertedText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  ///< byte ranges of the additions in the
                                                            ///< new text
};

/// Makes all insertions, in the given order if several are at one token. The rest of the text is
/// not changed by a byte; inserted line ends are those of the file.
InsertedText insert(const Source& source, std::vector<Insertion> insertions);

/// The white space at the beginning of the line of statement `index` of a block.
std::string indentation_in(const Source& source, const Block& block, std::size_t index);

/// Returns `written`, which is the text of `range` and of the comments above it, indented by
/// `indentation` and with each name in `names` replaced by its other spelling. Returns nullopt if
/// the range has a line continuation (a backslash at the end of a line; see bytes_of).
std::optional<std::string> text_with_names(const Source& source, Range range,
                                           const std::string& written,
                                           const std::map<std::string, std::string>& names,
                                           const std::string& indentation);

/// The text without these ranges of tokens, and without the lines that become empty.
std::string without(const Source& source, const std::vector<Range>& ranges);

}  // namespace flor::carry
