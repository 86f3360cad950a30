// Evaluations, for the page: their results and their output, and retrying or cancelling them.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::cli {

/// {"jobs": [elements of `flor jobs --json`, with "run" (a key, or null), "shown_path", "name" of
/// the evaluator and "at_work_since"], "counts": {state: number}}, the latest first, at most
/// `limit`. `queue` as `--queue` takes it; `run`: only jobs for checkpoints of this run (a key), if
/// not empty.
Json jobs_answer(const store::Store& store, const std::string& queue, std::string_view run,
                 std::size_t limit);

/// {"id", "attempts": [{"number", "text"}]}. Throws NotFound.
Json job_log_answer(const store::Store& store, const std::string& queue, std::int64_t id);

enum class JobAction : std::uint8_t { retry, cancel };
/// {"id", "changed"}. Throws NotFound.
Json change_job(const store::Store& store, const std::string& queue, std::int64_t id,
                JobAction action);

}  // namespace flor::cli
