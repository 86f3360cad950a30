// Reads results of evaluations as values of runs.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// SQL condition: the result in the row of `job` counts for the run ?1. A result that came with
/// fetched runs counts only for these runs.
#define FLOR_RESULT_COUNTS                                                                    \
  " (NOT EXISTS (SELECT 1 FROM fetched_result AS came WHERE came.job = job.id) OR EXISTS "    \
  "(SELECT 1 FROM fetched_result AS came WHERE came.job = job.id AND came.run = (SELECT key " \
  "FROM run WHERE run.id = ?1))) "

/// A value that an evaluator found, with the name of the checkpoint.
struct EvaluatedValue {
  Value value;
  std::string saved = {};  ///< name of the saved checkpoint; empty: the boundary after an epoch
};

/// Returns the evaluated values of the run's checkpoints, including deleted ones, in no order.
/// Leaves out names that the run logs itself. Can be called within a transaction.
std::vector<EvaluatedValue> load_evaluated(Connection& connection, std::int64_t run);

/// True if any result came with a fetched run.
bool has_fetched_results(Connection& connection);
/// True if such a result answers an evaluation that is requested here. The content must belong to
/// the fetched run, and to no run recorded here; a result for a file or another run never counts.
bool is_answered_by_fetched(Connection& connection, const Digest& content, std::string_view spec,
                            std::string_view digest, std::string_view arguments);

/// Returns the runs that have values found by evaluators.
std::vector<std::int64_t> evaluated_runs(Connection& connection);

/// Returns a summary for each name, ordered by name.
std::vector<MetricSummary> summarize(const std::vector<EvaluatedValue>& values);

}  // namespace flor::store
