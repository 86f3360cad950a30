// The part of flor show on the cost of recording, and on why epochs were stored or not.
#pragma once

#include "output/json.h"
#include "shell/context.h"
#include "view/show_facts.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

/// A fraction as text, "1.22 %"; "-" if `whole` is 0.
std::string percent(double part, double whole);

/// The reason as text: "stored: within the overhead budget", "not stored: the writer was late".
std::string reason_text(store::StorageReason reason);

/// Prints the cost of recording, and the measurements from which the schedule decided.
void print_recording(Context& context, const ShownRun& shown);
/// Prints a line for each range of consecutive epochs that have the same reason.
void print_decisions(Context& context, const ShownRun& shown);

/// The same facts as JSON.
Json recording_json(const ShownRun& shown);
Json decisions_json(const ShownRun& shown);

}  // namespace flor::cli
