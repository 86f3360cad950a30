// Where in a block of an older version something belongs that stands between two statements of the
// newer one.
#pragma once

#include "carry/alignment.h"
#include "carry/tree.h"

#include <set>
#include <string>

namespace flor::carry {

/// Before the statement `index` of a block; the number of statements: at its end.
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
  std::size_t token = 0;  ///< the same as a token of the file
  std::string where;      ///< for people
  std::string reason;     ///< why there is none
};

/// `names`: those that are others in the older version; `used`: names of what is to be put there,
/// as they are there. Statements of the older version between which it makes no difference where
/// it stands are those that only log, and declarations of something else.
Position find_position(const BlockPlace& place, const OlderBlock& there, const KnownNames& names,
                       const std::set<std::string>& used);

}  // namespace flor::carry
