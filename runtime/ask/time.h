// Times, durations and sizes as text, for people and for programs.
#pragma once

#include <cstdint>
#include <string>

namespace flor::ask {

/// The current time in microseconds of Unix time.
std::int64_t now_us();

/// The time in RFC 3339 and UTC: "2024-05-01T12:00:00.000123Z".
std::string rfc3339(std::int64_t time_us);

/// The time relative to `now_us`: "just now", "12 min ago", "3 days ago"; the date if it is 30 days
/// ago or more.
std::string relative(std::int64_t time_us, std::int64_t now_us);

/// A duration as text: "85 us", "12 ms", "3.21 s", "4 min 05 s", "3 h 12 min".
std::string duration(double seconds);

/// The time left, with few digits because it is an estimate: "1 s", "45 s", "4 min", "3 h 10 min".
std::string remaining(double seconds);

/// A size as text; the same as store::print_bytes().
std::string bytes(std::uint64_t count);

}  // namespace flor::ask
