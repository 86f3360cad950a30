#include "imports/table_reader.h"

#include "imports/clock_text.h"
#include "imports/csv_reader.h"
#include "output/json.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

using store::ValueType;

constexpr std::array<std::string_view, 3> kEpochNames{"epoch", "epochs", "current_epoch"};
constexpr std::array<std::string_view, 9> kStepNames{
    "step",       "global_step", "_step", "trainer/global_step", "steps", "iteration",
    "iterations", "iter",        "batch"};
constexpr std::array<std::string_view, 11> kTimeNames{
    "time",     "timestamp", "_timestamp", "@timestamp", "wall_time", "wall time",
    "walltime", "datetime",  "date",       "created_at", "ts"};
constexpr std::array<std::string_view, 7> kMissing{"", "NA", "N/A", "<NA>", "None", "null", "NULL"};
constexpr std::size_t kColumnsMax = 100'000;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// The series whose name comes first in the list, whatever its case.
LoggedSeries* named_like(LoggedRun& run, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    for (LoggedSeries& series : run.all_series()) {
      if (in_lower_case(series.name()) == name) return &series;
    }
  }
  return nullptr;
}

/// Whole, also written as 3.0, as a column is that had missing cells in between.
std::optional<std::int64_t> whole(ValueType type, const store::Scalar& value) {
  if (type == ValueType::integer) return std::get<std::int64_t>(value);
  if (type != ValueType::real) return std::nullopt;
  constexpr double kMost = 9e15;
  const double real = std::get<double>(value);
  if (!(real >= -kMost && real <= kMost)) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(real);
  return static_cast<double>(integer) == real ? std::optional(integer) : std::nullopt;
}

std::string shown(const store::Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return shortened(printable(*text), 40);
  return std::visit([](const auto& one) { return fmt::format("{}", one); }, value);
}

}  // namespace

/// The number of the row is kept in the place of the epoch until `finish`.
void TableRows::add(std::string_view column, ValueWord&& cell) {
  if (run_.all_series().size() > kColumnsMax) {
    throw UsageError(fmt::format("row {}: more than {} columns", rows_, kColumnsMax));
  }
  if (LoggedSeries* series = run_.series(column)) {
    series->add({rows_ - 1, -1}, cell.type, std::move(cell.value));
  }
}

LoggedSeries* TableRows::column(Loop loop) {
  const std::string& wanted = loop == Loop::epoch ? columns_.epoch : columns_.step;
  if (wanted.empty()) {
    return loop == Loop::epoch ? named_like(run_, kEpochNames) : named_like(run_, kStepNames);
  }
  std::vector<std::string> names;
  for (LoggedSeries& series : run_.all_series()) {
    if (series.name() == wanted) return &series;
    names.push_back(series.name());
  }
  std::string hint = did_you_mean(wanted, names);
  if (hint.empty() && !names.empty()) {
    constexpr std::size_t kNamed = 8;
    const bool has_more = names.size() > kNamed;
    if (has_more) names.resize(kNamed);
    hint = fmt::format(": it has {}{}", fmt::join(names, ", "), has_more ? ", ..." : "");
  }
  throw UsageError(fmt::format("it has no column '{}'{}", printable(wanted), hint));
}

TableRows::Numbers TableRows::numbers_of(const LoggedSeries& series) const {
  Numbers numbers(static_cast<std::size_t>(rows_), -1);
  for (std::size_t at = 0; at < series.size(); ++at) {
    numbers[static_cast<std::size_t>(series.place(at).epoch)] =
        whole(series.type(at), series.value(at)).value_or(-1);
  }
  return numbers;
}

/// Empty if there is no such column. One that was found by its name and has other cells is a
/// metric, as the `epoch` 0.53 that Hugging Face's trainer logs.
TableRows::Numbers TableRows::take_numbers(Loop loop) {
  const LoggedSeries* series = column(loop);
  if (!series) return {};
  const std::int64_t most = loop == Loop::epoch ? kLoggedEpochMax : kLoggedStepMax;
  for (std::size_t at = 0; at < series->size(); ++at) {
    const auto number = whole(series->type(at), series->value(at));
    if (number && *number >= 0 && *number <= most) continue;
    const bool is_named = !(loop == Loop::epoch ? columns_.epoch : columns_.step).empty();
    if (!is_named) return {};
    throw UsageError(fmt::format("column '{}' has {} in row {}: {} is a whole number up to {}",
                                 printable(series->name()), shown(series->value(at)),
                                 series->place(at).epoch + 1,
                                 loop == Loop::epoch ? "an epoch" : "a step", most));
  }
  return numbers_of(*series);
}

