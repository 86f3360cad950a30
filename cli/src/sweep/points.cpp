#include "sweep/points.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace flor::cli {
namespace {

/// Most numbers that a range in a list may stand for.
constexpr double kMostNumbers = 10'000;

/// A value of a list, and whether it was quoted: then it is never read as a range.
struct Text {
  std::string text;
  bool quoted = false;
};

/// Splits at commas outside of double quotes; inside, "" stands for one quote. Returns nullopt if a
/// quote is not closed or something follows the closing one.
std::optional<std::vector<Text>> split_values(std::string_view list) {
  std::vector<Text> texts;
  for (;;) {
    Text& text = texts.emplace_back();
    if (!list.starts_with('"')) {
      const std::size_t end = std::min(list.find(','), list.size());
      text.text = list.substr(0, end);
      list.remove_prefix(end);
    } else {
      text.quoted = true;
      for (;;) {
        const std::size_t end = list.find('"', 1);
        if (end == list.npos) return std::nullopt;
        text.text += list.substr(1, end - 1);
        list.remove_prefix(end + 1);
        if (!list.starts_with('"')) break;
        text.text += '"';
      }
    }
    if (list.empty()) return texts;
    if (!list.starts_with(',')) return std::nullopt;
    list.remove_prefix(1);
  }
}

std::optional<double> whole_text_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// Parses a range; nullopt if the text is none, such as "../data".
std::optional<NumberRange> parse_range(std::string_view word, std::string_view text) {
  constexpr std::string_view kLog = ":log";
  const bool logarithmic = text.ends_with(kLog);
  if (logarithmic) text.remove_suffix(kLog.size());
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const std::string_view left = text.substr(0, dots), right = text.substr(dots + 2);
  const auto least = whole_text_number(left), most = whole_text_number(right);
  if (!least || !most) return std::nullopt;
  if (*least > *most || (logarithmic && *least <= 0)) {
    throw UsageError(fmt::format("{}: a range goes from the smaller number to the greater one{}",
                                 printable(word),
                                 logarithmic ? ", and with :log begins above 0" : ""));
  }
  return NumberRange{*least, *most, is_whole(left) && is_whole(right), logarithmic};
}

/// All numbers of a range with whole ends.
std::vector<std::string> numbers_of(std::string_view name, const NumberRange& range) {
  if (!range.whole || range.logarithmic || range.most - range.least >= kMostNumbers) {
    throw UsageError(fmt::format(
        "{} is a range that cannot be counted through: --random N draws from it", printable(name)));
  }
  std::vector<std::string> numbers;
  const auto last = static_cast<std::int64_t>(range.most);
  for (auto i = static_cast<std::int64_t>(range.least); i <= last; ++i) {
    numbers.push_back(std::to_string(i));
  }
  return numbers;
}

void require_name(std::string_view name, std::string_view where) {
  if (!name.empty() && name.find_first_of("= \t\"") == name.npos && name.front() != '-') return;
  throw UsageError(fmt::format("{}: '{}' is no name of an argument", where, printable(name)));
}

[[noreturn]] void wrong_line(std::string_view name, std::size_t line, std::string_view why) {
  throw UsageError(fmt::format("{}, line {}: {}", printable(name), line, why));
}

SweepPoint row_of_json(std::string_view text, std::string_view name, std::size_t line) {
  const auto row = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!row.is_object() || row.empty()) {
    wrong_line(name, line, "expected a JSON object of arguments, as {\"lr\": 0.1}");
  }
  SweepPoint point;
  for (const auto& [argument, value] : row.items()) {
    require_name(argument, fmt::format("{}, line {}", printable(name), line));
    if (value.is_structured() || value.is_null()) {
      wrong_line(name, line, fmt::format("{} is no number, text or bool", printable(argument)));
    }
    point.emplace_back(argument, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return point;
}

SweepPoint row_of_csv(std::string_view text, const std::vector<Text>& header, std::string_view name,
                      std::size_t line) {
  const auto fields = split_values(text);
  if (!fields || fields->size() != header.size()) {
    wrong_line(name, line,
               fmt::format("expected {}, with commas between them",
                           counted(static_cast<std::int64_t>(header.size()), "value")));
  }
  SweepPoint point;
  for (std::size_t i = 0; i < header.size(); ++i) {
    point.emplace_back(header[i].text, (*fields)[i].text);
  }
  return point;
}

void append(SweepPoint& point, const SweepPoint& more) {
  for (const auto& argument : more) {
    const auto same = [&](const auto& other) { return other.first == argument.first; };
    if (std::ranges::any_of(point, same)) {
      throw UsageError(
          fmt::format("{} is given twice: give each argument once, with commas "
                      "between its values",
                      printable(argument.first)));
    }
    point.push_back(argument);
  }
}

/// A random number in [0, 1). The result is the same on all platforms, unlike that of
/// std::uniform_real_distribution.
double uniform(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11) * 0x1p-53; }

/// A number of the range as text. It has six digits, so that differences between mathematical
/// libraries do not show.
std::string drawn(const NumberRange& range, std::mt19937_64& engine) {
  const double part = uniform(engine);
  const double least = range.least, most = range.most + (range.whole ? 1 : 0);
  double value = range.logarithmic
                     ? std::exp(std::log(least) + part * (std::log(most) - std::log(least)))
                     : least + part * (most - least);
  if (range.whole) {
    value = std::clamp(std::floor(value), range.least, range.most);
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:.6g}", value);
}

}  // namespace

