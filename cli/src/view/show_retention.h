// The part of flor show on saved checkpoints and on deleted ones.
#pragma once

#include "output/json.h"
#include "shell/context.h"
#include "view/show_facts.h"

#include <string>
#include <string_view>

namespace flor::cli {

/// The strategy that the program chose for its saved checkpoints: "the 2 with the smallest loss";
/// empty if it has none.
std::string strategy_text(const ShownRun& shown);
/// The number of deleted checkpoints: "12, of which 5 can be brought back: flor keep 3f2a91c4
/// --undo"; empty if there are none.
std::string deleted_text(const ShownRun& shown);

/// Why deleted checkpoints need not be stored, and for which machine that holds: "194 are computed
/// again: proven on node7 (AMD EPYC 7763, libtorch 2.5.1, 1 thread)"; empty if nothing was proven.
std::string proven_text(const ShownRun& shown);

/// Prints the checkpoints that the program saved, with their scores.
void print_saved(Context& context, const ShownRun& shown);
/// Prints the saved checkpoint of this name, which the run must have.
void print_one_saved(Context& context, const ShownRun& shown, std::string_view name);

/// The same facts as JSON.
Json saved_json(const ShownRun& shown, const store::SavedCheckpoint& saved);
Json all_saved_json(const ShownRun& shown);
Json discarded_json(const ShownRun& shown);
Json proofs_json(const ShownRun& shown);
Json strategy_json(const ShownRun& shown);

}  // namespace flor::cli
