// Names by which files with passwords and keys are usually called.
#pragma once

#include <string_view>

namespace flor::git {

/// True if a file of this name (without directories) probably holds a secret, judged by name alone.
bool looks_like_secret(std::string_view name);

}  // namespace flor::git
