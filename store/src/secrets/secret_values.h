// Where the value of a name ends in a text: a word of a shell, a string or a list of JSON, a part
// of an address or of a connection string.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace flor::store {

/// The quotes that are open at each place of a text.
class OpenQuotes {
 public:
  explicit OpenQuotes(std::string_view text);
  /// '"', '\'' or, outside of quotes, 0.
  char around(std::size_t at) const { return at < open_.size() ? open_[at] : '\0'; }

 private:
  std::vector<char> open_;
};

struct ValueRange {
  std::size_t begin = 0, end = 0;  ///< without the quotes or brackets around it
  std::size_t after = 0;           ///< the first byte that does not belong to it
};

/// The value that begins at `begin`. It ends before one of `closing`, or before `around`, which is
/// the quote that was open there; text in quotes or brackets or after a backslash belongs to it.
/// Without the end of a quote or bracket it is the rest of the text.
ValueRange value_at(std::string_view text, std::size_t begin, std::string_view closing,
                    char around);

}  // namespace flor::store
