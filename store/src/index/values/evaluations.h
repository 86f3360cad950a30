// Results of evaluators for checkpoints (queue/job_queue.h) appear as metrics of the runs. A result
// belongs to every checkpoint with the evaluated content, even if the checkpoint was deleted later.
#pragma once

#include <string>
#include <string_view>

namespace flor::store {

/// Returns the prefix of the names of an evaluator's metrics: "accuracy" for
/// "/path/judge.py:accuracy", "judges.accuracy" and "/path/libjudge.so:accuracy", "judge" for
/// "/path/judge.sh {}". Its result "top.5" becomes the metric "judge.top.5". If several evaluators
/// have the same prefix, or one was changed, the one that scored a checkpoint last counts. If the
/// run logs a metric of the same name, that is shown instead.
std::string evaluator_name(std::string_view spec);

/// Returns the prefix for an evaluation with `arguments` (a JSON object, or empty), whose values
/// are part of it: "accuracy.split_test" for {"split": "test"}. Results with different arguments
/// are thus different metrics. Characters with a special meaning, such as spaces and brackets,
/// become "_".
std::string evaluation_name(std::string_view spec, std::string_view arguments);

}  // namespace flor::store
