// Flor's messages to the user, on stderr, one line at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace flor::detail {

/// FLOR_LOG=off|error|warn|info|debug; warn is the default. `result` is the line at the end of a
/// session, shown unless FLOR_LOG=off.
enum class Level { error, result, warn, info, debug };

/// As the settings say, which is the environment's unless it says nothing.
void set_shown_level(std::string_view name);

/// From now on every line says which rank it comes from, and of a rank other than 0 results are not
/// shown unless FLOR_LOG is info or debug: those of rank 0 stand for all.
void set_notice_rank(std::int64_t rank);

/// Writes "flor: <line>\n" in one piece. Thread-safe.
void say(Level level, std::string_view line) noexcept;

}  // namespace flor::detail
