// Conditions on runs, as people write them: lr<0.01 and (accuracy>0.9 or not status=finished).
#pragma once

#include "choose/run_facts.h"
#include "index/values/candidates.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The language of every --where:
///
///     condition  = term { "or" term }
///     term       = factor { "and" factor }
///     factor     = "not" factor | "(" condition ")" | COLUMN OPERATOR VALUE
///
/// OPERATOR is one of = == != < <= > >= and ~ (contains). COLUMN is what find_column takes, VALUE a
/// number or a text; either may stand in single or double quotes, and must where it contains
/// blanks, brackets, quotes or operators, or is "and", "or" or "not". Numbers compare as numbers
/// where both sides are ones, else texts as texts; but no text is less or greater than a number. A
/// comparison with what a run does not have does not hold, and neither does one with NaN but for !=.
/// A number equals what a table shows of it, too.
class Condition {
 public:
  /// Throws UsageError, one line that names the column of the text at which it is wrong.
  explicit Condition(std::string_view text);
  Condition(Condition&&) noexcept;
  Condition& operator=(Condition&&) noexcept;
  ~Condition();

  /// The columns that it compares, in their order, each once.
  std::vector<std::string> columns() const;
  bool holds(const std::function<Field(const std::string& column)>& field) const;
  /// Comparisons of metrics and arguments with numbers that must hold where the condition does. Not
  /// all of them, so that a run for which they hold is still to be asked.
  std::vector<store::NumberTest> necessary() const;
  /// The condition in its shortest form; parses to the same one.
  std::string text() const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

/// Returns whether all `conditions` hold of a run. The facts of `runs` must be complete: the
/// existing columns are looked up in them. Throws NotFound where no run has a column.
std::function<bool(const ListedRun&)> run_filter(std::span<const ListedRun> runs,
                                                 const std::vector<std::string>& conditions,
                                                 std::int64_t now_us);

/// Keeps only the runs that meet all `conditions`. Their facts must be complete. Throws NotFound
/// where no run has a column.
void keep_where(std::vector<ListedRun>& runs, const std::vector<std::string>& conditions,
                std::int64_t now_us);

}  // namespace flor::cli
