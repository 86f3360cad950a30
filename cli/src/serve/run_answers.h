// Answers to the page about single runs: facts, epochs, checkpoints, sources, and differences
// between runs.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Returns the fields of `flor show RUN --json` without the long lists of epochs and checkpoints,
/// and with "has_epochs" and "resume_with" (null if no checkpoint allows resuming). `run`: RUN as
/// the user writes it. Throws NotFound.
Json run_answer(const store::Store& store, std::string_view run);

/// Returns the epochs of a run: {"epochs": [{"epoch", "seconds", "flor_seconds", "loops"}]}.
Json epochs_answer(const store::Store& store, std::string_view run);

/// Returns every checkpoint with the reason why it was stored and kept: {"strategy", "recording",
/// "stored_bytes", "checkpoints": [{"epoch", "saved", "kept", "why_stored", "why_kept", "scores",
/// "taken", "raw_bytes", "frees_bytes"}], "not_stored": [{"first_epoch", "last_epoch", "reason"}],
/// "deleted": [{"epoch", "saved", "deleted", "collected"}]}.
Json checkpoints_answer(const store::Store& store, std::string_view run);

/// Returns the last `limit` lines that a run printed: {"lines": [{"epoch", "loop", "time",
/// "stream", "text"}], "total"}. With `grep`, a regular expression, only lines in which it is found
/// count.
Json printed_answer(const store::Store& store, std::string_view run, std::string_view grep,
                    std::size_t limit);

/// Returns the samples of the machine while the run was recorded: {"samples", "measures": [{"name",
/// "unit", "mean", "min", "max"}]}. The curve of a measure has the metric "machine/NAME".
Json machine_answer(const store::Store& store, std::string_view run);

/// Returns {"runs": [...]}: for each run the fields of `flor list --json`, with "environment" and
/// "command".
Json compare_answer(const store::Store& store, const std::vector<std::string>& runs);

/// Returns how the sources changed from run `a` to run `b`: {"from", "to" (null, or "run",
/// "commit"), "known", "changes", "patch", "remark"}. If `a` is empty, compares with the version
/// recorded before b's version in the same experiment.
Json sources_answer(const store::Store& store, std::string_view a, std::string_view b);

}  // namespace flor::cli
