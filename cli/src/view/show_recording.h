// The part of flor show about the cost of recording, and about why epochs are stored or not.
#pragma once

#include "output/json.h"
#include "shell/context.h"
#include "view/show_facts.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

/// "1.22 %"; "-" if the whole is 0.
std::string percent(double part, double whole);

/// "stored: within the overhead budget", "not stored: the writer was late".
std::string reason_text(store::StorageReason reason);

/// Prints the cost of recording, and the measurements that decided.
void print_recording(Context& context, const ShownRun& shown);
/// Prints a line for each stretch of epochs with one reason.
void print_decisions(Context& context, const ShownRun& shown);

/// The same, for programs.
Json recording_json(const ShownRun& shown);
Json decisions_json(const ShownRun& shown);

}  // namespace flor::cli
