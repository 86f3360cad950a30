// Finds variables that a recording would not keep: a loop changes them, code after it (or its next
// iteration) reads them, and the program does not register them. Advice, not proof: doubtful ones
// are not named.
#pragma once

#include "sources/analysis.h"

#include <string>
#include <vector>

namespace flor::sources {

struct Forgotten {
  std::string variable, loop;
  std::string where;  ///< "train.cpp:24", that reads it
  bool operator==(const Forgotten&) const = default;
};

/// `texts`: all sources of one program. The result is in the order of its loops.
std::vector<Forgotten> find_forgotten(const std::vector<SourceText>& texts);

}  // namespace flor::sources
