#include "imports/table_reader.h"

#include "imports/clock_text.h"
#include "imports/csv_reader.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
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
constexpr std::size_t kBytesOfNamesMax = std::size_t{16} << 20;
/// Lines about columns of one kind.
constexpr int kColumnsShown = 8;

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

/// Above it, reals have gaps of more than 1.
constexpr double kMostExact = 9e15;

/// Whole, also written as 3.0, as a column is that had missing cells in between.
std::optional<std::int64_t> whole(ValueType type, const store::Scalar& value) {
  if (type == ValueType::integer) return std::get<std::int64_t>(value);
  if (type != ValueType::real) return std::nullopt;
  const double real = std::get<double>(value);
  if (!(real >= -kMostExact && real <= kMostExact)) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(real);
  return static_cast<double>(integer) == real ? std::optional(integer) : std::nullopt;
}

bool is_number(ValueType type) { return type == ValueType::integer || type == ValueType::real; }

/// A text as which JSON has the numbers that it has no words for.
std::optional<double> written_number(ValueType type, const store::Scalar& value) {
  if (type != ValueType::text) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string& text = std::get<std::string>(value);
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  return std::nullopt;
}

/// A number that is written as no number is read, such as 50%, 0,5 or 1e-400.
bool reads_like_number(ValueType type, const store::Scalar& value) {
  if (type != ValueType::text) return false;
  const std::string& text = std::get<std::string>(value);
  const bool has_letters = text.find_first_not_of("+-0123456789.,'_%eE") != text.npos;
  return !has_letters && text.find_first_not_of("+-.0123456789") != 0 &&
         text.find_first_of("0123456789") <= 1 &&
         (text.find_first_of(",'_%") != text.npos || text.find_first_of("eE") != text.npos) &&
         text.find_first_of("0123456789", text.size() - std::min<std::size_t>(text.size(), 2)) !=
             text.npos;
}

std::string shown(const store::Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return shortened(printable(*text), 40);
  return std::visit([](const auto& one) { return fmt::format("{}", one); }, value);
}

}  // namespace

/// The number of the row is kept in the place of the epoch until `finish`.
void TableRows::add(std::string_view column, ValueWord&& cell) {
  if (run_.all_series().size() + run_.refused_names() > kColumnsMax) {
    throw UsageError(fmt::format("row {}: more than {} columns", rows_, kColumnsMax));
  }
  if (run_.bytes_of_names() > kBytesOfNamesMax) {
    throw UsageError(fmt::format("row {}: the names of the columns take more than {}", rows_,
                                 store::print_bytes(kBytesOfNamesMax)));
  }
  LoggedSeries* series = run_.series(column);
  if (!series) return;
  const std::size_t before = series->size();
  if (before > 0 && series->place(before - 1).epoch == rows_ - 1 && twice_++ == 0) {
    run_.remark(fmt::format("row {} has '{}' more than once: all its values are kept", rows_,
                            series->name()));
  }
  series->add({rows_ - 1, -1}, cell.type, std::move(cell.value));
}

