// Finds where the value of a name ends in a text: in a shell word, a JSON string or list, a part of
// a URL or of a connection string.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace flor::store {

/// Tells which quote is open at each position of a text.
class OpenQuotes {
 public:
  explicit OpenQuotes(std::string_view text);
  /// Returns '"', '\'' or, outside of quotes, 0.
  char around(std::size_t at) const { return at < open_.size() ? open_[at] : '\0'; }

 private:
  std::vector<char> open_;
};

struct ValueRange {
  std::size_t begin = 0, end = 0;  ///< without enclosing quotes or brackets
  std::size_t after = 0;           ///< the first byte after the value and its closing quote or
                                   ///< bracket
};

/// Returns the value that begins at `begin`. It ends before one of the characters `closing`, or
/// before `around`, the quote that is open there. Text in quotes or brackets, or after a backslash,
/// belongs to the value. If a closing quote or bracket is missing, the value is the rest of the
/// text.
ValueRange value_at(std::string_view text, std::size_t begin, std::string_view closing,
                    char around);

}  // namespace flor::store
