#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace flor::store {
namespace {

bool acts_on_terminal(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/// True if no byte needs escaping and each byte takes one column.
bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t value = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

std::string printable(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string result;
  result.reserve(text.size() + 8);
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (point.value == '\n') {
      result += "\\n";
    } else if (point.value == '\t') {
      result += "\\t";
    } else if (acts_on_terminal(point.value)) {
      const auto code = static_cast<std::uint32_t>(point.value);
      result += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:x}}}", code);
    } else {
      result += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return result;
}

std::string print_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // Amounts from 999.5 on would be printed with four digits, so they get the next unit.
  while (amount >= 999.5 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", amount, amount < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace flor::store
