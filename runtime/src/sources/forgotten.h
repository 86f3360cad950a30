// What a recording would not keep: variables that a loop changes, that code after it (or its next
// iteration) reads, and that nobody registered. Advice, not proof: what is in doubt is not named.
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

/// Of a program whose sources these are, all of them, in the order of its loops.
std::vector<Forgotten> find_forgotten(const std::vector<SourceText>& texts);

}  // namespace flor::sources
