// Flor's messages to the user, on stderr, one line at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace flor::detail {

/// The levels of FLOR_LOG=off|error|warn|info|debug; warn is the default. `result` is the line at
/// the end of a session, which is shown unless FLOR_LOG=off.
enum class Level { error, result, warn, info, debug };

/// Sets which lines are shown, by a word of FLOR_LOG. Until then the environment variable decides.
void set_shown_level(std::string_view name);

/// Makes every line name the rank it comes from. Results of a rank other than 0 are then shown only
/// if FLOR_LOG is info or debug, since those of rank 0 stand for all.
void set_notice_rank(std::int64_t rank);

/// Writes "flor: <line>\n" to stderr in one piece. Thread-safe.
void say(Level level, std::string_view line) noexcept;

}  // namespace flor::detail
