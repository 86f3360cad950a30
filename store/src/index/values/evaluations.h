// Results of evaluators for the checkpoints of runs (queue/jobs.h), as metrics of these runs. An
// evaluation belongs to every checkpoint that has the evaluated content, even to one that was
// deleted since.
#pragma once

#include <string>
#include <string_view>

namespace flor::store {

/// The names of an evaluator's metrics before the dot: "accuracy" of "/path/judge.py:accuracy",
/// "judges.accuracy" and "/path/libjudge.so:accuracy", "judge" of "/path/judge.sh {}". The member
/// "top.5" of its results is the metric "judge.top.5". If several evaluators have the same name, or
/// one was changed, the latest that has scored a checkpoint counts; a name that the run logs itself
/// is the run's.
std::string evaluator_name(std::string_view spec);

/// The same for an evaluation with `arguments` (a JSON object, or nothing), so that the results of
/// different ones are different metrics: "accuracy.split_test" of {"split": "test"}. Signs that
/// mean something elsewhere, such as spaces and brackets, become "_".
std::string evaluation_name(std::string_view spec, std::string_view arguments);

}  // namespace flor::store