std::string point_text(const SweepPoint& point) {
  std::string text;
  for (const auto& [name, value] : point) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return printable(text);
}

SweepAxis parse_sweep_axis(std::string_view word) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string name(word.substr(0, equals));
  if (equals == word.size()) {
    throw UsageError(fmt::format("--kwargs {}: expected NAME=VALUE,VALUE", printable(word)));
  }
  require_name(name, "--kwargs");
  const auto texts = split_values(word.substr(equals + 1));
  if (!texts) {
    throw UsageError(
        fmt::format("--kwargs {}: a quote is not closed, or something follows it: write "
                    "'{}=\"a,b\",c'",
                    printable(word), printable(name)));
  }
  SweepAxis axis{.name = name};
  if (texts->size() == 1 && !texts->front().quoted) {
    axis.range = parse_range(word, texts->front().text);
    if (axis.range) return axis;
  }
  for (const Text& text : *texts) {
    const auto range = text.quoted ? std::nullopt : parse_range(word, text.text);
    if (!range) {
      axis.alternatives.push_back({{name, text.text}});
      continue;
    }
    for (std::string& number : numbers_of(word, *range)) {
      axis.alternatives.push_back({{name, std::move(number)}});
    }
  }
  return axis;
}

SweepAxis parse_rows(std::string_view text, std::string_view name) {
  const bool is_json = text.substr(0, text.find_last_not_of(" \r\n\t") + 1).starts_with('{');
  SweepAxis axis;
  std::optional<std::vector<Text>> header;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    if (is_json) {
      axis.alternatives.push_back(row_of_json(row, name, line));
    } else if (!header) {
      header = split_values(row);
      if (!header) wrong_line(name, line, "a quote is not closed, or something follows it");
      for (const Text& column : *header) {
        require_name(column.text, fmt::format("{}, line {}", printable(name), line));
      }
    } else {
      axis.alternatives.push_back(row_of_csv(row, *header, name, line));
    }
  }
  if (!axis.alternatives.empty()) return axis;
  throw UsageError(
      fmt::format("{} has no points: a line of names and a line for each point, with commas, or a "
                  "JSON object for each",
                  printable(name)));
}

std::vector<SweepPoint> all_points(const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points{SweepPoint()};
  for (const SweepAxis& axis : axes) {
    std::vector<SweepPoint> alternatives = axis.alternatives;
    if (axis.range) {
      for (std::string& number : numbers_of(axis.name, *axis.range)) {
        alternatives.push_back({{axis.name, std::move(number)}});
      }
    }
    if (points.size() * alternatives.size() > kMostPoints) {
      throw UsageError(
          fmt::format("these are more than {} points: --random N draws some of them", kMostPoints));
    }
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const SweepPoint& alternative : alternatives)
        append(longer.emplace_back(point), alternative);
    }
    points = std::move(longer);
  }
  std::set<SweepPoint> seen;
  for (const SweepPoint& point : points) {
    if (!seen.insert(point).second) {
      throw UsageError(fmt::format("{} is there twice: name each value once", point_text(point)));
    }
  }
  return points;
}

std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, std::size_t count,
                                    std::uint64_t seed) {
  if (count > kMostPoints) {
    throw UsageError(fmt::format("--random {}: at most {} points", count, kMostPoints));
  }
  /// After so many draws in a row without a new point there are most likely no others.
  constexpr int kInVain = 10'000;
  std::mt19937_64 engine(seed);
  std::vector<SweepPoint> points;
  std::set<SweepPoint> seen;
  for (int in_vain = 0; points.size() < count;) {
    SweepPoint point;
    for (const SweepAxis& axis : axes) {
      if (axis.range) {
        append(point, {{axis.name, drawn(*axis.range, engine)}});
      } else {
        const auto sizes = static_cast<double>(axis.alternatives.size());
        append(point, axis.alternatives[static_cast<std::size_t>(uniform(engine) * sizes)]);
      }
    }
    if (seen.insert(point).second) {
      points.push_back(std::move(point));
      in_vain = 0;
    } else if (++in_vain == kInVain) {
      throw UsageError(fmt::format("--random {}: there are not more than {} different points",
                                   count, points.size()));
    }
  }
  return points;
}

}  // namespace flor::cli
