// Results of evaluators for the checkpoints of a run. A result belongs to the evaluated content,
// thus to all checkpoints that have it.
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

/// Keyed by digest of the content, evaluator, digest of the evaluator, and arguments.
using Evaluations =
    std::map<std::tuple<store::Digest, std::string, std::string, std::string>, Evaluation>;

/// Adds the results for checkpoints that the run has or had. Of two results of one evaluation the
/// later one is kept.
void add_evaluations(store::Connection& from, std::int64_t run, Evaluations& evaluations);

/// Writes results that the catalog `to` lacks; `to` is meant for other homes. Within a transaction
/// of the caller.
void put_evaluations(store::Connection& to, const Evaluations& evaluations);

/// Returns what is wrong if these cannot be results of evaluators, as "the result of judge.py:f is
/// no JSON object". Empty if nothing is.
std::string flaw_of(const Evaluations& evaluations);

/// Selects those results of a fetched run that the caller should log and enter into the user's
/// store: results for content that only this run has. Left out are results for content that a run
/// which was not fetched has, too, and results for which a local job waits or has ended. Within a
/// transaction of the caller, who has called `flaw_of` before.
std::vector<store::EvaluationEvent> evaluations_to_take(store::Database& here, std::int64_t run,
                                                        const Evaluations& evaluations);

}  // namespace flor::remote
