// Finds variables that the program should register but does not: a loop changes them, and code
// after the loop, or its next iteration, reads them. This is advice, not proof: doubtful cases are
// left out.
#pragma once

#include "sources/analysis.h"

#include <string>
#include <vector>

namespace flor::sources {

struct Forgotten {
  std::string variable, loop;
  std::string where;  ///< place that reads it, e.g. "train.cpp:24"
  bool operator==(const Forgotten&) const = default;
};

/// `texts` are all sources of one program. The result is in the order of the program's loops.
std::vector<Forgotten> find_forgotten(const std::vector<SourceText>& texts);

}  // namespace flor::sources
