// How many workers a command gets, and which GPUs they use.
#pragma once

#include "launch/seat_starter.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flor::cli {

/// The number of workers on other machines if the user gives none.
std::size_t usual_seats(const EngineWish& engine);

/// Splits the value of --gpus, such as "0,1"; an empty text gives no GPUs. Throws UsageError.
std::vector<std::string> parse_gpus(const std::string& list);

}  // namespace flor::cli
