// Times as logs write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flor::cli {

struct ClockText {
  std::int64_t time_us = 0;  ///< Unix microseconds
  std::size_t length = 0;    ///< bytes of the text that are the time
};

/// The time with which the text begins: "2024-05-01 12:00:00", with a "T" or "/" for the blank and
/// the dashes, a fraction behind "." or ",", and "Z" or "+02:00". Without a zone it is a time of
/// this machine. Nullopt if there is none.
std::optional<ClockText> clock_text(std::string_view text);

/// The time of a whole cell: as above, or Unix time in seconds, milliseconds, micro- or
/// nanoseconds, from 2001 on. Smaller numbers are durations: nullopt.
std::optional<std::int64_t> clock_cell(std::string_view text);

/// Unix time in one of these units.
std::optional<std::int64_t> clock_number(double number);

/// The time of a line of a log: at its beginning, also in brackets.
std::optional<std::int64_t> clock_of_line(std::string_view line);

}  // namespace flor::cli
