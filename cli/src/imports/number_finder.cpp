#include "imports/number_finder.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace flor::cli {
namespace {

/// The name before the group of a pattern: "loss" in `loss=(...)`, `loss: (...)` and `"loss":
/// (...)`.
std::string name_in(std::string_view pattern) {
  const std::size_t group = pattern.find('(');
  std::string_view before = pattern.substr(0, std::min(group, pattern.size()));
  const auto is_letter = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '/' || c == '-';
  };
  for (const std::string_view end : {"\\s*", "\\s+", "\\s", " *", " "}) {
    if (before.ends_with(end)) before.remove_suffix(end.size());
  }
  while (!before.empty() && !is_letter(static_cast<unsigned char>(before.back()))) {
    before.remove_suffix(1);
  }
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(static_cast<unsigned char>(before[begin - 1]))) --begin;
  // The letter of an escape such as \d does not belong to a name.
  if (begin > 0 && before[begin - 1] == '\\') ++begin;
  return begin < before.size() ? std::string(before.substr(begin)) : std::string();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where the number ends that has the byte before `at`: `at`, if no more of it follows.
std::size_t end_of_number(std::string_view line, std::size_t at) {
  const auto digit = [&](std::size_t k) { return k < line.size() && is_digit(line[k]); };
  for (;;) {
    const char c = at < line.size() ? line[at] : '\0';
    if (is_digit(c)) {
      ++at;
    } else if (c == '.' && digit(at + 1)) {
      at += 2;
    } else if ((c == 'e' || c == 'E') && digit(at + 1)) {
      at += 2;
    } else if ((c == 'e' || c == 'E') && at + 1 < line.size() &&
               (line[at + 1] == '-' || line[at + 1] == '+') && digit(at + 2)) {
      at += 3;
    } else if (c == ',' && digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4)) {
      at += 4;
    } else {
      return at;
    }
  }
}

/// Where the number begins that has the byte at `at`.
std::size_t begin_of_number(std::string_view line, std::size_t at) {
  const auto digit = [&](std::size_t back) { return at >= back && is_digit(line[at - back]); };
  // A sign or a point belongs to a number only behind such a byte, unlike those of 1-3 and a.5.
  const auto begins = [&](std::size_t back) {
    return at < back || std::string_view(" \t=:([,'\"").find(line[at - back]) != line.npos;
  };
  const auto letter = [&](std::size_t back) {
    return at >= back && (line[at - back] == 'e' || line[at - back] == 'E');
  };
  for (;;) {
    const char c = at > 0 ? line[at - 1] : '\0';
    if (is_digit(c)) {
      --at;
    } else if (c == '.' && (digit(2) || begins(2))) {
      --at;
    } else if (letter(1) && digit(2)) {
      at -= 2;
    } else if ((c == '-' || c == '+') && letter(2) && digit(3)) {
      at -= 3;
    } else if (c == '-' && begins(2)) {
      return at - 1;
    } else {
      return at;
    }
  }
}

}  // namespace

std::string without_escapes(std::string_view line) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] != kEscape) {
      plain += line[at++];
      continue;
    }
    const char kind = at + 1 < line.size() ? line[at + 1] : '\0';
    at = std::min(at + 2, line.size());
    if (kind == '[') {
      while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
      at = std::min(at + 1, line.size());
    } else if (kind == ']') {
      while (at < line.size() && line[at] != '\a' && line[at] != kEscape) ++at;
      if (at < line.size()) at = std::min(at + (line[at] == '\a' ? 1u : 2u), line.size());
    } else if (kind == '(' || kind == ')') {
      at = std::min(at + 1, line.size());
    }
  }
  return plain;
}

bool CutNumbers::note(std::string_view line, const Pattern::Group& part) {
  const std::size_t begin = begin_of_number(line, part.begin), end = end_of_number(line, part.end);
  if (begin == part.begin && end == part.end) return false;
  if (count_++ == 0) {
    part_ = line.substr(part.begin, part.end - part.begin);
    whole_ = line.substr(begin, end - begin);
  }
  return true;
}

std::string CutNumbers::text() const {
  return fmt::format("'{}' of '{}', in {}", shortened(printable(part_), 40),
                     shortened(printable(whole_), 40), counted(count_, "place"));
}

NumberFinder::NumberFinder(std::string option, std::string regex, std::string name)
    : option_(std::move(option)),
      regex_(std::move(regex)),
      name_(name.empty() ? name_in(regex_) : std::move(name)),
      pattern_(option_, regex_) {
  if (!pattern_.has_group()) {
    throw UsageError(
        fmt::format("{} '{}' has no brackets: put them around the number, as in "
                    "'loss=(\\d+\\.\\d+)'",
                    option_, printable(regex_)));
  }
  if (name_.empty()) {
    throw UsageError(fmt::format(
        "{} '{}' has no word before its brackets: name the metric, {}", option_, printable(regex_),
        option_ == "REGEX" ? "--name NAME"
                           : "as in 'loss=(\\d+\\.\\d+)', or after the import with flor "
                             "extract RUN REGEX --name NAME"));
  }
}

void NumberFinder::find(std::string_view line, const std::function<void(ValueWord&&)>& visit) {
  if (line.find('\x1b') != line.npos) return find(without_escapes(line), visit);
  std::size_t from = 0;
  while (const auto group = pattern_.group_in(line, from)) {
    const std::string_view text = line.substr(group->begin, group->end - group->begin);
    cut_.note(line, *group);
    if (const auto integer = whole_integer(text)) {
      visit({store::ValueType::integer, *integer});
    } else if (const auto real = whole_number(text)) {
      visit({store::ValueType::real, *real});
    } else {
      throw UsageError(fmt::format("{} '{}' finds '{}' in '{}', which is no number", option_,
                                   printable(regex_), printable(text),
                                   shortened(printable(line), 60)));
    }
    from = std::max(group->match_end, from + 1);
  }
}

std::string NumberFinder::doubt() const {
  if (!cut_.any()) return {};
  return fmt::format("{} '{}' takes a part of a number: {}; brackets around all of it are (\\S+)",
                     option_, printable(regex_), cut_.text());
}

}  // namespace flor::cli
