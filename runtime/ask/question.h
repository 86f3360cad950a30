// Questions about logged values, as `flor query` and flor::query ask them.
#pragma once

#include "ask/condition.h"
#include "ask/join.h"
#include "ask/loop_columns.h"
#include "ask/runs.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::ask {

/// Each field is the operand or the option of `flor query` of this name.
struct Question {
  std::vector<std::string> metrics = {}, runs = {}, where = {};
  std::string experiment = {}, epochs = {};
  std::string rows = {};  ///< a condition on rows: on the metrics asked for, epoch, step, ordinal
  bool latest = false, recorded = false, hindsight = false, evaluated = false, all = false;
  bool doubtful = true;                   ///< also doubtful values, as columns of their own
  std::vector<std::string> without = {};  ///< keys of runs that are not read
  std::int64_t values_max = INT64_MAX;    ///< an answer of more values is an Error

  /// Throws UsageError where options exclude each other.
  void check() const;
};

using ParseRun = std::function<RunChoice(const std::string& text)>;

/// The runs that the question is about. `parse`: reads one of `question.runs`. Throws NotFound
/// where there are none.
std::vector<RunChoice> choose(const store::Store& store, const Question& question,
                              const ParseRun& parse, std::int64_t now_us);

/// The queries for a run. If values outside of loops need a query of their own, it comes first.
std::vector<store::ValueQuery> queries(const Question& question, const RunChoice& choice);

/// The requested values of one run, joined.
struct RunRows {
  store::Run run;
  std::vector<store::Value> values;
  bool some_epochs = false;
  std::vector<Join> join = {};          // exactly one; made when `values` no longer moves in memory
  std::vector<std::size_t> shown = {};  ///< indices of the rows to show
  const Join& rows() const { return join.front(); }
};

class Answer {
 public:
  /// Reads and joins. `how`: see require_metrics, whose errors it throws.
  Answer(const store::Store& store, const Question& question, const std::vector<RunChoice>& choices,
         std::string_view how);

  /// The requested names, each once, then those of doubtful values.
  const std::vector<std::string>& metrics() const { return metrics_; }
  const std::vector<RunRows>& runs() const { return runs_; }
  std::size_t size() const;  ///< rows to show

  /// Texts of a run by which its rows are told from those of other runs.
  using Beside = std::function<std::vector<std::string>(std::int64_t run)>;
  /// Chooses the rows to show: those in which the condition `rows` of the question holds, and with
  /// `latest` of the rows at one place, of runs that are alike beside it, only that of the newest
  /// run. Throws UsageError where the condition has a column that rows do not have.
  void choose_rows(const Question& question, const Beside& beside);
  /// Call it after choose_rows. `taken`: titles of columns beside those of every answer.
  void read_loops(const store::Store& store, LoopColumns::Form form,
                  const std::vector<std::string>& taken = {});
  const LoopColumns& loops() const { return loops_; }

 private:
  Field field_of(const RunRows& rows, std::size_t row, const std::string& column) const;
  void check_columns(const Condition& condition) const;

  std::vector<std::string> metrics_;
  std::vector<RunRows> runs_;
  LoopColumns loops_;
};

/// Throws NotFound with the nearest names.
[[noreturn]] void no_experiment(const store::Catalog& catalog, const std::string& name);

}  // namespace flor::ask
