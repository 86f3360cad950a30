// How many workers a command gets, and which GPUs they use, as its options say it.
#pragma once

#include "launch/seat_starter.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flor::cli {

/// Workers to ask other machines for where the user gives no number.
std::size_t usual_seats(const EngineWish& engine);

/// The numbers in --gpus 0,1; none for an empty text. Throws UsageError.
std::vector<std::string> parse_gpus(const std::string& list);

}  // namespace flor::cli
