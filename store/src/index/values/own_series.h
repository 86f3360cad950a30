// Series whose names are Flor's own: no question about values sees them unless it asks for that.
#pragma once

#include <string_view>

namespace flor::store {

/// `flor::log` refuses names that begin so.
inline constexpr std::string_view kReservedPrefix = "flor:";
/// Holds what a program printed, see printed.h.
inline constexpr std::string_view kPrintedSeries = "flor:output";
/// Holds the values of iterations, each at the place of its iteration.
inline constexpr std::string_view kIterationSeries = "flor:value";
/// So begin the names of answers to questions of programs, which are inputs and no metrics.
inline constexpr std::string_view kQuestionSeries = "pinned:flor.query ";

}  // namespace flor::store
