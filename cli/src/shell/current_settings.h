// The settings that hold for this call of the command line tool.
#pragma once

#include "base/settings.h"

namespace flor::cli {

/// The settings last passed to `set_current_settings`; before that, those without flags. Used by
/// one thread.
const store::Settings& current_settings();
void set_current_settings(store::Settings settings);

}  // namespace flor::cli
