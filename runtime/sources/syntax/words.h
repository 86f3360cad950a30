// Lists of C++ words, and a test whether a list has a word.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace flor::sources {

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

inline constexpr std::array<std::string_view, 13> kAssignments = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};

}  // namespace flor::sources
