// Finds the place in a block of an older version for statements that stand between two statements
// of the newer version.
#pragma once

#include "carry/alignment.h"
#include "carry/tree.h"

#include <set>
#include <string>

namespace flor::carry {

/// A place before statement `index` of a block; the number of statements: at the end.
struct BlockPlace {
  const Source& source;
  const Block& block;
  std::size_t index = 0;
};
struct OlderBlock {
  const Source& source;
  const Block& block;
};

struct Position {
  bool found = false;
  std::size_t index = 0;  ///< before this statement of the older block
  std::size_t token = 0;  ///< the same place, as an index among the tokens of the file
  std::string where;      ///< the place, for the user
  std::string reason;     ///< why there is no place
};

/// Finds the place in `there` that corresponds to `place`. `names`: names that differ in the older
/// version; `used`: names in the statements to be inserted, as the older version spells them. If
/// several places fit equally well, returns the first of them if only log statements and unrelated
/// declarations are between them, because the result is the same at each; otherwise none.
Position find_position(const BlockPlace& place, const OlderBlock& there, const KnownNames& names,
                       const std::set<std::string>& used);

}  // namespace flor::carry