void TableRows::remove(const std::string& name) {
  std::erase_if(run_.all_series(), [&](const LoggedSeries& one) { return one.name() == name; });
}

/// Takes the column that has times in all its cells. `epochs`: of the rows, or empty.
void TableRows::take_times(const Numbers& epochs) {
  LoggedSeries* series = named_like(run_, kTimeNames);
  if (!series || series->size() == 0) return;
  std::vector<std::int64_t> times;
  times.reserve(series->size());
  for (std::size_t at = 0; at < series->size(); ++at) {
    const store::Scalar value = series->value(at);
    const auto* text = std::get_if<std::string>(&value);
    const auto* real = std::get_if<double>(&value);
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto time = text      ? clock_cell(*text)
                      : real    ? clock_number(*real)
                      : integer ? clock_number(static_cast<double>(*integer))
                                : std::nullopt;
    if (!time) return;
    times.push_back(*time);
  }
  for (std::size_t at = 0; at < times.size(); ++at) {
    const auto row = static_cast<std::size_t>(series->place(at).epoch);
    run_.notice_time({epochs.empty() ? -1 : epochs[row], -1}, times[at]);
  }
  remove(std::string(series->name()));
}

void TableRows::finish() {
  Numbers epochs = take_numbers(Loop::epoch), steps = take_numbers(Loop::step);
  if (!epochs.empty() && !steps.empty()) {
    // Rows with a step alone say that the column does not tell where the epochs begin.
    std::int64_t alone = 0;
    for (std::size_t row = 0; row < steps.size(); ++row) {
      if (steps[row] >= 0 && epochs[row] < 0) ++alone;
    }
    if (alone > 0) {
      if (!columns_.epoch.empty()) {
        throw UsageError(
            fmt::format("{} have a step and no epoch in column '{}': leave --epoch out",
                        counted(alone, "row"), printable(columns_.epoch)));
      }
      epochs.clear();
    }
  }
  if (!epochs.empty()) remove(std::string(column(Loop::epoch)->name()));
  if (!steps.empty()) remove(std::string(column(Loop::step)->name()));
  // Steps without epochs are those of one epoch.
  if (epochs.empty() && !steps.empty()) {
    epochs = steps;
    for (std::int64_t& epoch : epochs) epoch = std::min<std::int64_t>(epoch, 0);
  }
  take_times(epochs);
  for (LoggedSeries& series : run_.all_series()) {
    for (std::size_t at = 0; at < series.size(); ++at) {
      LoggedPlace& place = series.place(at);
      const auto row = static_cast<std::size_t>(place.epoch);
      place.epoch = epochs.empty() ? -1 : epochs[row];
      place.step = steps.empty() || place.epoch < 0 ? -1 : steps[row];
    }
  }
}

namespace {

/// Names of columns, each once: empty ones by their number, later ones of a name as `loss.2`.
std::vector<std::string> titles_of(const std::vector<std::string>& header) {
  std::vector<std::string> titles;
  std::map<std::string, int> met;
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string title = header[i];
    const auto is_blank = [](unsigned char c) { return std::isspace(c) != 0; };
    while (!title.empty() && is_blank(static_cast<unsigned char>(title.back()))) title.pop_back();
    title.erase(title.begin(), std::ranges::find_if_not(title, is_blank));
    if (title.empty()) title = fmt::format("column_{}", i + 1);
    if (const int before = met[title]++; before > 0) title += fmt::format(".{}", before + 1);
    titles.push_back(std::move(title));
  }
  return titles;
}

