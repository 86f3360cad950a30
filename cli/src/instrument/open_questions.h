// Questions for the author of a training, about all that its sources do not decide.
#pragma once

#include "instrument/training.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flor::instrument {

struct Doubt {
  const Source* source = nullptr;
  std::size_t token = 0;  ///< of the statement that it is about
  std::string text;       ///< without "// flor: ", with the question mark
};

/// Questions about a training: the seeds that it begins with, its loaders, what it changes where no
/// checkpoint reaches, and how it leaves its main loop.
std::vector<Doubt> find_doubts(const Program& program, const StateTypes& types,
                               const Carried& carried, const Training& training);

}  // namespace flor::instrument
