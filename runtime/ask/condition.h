// Conditions on runs, as users write them: lr<0.01 and (accuracy>0.9 or not status=finished).
#pragma once

#include "ask/run_columns.h"
#include "index/values/candidates.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::ask {

/// The language of every --where:
///
///     condition  = term { "or" term }
///     term       = factor { "and" factor }
///     factor     = "not" factor | "(" condition ")" | COLUMN OPERATOR VALUE
///
/// OPERATOR is one of = == != < <= > >= and ~ (contains). COLUMN is a name that find_column
/// accepts, VALUE a number or a text. Either may be quoted with ' or ", and must be if it contains
/// blanks, brackets, quotes or operators, or is "and", "or" or "not". If both sides are numbers
/// they compare as numbers, else as texts, but a text is never less or greater than a number. A
/// comparison with something that a run does not have is false, and so is one with NaN except for
/// !=. A number also equals its rounded form as tables show it.
class Condition {
 public:
  /// Throws UsageError with one line that gives the position of the error in the text.
  explicit Condition(std::string_view text);
  Condition(Condition&&) noexcept;
  Condition& operator=(Condition&&) noexcept;
  ~Condition();

  /// The columns that the condition compares, each once, in the order of their first occurrence.
  std::vector<std::string> columns() const;
  bool holds(const std::function<Field(const std::string& column)>& field) const;
  /// Comparisons of metrics and arguments with numbers that are true of every run that meets the
  /// condition. They only preselect: a run that meets them must still be tested with `holds`.
  std::vector<store::NumberTest> necessary() const;
  /// The condition in its shortest form, which parses to the same condition.
  std::string text() const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

/// Returns a function that tells whether a run meets all `conditions`. `runs` must be complete,
/// with metrics and arguments: the existing columns are looked up in them. Throws NotFound if no
/// run has one of the columns.
std::function<bool(const ListedRun&)> run_filter(std::span<const ListedRun> runs,
                                                 const std::vector<std::string>& conditions,
                                                 std::int64_t now_us);

/// Keeps only the runs that meet all `conditions`. `runs` must have their metrics and arguments.
/// Throws NotFound if no run has one of the columns.
void keep_where(std::vector<ListedRun>& runs, const std::vector<std::string>& conditions,
                std::int64_t now_us);

}  // namespace flor::ask
