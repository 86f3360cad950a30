// Finds the place in a block of an older version for statements that stand between two statements
// of the newer one.
#pragma once

#include "carry/alignment.h"
#include "carry/tree.h"

#include <set>
#include <string>

namespace flor::carry {

/// A place before the statement `index` of a block; the number of statements: at its end.
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
  std::size_t token = 0;  ///< the same, as a token of the file
  std::string where;      ///< for the user
  std::string reason;     ///< why there is none
};

/// `names`: those that are others in the older version; `used`: names in the statements to be
/// inserted, as they are there. The place makes no difference among statements of the older version
/// that only log, or declare something else.
Position find_position(const BlockPlace& place, const OlderBlock& there, const KnownNames& names,
                       const std::set<std::string>& used);

}  // namespace flor::carry
