// Answers to the page about evaluations: results, output, retrying, cancelling.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::cli {

/// Returns {"jobs": [...], "counts": {state: number}}: the latest `limit` jobs, latest first, as in
/// `flor jobs --json` with "run" (a key, or null), "shown_path", "name" of the evaluator and
/// "at_work_since". `queue`: as `--queue` takes it; `run`: a key; if not empty, only jobs for
/// checkpoints of that run.
Json jobs_answer(const store::Store& store, const std::string& queue, std::string_view run,
                 std::size_t limit);

/// Returns {"id", "attempts": [{"number", "text"}]}. Throws NotFound.
Json job_log_answer(const store::Store& store, const std::string& queue, std::int64_t id);

enum class JobAction : std::uint8_t { retry, cancel };
/// Returns {"id", "changed"}. Throws NotFound.
Json change_job(const store::Store& store, const std::string& queue, std::int64_t id,
                JobAction action);

}  // namespace flor::cli
