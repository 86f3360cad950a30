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

}  // namespace

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

void NumberFinder::find(std::string_view line,
                        const std::function<void(ValueWord&&)>& visit) const {
  std::size_t from = 0;
  while (const auto group = pattern_.group_in(line, from)) {
    const std::string_view text = line.substr(group->begin, group->end - group->begin);
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

}  // namespace flor::cli
