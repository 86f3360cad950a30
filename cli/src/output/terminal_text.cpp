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

/// The distance by optimal string alignment: the number of insertions, deletions, substitutions and
/// swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
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

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // A third of the word may be wrong. A word that is the beginning of a candidate has the distance
  // 1.
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto found = nearest(word, candidates);
  return found ? fmt::format(": did you mean '{}'?", printable(*found)) : std::string();
}

}  // namespace flor::cli
