// Answers to the page about single runs: facts, checkpoints, sources, and differences between runs.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The fields of `flor show RUN --json` without the long lists of epochs and checkpoints, with
/// "has_epochs" and "resume_with" (null where no checkpoint allows it). `run` as the user writes
/// it. Throws NotFound.
Json run_answer(const store::Store& store, std::string_view run);

/// The epochs of a run: {"epochs": [{"epoch", "seconds", "flor_seconds", "loops"}]}.
Json epochs_answer(const store::Store& store, std::string_view run);

/// Every checkpoint with the reason why it is there: {"strategy", "recording", "stored_bytes",
/// "checkpoints": [{"epoch", "saved", "kept", "why_stored", "why_kept", "scores", "taken",
/// "raw_bytes", "frees_bytes"}], "not_stored": [{"first_epoch", "last_epoch", "reason"}],
/// "deleted": [{"epoch", "saved", "deleted", "collected"}]}.
Json checkpoints_answer(const store::Store& store, std::string_view run);

/// The lines that a run printed: {"lines": [{"epoch", "loop", "time", "stream", "text"}], "total"};
/// the last `limit`, of those in which `grep`, a regular expression, is found if there is one.
Json printed_answer(const store::Store& store, std::string_view run, std::string_view grep,
                    std::size_t limit);

/// Samples of the machine while the run was recorded: {"samples", "measures": [{"name", "unit",
/// "mean", "min", "max"}]}. The curve of one has the metric "machine/NAME".
Json machine_answer(const store::Store& store, std::string_view run);

/// {"runs": [...]}: for each run the fields of `flor list --json` with "environment" and "command".
Json compare_answer(const store::Store& store, const std::vector<std::string>& runs);

/// The change of the sources from run `a` to run `b`; without `a`, from the version that was
/// recorded before b's in the same experiment: {"from", "to" (null, or "run", "commit"), "known",
/// "changes", "patch", "remark"}.
Json sources_answer(const store::Store& store, std::string_view a, std::string_view b);

}  // namespace flor::cli
