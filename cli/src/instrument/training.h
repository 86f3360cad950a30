// Finds the loops that a training consists of: the main loop, whose iterations are the epochs, and
// the loops in each epoch that train.
#pragma once

#include "instrument/carried.h"
#include "instrument/program.h"

#include <optional>
#include <string>
#include <vector>

namespace flor::instrument {

struct Training {
  Loop main;
  std::vector<Loop> nested;  ///< also in functions that only the main loops call
};

/// Finds the trainings, in the order of the program. `line`, if not 0, is that of the main loop in
/// the first file. Throws Error where it cannot tell which loop it is, naming the choices.
std::vector<Training> find_trainings(const Program& program, const StateTypes& types,
                                     const Carried& carried, std::uint32_t line);

}  // namespace flor::instrument
