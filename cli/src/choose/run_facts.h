// The facts that a listing has of a run, and the columns it can be shown in.
#pragma once

#include "output/color.h"
#include "index/values/candidates.h"
#include "output/table.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// A run with what the columns of a listing need of it.
struct ListedRun {
  store::Run run;
  std::vector<store::MetricSummary> metrics;
  std::vector<store::Argument> arguments;
};

/// One field of a listing.
struct Field {
  std::string text;              ///< empty: the run has no such thing
  std::optional<double> number;  ///< by which it sorts and compares, if it is one
  Tone tone = Tone::plain;
  std::vector<std::string> words = {};  ///< of a field that has several, each of which compares
};

/// A column of `flor list`, by name: one of the built-in ones, a metric ("loss", "loss:min",
/// "metric:loss"), an argument ("lr", "arg:lr"), or what users have said ("tag", "note").
struct RunColumn {
  std::string title;
  Align align = Align::left;
  bool shrinks = false;
  bool needs_metrics = false, needs_arguments = false;
  std::function<Field(const ListedRun&, std::int64_t now_us)> field;
};

/// The column of that name, whether or not a run has it. A name that is a metric of one run and an
/// argument of another shows of each run what that has; of one that has both, the metric. So do
/// "tag" and "note", and only of a run without either what users have said of it.
RunColumn column_named(std::string_view name);
/// The same, but throws NotFound with the nearest name if none of `runs`, whose facts must be
/// complete, has it.
RunColumn find_column(std::string_view name, std::span<const ListedRun> runs);
/// The metrics and the argument that a column of that name shows, without a range; none for a
/// built-in column.
std::optional<store::NumberTest> names_of(std::string_view name);
/// The column of the tags, or the note, that users have given.
RunColumn tag_column();
RunColumn note_column();
/// The built-in column of that name.
std::optional<RunColumn> builtin_column(std::string_view name);
/// Names of the built-in columns, for help and suggestions.
std::vector<std::string> builtin_column_names();

/// "finished", "running", "interrupted", "failed", with what is missing: "finished,
/// epochs 17..19 not stored".
std::string status_text(const store::Run& run);
Tone status_tone(const store::Run& run);

/// Orders fields: numbers before texts, what is missing last in either direction.
bool sorts_before(const Field& a, const Field& b, bool descending);

/// The number that all of a text says; absent where it says something else.
std::optional<double> as_number(std::string_view text);

}  // namespace flor::cli
