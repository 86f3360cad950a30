// The settings in force for this call of flor.
#pragma once

#include "base/settings.h"

namespace flor::cli {

/// The settings that were last passed to `set_current_settings`; until then those of environment
/// and files, without flags. To be used by one thread only.
const store::Settings& current_settings();
void set_current_settings(store::Settings settings);

}  // namespace flor::cli
