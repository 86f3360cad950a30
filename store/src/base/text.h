// Texts of any origin, made safe to print on a terminal or to pass to a shell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flor::store {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  ///< in bytes; 0 if the text is not valid UTF-8 there
};
/// Returns the first code point of `text`, which must not be empty.
CodePoint first_code_point(std::string_view text);

/// Returns `text` with everything escaped that a terminal would act on instead of showing: control
/// characters, bytes that are not UTF-8, and marks that reverse the writing direction. Newlines and
/// tabs become \n and \t.
std::string printable(std::string_view text);

/// Returns "0 B", "1.2 KiB" or "34 MiB": IEC units, at most 3 digits.
std::string print_bytes(std::uint64_t bytes);

/// Returns `word` as one word of a shell command, quoted if necessary.
std::string shell_word(std::string_view word);

}  // namespace flor::store