void TableRows::note_inexact(std::string_view text) {
  if (inexact_++ == 0) first_inexact_ = fmt::format("row {}: {}", rows_, shown(std::string(text)));
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
/// metric, which is said unless it has fractions, as the `epoch` 0.53 that Hugging Face's trainer
/// logs.
TableRows::Numbers TableRows::take_numbers(Loop loop) {
  const LoggedSeries* series = column(loop);
  if (!series) return {};
  const std::int64_t most = loop == Loop::epoch ? kLoggedEpochMax : kLoggedStepMax;
  for (std::size_t at = 0; at < series->size(); ++at) {
    const auto number = whole(series->type(at), series->value(at));
    if (number && *number >= 0 && *number <= most) continue;
    const bool is_named = !(loop == Loop::epoch ? columns_.epoch : columns_.step).empty();
    const std::string problem =
        fmt::format("column '{}' has {} in row {}: {} is a whole number up to {}", series->name(),
                    shown(series->value(at)), series->place(at).epoch + 1,
                    loop == Loop::epoch ? "an epoch" : "a step", most);
    if (is_named) throw UsageError(problem);
    const bool is_fraction = series->type(at) == ValueType::real && !number;
    if (!is_fraction || std::abs(std::get<double>(series->value(at))) > kMostExact) {
      run_.remark(problem + ", so the column is a metric");
    }
    return {};
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

/// A text among numbers would make a text of the whole metric: the fewer of both are left out, if
/// those are the texts.
void TableRows::settle_odd_cells(LoggedSeries& series) {
  std::int64_t numbers = 0, written = 0, odd = 0, first_odd = -1, first_like = -1;
  const auto each = [&](auto&& visit) {
    for (std::size_t at = 0; at < series.size(); ++at) visit(at, series.type(at), series.value(at));
  };
  const bool has_others = [&] {
    for (std::size_t at = 0; at < series.size(); ++at) {
      if (!is_number(series.type(at))) return true;
    }
    return false;
  }();
  if (!has_others) return;
  each([&](std::size_t at, ValueType type, const store::Scalar& value) {
    if (is_number(type)) {
      ++numbers;
    } else if (written_number(type, value)) {
      ++written;
    } else {
      if (odd++ == 0) first_odd = static_cast<std::int64_t>(at);
      if (first_like < 0 && reads_like_number(type, value))
        first_like = static_cast<std::int64_t>(at);
    }
  });
  const auto say = [&](const std::string& text) {
    if (++odd_columns_ <= kColumnsShown) run_.remark(text);
  };
  const auto cell_of = [&](std::int64_t at) {
    const auto index = static_cast<std::size_t>(at);
    return fmt::format("'{}' in row {}", shown(series.value(index)), series.place(index).epoch + 1);
  };
  if (numbers > odd && written > 0) {
    say(fmt::format("'{}' is a metric of numbers: {} NaN or Infinity {} one, too", series.name(),
                    counted(written, "text"), written == 1 ? "is" : "are"));
    each([&](std::size_t at, ValueType type, const store::Scalar& value) {
      if (const auto number = written_number(type, value)) series.set_real(at, *number);
    });
  } else if (written > 0 && odd == 0) {
    say(fmt::format("'{}' has the texts NaN and Infinity alone: they stay texts", series.name()));
  }
  if (odd == 0) return;
  if (numbers > odd) {
    say(fmt::format("'{}' is a metric of numbers: {} that {} none {} left out, the first is {}",
                    series.name(), counted(odd, "cell"), odd == 1 ? "is" : "are",
                    odd == 1 ? "is" : "are", cell_of(first_odd)));
    std::vector<bool> leaves(series.size());
    each([&](std::size_t at, ValueType type, const store::Scalar&) {
      leaves[at] = !is_number(type);
    });
    series.leave_out([&](std::size_t at) { return leaves[at]; });
  } else if (numbers > 0) {
    say(fmt::format("'{}' has {} and {} that {} none, the first is {}: all are kept", series.name(),
                    counted(numbers, "number"), counted(odd, "cell"), odd == 1 ? "is" : "are",
                    cell_of(first_odd)));
  } else if (first_like >= 0) {
    say(fmt::format("'{}' has texts alone, such as {}, which is read as no number", series.name(),
                    cell_of(first_like)));
  }
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
  for (LoggedSeries& series : run_.all_series()) settle_odd_cells(series);
  if (odd_columns_ > kColumnsShown) {
    run_.remark(fmt::format("{} more columns have such cells", odd_columns_ - kColumnsShown));
  }
  if (inexact_ > 0) {
    run_.remark(fmt::format("{} {} no number here, and the next one is taken: {}",
                            counted(inexact_, "whole number"), inexact_ == 1 ? "is" : "are",
                            first_inexact_));
  }
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
  std::set<std::string> taken;
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string title = header[i];
    const auto is_blank = [](unsigned char c) { return std::isspace(c) != 0; };
    while (!title.empty() && is_blank(static_cast<unsigned char>(title.back()))) title.pop_back();
    title.erase(title.begin(), std::ranges::find_if_not(title, is_blank));
    if (title.empty()) title = fmt::format("column_{}", i + 1);
    title = printable(title);
    const std::string wanted = title;
    for (int& before = met[wanted]; !taken.insert(title).second;) {
      title = fmt::format("{}.{}", wanted, ++before + 1);
    }
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
  std::vector<std::string> header = row.fields;
  for (std::string& field : header) field = std::string(trimmed(field));
  TableRows rows(columns, run);
  std::int64_t other = 0, first_other = 0, headers = 0, last_header = 0, joined = 0;
  while (reader.next(row)) {
    // A row that was being written has lost its end.
    const bool is_cut = !row.has_end && row.fields.size() < titles.size();
    if (is_cut || row.fields.size() > titles.size()) {
      if (other++ == 0) first_other = row.line;
      continue;
    }
    if (std::ranges::equal(row.fields, header, {}, trimmed)) {
      ++headers;  // a second run was written behind the first
      last_header = row.line;
      continue;
    }
    rows.begin_row();
    if (row.is_joined && joined++ == 0) {
      run.remark(
          fmt::format("{}: the row in line {} has several lines, and a quote that ends in the "
                      "middle of a cell: is a quote too much in it?",
                      name, row.line));
    }
    if (!row.has_end) {
      run.remark(fmt::format("{}: line {} has no line end: its last cell, '{}', may be cut", name,
                             row.line, shortened(printable(trimmed(row.fields.back())), 40)));
    }
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const std::string_view cell = trimmed(row.fields[i]);
      if (std::ranges::find(kMissing, cell) == kMissing.end())
        rows.add(titles[i], cell_value(cell));
      if (is_inexact(cell)) rows.note_inexact(cell);
    }
  }
  if (headers > 0) {
    run.remark(
        fmt::format("{}: the header is repeated in {}, the last in {}: the rows of all "
                    "parts are one run",
                    name, counted(headers, "line"), last_header));
  }
  if (other > 0) {
    run.remark(
        fmt::format("{}: {} left out that {} other fields than the header, the first in line "
                    "{}",
                    name, counted(other, "row"), other == 1 ? "has" : "have", first_other));
  }
  rows.finish();
}

}  // namespace flor::cli
