// The facts that a listing has of a run, and the columns in which it shows them.
#pragma once

#include "ask/shown.h"
#include "index/values/candidates.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::ask {

/// A run with everything that the columns of a listing need.
struct ListedRun {
  store::Run run;
  std::vector<store::MetricSummary> metrics;
  std::vector<store::Argument> arguments;
};

/// One cell of a listing.
struct Field {
  std::string text;              ///< empty: the run has nothing in this column
  std::optional<double> number;  ///< the value to sort and compare by, if it is a number
  Tone tone = Tone::plain;
  std::vector<std::string> words = {};  ///< for a cell with several texts, such as tags: a
                                        ///< condition compares with each
};

/// A column of `flor list`: a built-in one, a metric ("loss", "loss:min", "metric:loss"), an
/// argument ("lr", "arg:lr"), or a "tag" or "note" that users have given.
struct RunColumn {
  std::string title;
  Align align = Align::left;
  bool shrinks = false;
  bool needs_metrics = false, needs_arguments = false;
  std::function<Field(const ListedRun&, std::int64_t now_us)> field;
};

/// The column of this name, whether or not a run has it. If the name is both a metric and an
/// argument, the cell of a run shows what that run has, first the metric. The same holds for "tag"
/// and "note": a metric or argument of that name comes before what users have said.
RunColumn column_named(std::string_view name);
/// Like column_named, but throws NotFound with the nearest name if none of `runs` has the column.
/// `runs` must have their metrics and arguments.
RunColumn find_column(std::string_view name, std::span<const ListedRun> runs);
/// Names of the metrics and of the argument that this column shows, without bounds on the numbers;
/// nullopt for a built-in column.
std::optional<store::NumberTest> names_of(std::string_view name);
/// The columns of the tags and of the notes that users have given.
RunColumn tag_column();
RunColumn note_column();
/// The built-in column of this name, if there is one.
std::optional<RunColumn> builtin_column(std::string_view name);
/// Names of the built-in columns, for help and suggestions.
std::vector<std::string> builtin_column_names();

/// "finished", "running", "interrupted", "failed" or "imported", with what is missing: "finished,
/// epochs 17..19 not stored".
std::string status_text(const store::Run& run);
Tone status_tone(const store::Run& run);

/// Whether `a` comes before `b`: numbers before texts, empty fields last in both directions.
bool sorts_before(const Field& a, const Field& b, bool descending);

/// The number that the whole text spells; nullopt if it is something else.
std::optional<double> as_number(std::string_view text);

}  // namespace flor::ask
