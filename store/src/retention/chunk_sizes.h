// The sizes of chunks in the packs, and the space freed if some of their users went.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <vector>

namespace flor::store {

/// The chunk table in memory.
struct ChunkSizes {
  struct Chunk {
    std::uint32_t base = 0;
    std::uint32_t bytes = 0;  ///< of the record, header included; 0: there is no such chunk
  };
  std::vector<Chunk> by_id;

  explicit ChunkSizes(Connection& connection);
  bool has(std::uint32_t id) const { return id < by_id.size() && by_id[id].bytes > 0; }
};

/// Counts the users of each chunk: lists of ids, and chunks that build upon it. Chunks that owners
/// need by `need` can be given up and taken back; chunks that others need stay.
class ChunkUse {
 public:
  explicit ChunkUse(const ChunkSizes& sizes);

  void need_for_good(std::uint32_t id);  ///< used elsewhere, too; before the first `need`
  void need(std::uint32_t id);
  void give_up(std::uint32_t id);  ///< undoes one `need`

  std::uint64_t needed() const { return needed_; }  ///< bytes that the owners need
  /// Bytes that only the owners need.
  std::uint64_t exclusive() const { return exclusive_; }

 private:
  const ChunkSizes& sizes_;
  std::vector<std::uint32_t> count_;  ///< by id: of the owners' lists and of their chunks upon it
  std::vector<bool> others_;          ///< by id
  std::uint64_t needed_ = 0, exclusive_ = 0;
};

}  // namespace flor::store
