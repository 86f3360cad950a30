// Texts from anywhere, safe to show on a terminal and to give to a shell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flor::store {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  ///< bytes; 0: not UTF-8
};
/// The first of `text`, which is not empty.
CodePoint first_code_point(std::string_view text);

/// `text` with everything escaped that would act on a terminal instead of being shown: control
/// characters, bytes that are not UTF-8, and marks that reverse the direction of writing. Newlines
/// and tabs become \n and \t.
std::string printable(std::string_view text);

/// "0 B", "1.2 KiB", "34 MiB": IEC units, 3 digits at most.
std::string print_bytes(std::uint64_t bytes);

/// A word for a shell, in quotes where it needs them.
std::string shell_word(std::string_view word);

}  // namespace flor::store
