// Sizes of chunks in packs, and how much space is freed when some users of chunks are removed.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <vector>

namespace flor::store {

/// The catalog's table of chunks, in memory.
struct ChunkSizes {
  struct Chunk {
    std::uint32_t base = 0;
    std::uint32_t bytes = 0;  ///< length of the record, including header; 0: there is no such chunk
  };
  std::vector<Chunk> by_id;

  explicit ChunkSizes(Connection& connection);
  bool has(std::uint32_t id) const { return id < by_id.size() && by_id[id].bytes > 0; }
};

/// Counts how often chunks are used, by lists of ids and by chunks that build on them. Needs of the
/// owners (`need`) can be undone and repeated; needs of others are permanent.
class ChunkUse {
 public:
  explicit ChunkUse(const ChunkSizes& sizes);

  void need_for_good(std::uint32_t id);  ///< used by others as well; call it before the first
                                         ///< `need`
  void need(std::uint32_t id);
  void give_up(std::uint32_t id);  ///< undoes one `need`

  std::uint64_t needed() const { return needed_; }  ///< bytes of records that the owners need
  /// Bytes of records that only the owners need.
  std::uint64_t exclusive() const { return exclusive_; }

 private:
  const ChunkSizes& sizes_;
  std::vector<std::uint32_t> count_;  ///< by id: uses by the owners' lists, and by needed chunks
                                      ///< that build on it
  std::vector<bool> others_;          ///< by id: whether others need it
  std::uint64_t needed_ = 0, exclusive_ = 0;
};

}  // namespace flor::store
