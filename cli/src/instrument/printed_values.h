// Values that a training prints, and that can be logged where they are printed.
#pragma once

#include "instrument/training.h"

#include <string>
#include <vector>

namespace flor::instrument {

struct PrintedValue {
  int body = -1;
  Range range;                ///< the printed expression
  std::string name;           ///< of the variable in it
  std::size_t dividable = 0;  ///< the token before which its line may be divided
};

/// The fractions that a training prints by their names, each under a name that occurs once: a
/// variable, or the element of a tensor. What depends on clocks is left out, and so is what
/// functions print that others than the main loop call, too.
std::vector<PrintedValue> find_printed(const Program& program, const StateTypes& types,
                                       const std::vector<Training>& trainings);

}  // namespace flor::instrument