/// A cell as a value. In a column of numbers, large whole ones are numbers, too.
ValueWord cell_value(std::string_view cell) {
  const auto integer = whole_integer(cell);
  const auto real = integer ? std::nullopt : whole_number(cell);
  return real ? ValueWord{ValueType::real, *real} : value_word(cell);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

void read_csv(const store::File& file, const std::string& name, const TableColumns& columns,
              LoggedRun& run) {
  CsvReader reader(file);
  CsvRow row;
  if (!reader.next(row)) throw UsageError("it is empty");
  const bool is_header = std::ranges::none_of(row.fields, [](const std::string& field) {
    return whole_number(trimmed(field)).has_value();
  });
  if (!is_header) {
    throw UsageError(
        fmt::format("it has no header: line {} must name the columns, and has numbers", row.line));
  }
  const std::vector<std::string> titles = titles_of(row.fields);
  if (titles.size() > kColumnsMax) {
    throw UsageError(fmt::format("it has more than {} columns", kColumnsMax));
  }
  TableRows rows(columns, run);
  std::int64_t other = 0, first_other = 0;
  while (reader.next(row)) {
    // A row that was being written has lost its end, maybe in the middle of a number.
    const bool is_cut = !row.has_end && row.fields.size() < titles.size();
    if (is_cut || row.fields.size() > titles.size()) {
      if (other++ == 0) first_other = row.line;
      continue;
    }
    rows.begin_row();
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const std::string_view cell = trimmed(row.fields[i]);
      if (std::ranges::find(kMissing, cell) == kMissing.end())
        rows.add(titles[i], cell_value(cell));
    }
  }
  if (other > 0) {
    run.remark(
        fmt::format("{}: {} left out that {} other fields than the header, the first in line "
                    "{}",
                    name, counted(other, "row"), other == 1 ? "has" : "have", first_other));
  }
  rows.finish();
}

namespace {

/// Python's json writes NaN, Infinity and -Infinity, which are no JSON: puts quotes around those
/// outside of texts.
std::string with_quoted_numbers(std::string_view line) {
  std::string result;
  result.reserve(line.size() + 16);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (quoted && c == '\\' && at + 1 < line.size()) {
      result.append(line, at, 2);
      at += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    std::size_t length = 0;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!quoted && line.substr(at).starts_with(word)) length = word.size();
    }
    if (length > 0) result.append(1, '"').append(line, at, length).append(1, '"');
    if (length == 0) result += c;
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

ValueWord text_cell(const std::string& text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return {ValueType::real, std::numeric_limits<double>::quiet_NaN()};
  if (text == "Infinity") return {ValueType::real, kInfinity};
  if (text == "-Infinity") return {ValueType::real, -kInfinity};
  return {ValueType::text, text};
}

void add_members(TableRows& rows, const std::string& prefix, const Json& object, int depth) {
  constexpr int kDepthMax = 8;
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object() && depth < kDepthMax) {
      add_members(rows, name + ".", value, depth + 1);
    } else if (value.is_boolean()) {
      rows.add(name, {ValueType::boolean, std::int64_t{value.get<bool>()}});
    } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_number_integer()) {
      rows.add(name, {ValueType::integer, value.get<std::int64_t>()});
    } else if (value.is_number()) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_string()) {
      rows.add(name, text_cell(value.get_ref<const std::string&>()));
    } else if (!value.is_null()) {
      rows.add(name, {ValueType::json, value.dump(-1, ' ', false, Json::error_handler_t::replace)});
    }
  }
}

/// The object on a line; nullopt if there is none. What is nested very deeply is none.
std::optional<Json> object_of(std::string_view line) {
  constexpr int kDepthMax = 100;
  bool is_deep = false;
  const auto look = [&](int depth, Json::parse_event_t, Json&) {
    is_deep = is_deep || depth > kDepthMax;
    return !is_deep;
  };
  Json object = Json::parse(line, look, false);
  if (object.is_discarded() && line.find_first_of("NI") != line.npos) {
    object = Json::parse(with_quoted_numbers(line), look, false);
  }
  if (is_deep || !object.is_object()) return std::nullopt;
  return object;
}

}  // namespace

void read_json_lines(const store::File& file, const std::string& name, const TableColumns& columns,
                     LoggedRun& run) {
  LineReader reader(file);
  TableRows rows(columns, run);
  std::int64_t other = 0, first_other = 0;
  for (LogLine line; reader.next(line);) {
    std::string_view text = line.content();
    if (line.number == 1) text = without_mark(text);
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::optional<Json> object = line.is_cut ? std::nullopt : object_of(text);
    if (!object) {
      if (other++ == 0) first_other = line.number;
      continue;
    }
    rows.begin_row();
    add_members(rows, {}, *object, 0);
  }
  if (rows.rows() == 0) throw UsageError("no line of it is a JSON object");
  if (other > 0) {
    run.remark(fmt::format("{}: {} left out that {} no JSON object, the first is line {}", name,
                           counted(other, "line"), other == 1 ? "is" : "are", first_other));
  }
  rows.finish();
}

}  // namespace flor::cli
