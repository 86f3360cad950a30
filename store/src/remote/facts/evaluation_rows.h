// What evaluators found in the checkpoints of a run. It belongs to content, not to runs.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"
#include "journal/evaluation_log.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::remote {

struct Evaluation {
  std::string path, json;
  std::int64_t priority = 0, finished_us = 0;
  auto operator<=>(const Evaluation&) const = default;
};

/// By content, evaluator and its digest, and arguments.
using Evaluations =
    std::map<std::tuple<store::Digest, std::string, std::string, std::string>, Evaluation>;

/// Adds the results about checkpoints that the run has or has had. Of two for the same the later
/// one stays.
void add_evaluations(store::Connection& from, std::int64_t run, Evaluations& evaluations);

/// Writes those that are not there into a catalog for others. Within a transaction of the caller.
void put_evaluations(store::Connection& to, const Evaluations& evaluations);

/// Why these are no results of evaluators, in words: "the result of judge.py:f is no JSON object".
/// Empty if they are.
std::string flaw_of(const Evaluations& evaluations);

/// What of that which came with a run is to be entered into the store of a user, and logged first:
/// results about content of this run alone, and not if another run that was not fetched has the
/// same, nor where a job of here waits or has ended. Within a transaction of the caller, who has
/// looked for flaws.
std::vector<store::EvaluationEvent> evaluations_to_take(store::Database& here, std::int64_t run,
                                                        const Evaluations& evaluations);

}  // namespace flor::remote
