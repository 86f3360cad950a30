// Results of evaluators for the checkpoints of a run. A result belongs to content, not to a run.
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

/// Keyed by content, evaluator, the evaluator's digest, and arguments.
using Evaluations =
    std::map<std::tuple<store::Digest, std::string, std::string, std::string>, Evaluation>;

/// Adds the results about checkpoints that the run has or has had. Of two results for the same
/// evaluation the later one stays.
void add_evaluations(store::Connection& from, std::int64_t run, Evaluations& evaluations);

/// Writes results that are missing there into a catalog for others. Within a transaction of the
/// caller.
void put_evaluations(store::Connection& to, const Evaluations& evaluations);

/// Says why these are no results of evaluators: "the result of judge.py:f is no JSON object". Empty
/// if they are.
std::string flaw_of(const Evaluations& evaluations);

/// Selects the results of a fetched run that the caller is to log and then to enter into the user's
/// store: those about content of this run alone. Left out: content that a run which was not fetched
/// has, too, and results for which a local job waits or has ended. Within a transaction of the
/// caller, who has looked for flaws.
std::vector<store::EvaluationEvent> evaluations_to_take(store::Database& here, std::int64_t run,
                                                        const Evaluations& evaluations);

}  // namespace flor::remote
