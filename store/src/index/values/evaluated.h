// Results of evaluations as values of runs.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// The condition that the result of a row of `job` counts for the run ?1. A fetched result counts
/// only for the runs that it came with.
#define FLOR_RESULT_COUNTS                                                                    \
  " (NOT EXISTS (SELECT 1 FROM fetched_result AS came WHERE came.job = job.id) OR EXISTS "    \
  "(SELECT 1 FROM fetched_result AS came WHERE came.job = job.id AND came.run = (SELECT key " \
  "FROM run WHERE run.id = ?1))) "

/// A value that an evaluator found, and the checkpoint it was found in.
struct EvaluatedValue {
  Value value;
  std::string saved = {};  ///< name of the checkpoint; empty: the boundary after an epoch
};

/// Values of the run's checkpoints, including deleted ones; without names that the run logs itself.
/// In no order. Inside a transaction of the caller, or alone.
std::vector<EvaluatedValue> load_evaluated(Connection& connection, std::int64_t run);

/// True if there is a result that came with a fetched run.
bool has_fetched_results(Connection& connection);
/// True if such a result answers an evaluation that is requested here. It does not for files and
/// other runs: the content must be that of its run, and of no run recorded here.
bool is_answered_by_fetched(Connection& connection, const Digest& content, std::string_view spec,
                            std::string_view digest, std::string_view arguments);

/// The runs with values that evaluators found.
std::vector<std::int64_t> evaluated_runs(Connection& connection);

/// A summary for each name, ordered by name.
std::vector<MetricSummary> summarize(const std::vector<EvaluatedValue>& values);

}  // namespace flor::store
