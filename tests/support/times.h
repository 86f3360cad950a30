// Counts occurrences in a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace flor::testing {

inline std::size_t times(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace flor::testing
