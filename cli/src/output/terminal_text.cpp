// Text for a terminal: safe to print, measured, compared.
#include "output/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <vector>

namespace flor::cli {
namespace {

bool plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::size_t width_of(char32_t c) {
  // The C library knows the widths of Unicode characters, but only in a UTF-8 locale.
  static const bool ready = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  if (!ready) return 1;
  const int width = ::wcwidth(static_cast<wchar_t>(c));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::size_t display_width(std::string_view text) {
  if (plain_ascii(text)) return text.size();
  std::size_t width = 0;
  while (!text.empty()) {
    const store::CodePoint point = store::first_code_point(text);
    width += point.length == 0 ? 1 : width_of(point.value);
    text.remove_prefix(std::max<std::size_t>(point.length, 1));
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t used = 0, bytes = 0;
  while (bytes < text.size()) {
    const store::CodePoint point = store::first_code_point(text.substr(bytes));
    const std::size_t step = point.length == 0 ? 1 : width_of(point.value);
    if (used + step > width - 1) break;
    used += step;
    bytes += std::max<std::size_t>(point.length, 1);
  }
  return std::string(text.substr(0, bytes)) + "…";
}

void print_remark(std::string_view text) {
  const std::string line = fmt::format("flor: {}\n", printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace flor::cli
