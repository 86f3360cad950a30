// The part of flor show that says what recording cost, and why epochs are stored or not.
#pragma once

#include "output/json.h"
#include "shell/context.h"
#include "view/show_facts.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

/// "1.22 %"; "-" of nothing.
std::string percent(double part, double whole);

/// "stored: within the overhead budget", "not stored: the writer was late".
std::string reason_text(store::StorageReason reason);

/// What recording cost and by which measurements it was decided.
void print_recording(Context& context, const ShownRun& shown);
/// A line for each stretch of epochs with one reason.
void print_decisions(Context& context, const ShownRun& shown);

/// For programs.
Json recording_json(const ShownRun& shown);
Json decisions_json(const ShownRun& shown);

}  // namespace flor::cli
