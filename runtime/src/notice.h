// What Flor tells people, on stderr, one line at a time.
#pragma once

#include <string_view>

namespace flor::detail {

/// FLOR_LOG=off|error|warn|info|debug; warn is the default. `result` is the line at the end of a
/// session, shown unless FLOR_LOG=off.
enum class Level { error, result, warn, info, debug };

/// Writes "flor: <line>\n" in one piece. Thread-safe.
void say(Level level, std::string_view line) noexcept;

}  // namespace flor::detail
