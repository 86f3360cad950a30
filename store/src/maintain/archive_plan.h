// Determines what to archive: the versions that each piece of state has in the checkpoints of a
// run.
#pragma once

#include "maintain/held_content.h"
#include "pack/chunk_reader.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Ids of the chunks that one piece of state has in successive checkpoints; consecutive equal ids
/// are listed once.
using Versions = std::vector<std::uint32_t>;

class ArchivePlan {
 public:
  /// Reads the checkpoints of the run in one state of the catalog, and loads the rows of their
  /// chunks into `chunks`. `held`: content that recordings may build upon although the index does
  /// not know it.
  ArchivePlan(Connection& connection, std::int64_t run, ChunkReader& chunks,
              const HeldContent& held);

  /// Sets of versions that share a chunk or a base, so that each set must be changed in one
  /// transaction.
  const std::vector<std::vector<Versions>>& groups() const { return groups_; }
  /// True if chunks outside the run build on this one, or may do so, so that its depth must not
  /// change.
  bool is_pinned(std::uint32_t id) const { return pinned_.contains(id); }
  /// The origin of the chunk's record, which its new record must have as well.
  PackOrigin origin(std::uint32_t id) const {
    return foreign_.contains(id) ? PackOrigin::elsewhere : PackOrigin::here;
  }
  std::int64_t checkpoints() const { return checkpoints_; }
  const std::unordered_set<std::uint32_t>& chunks() const { return members_; }

 private:
  void load(Connection& connection, std::int64_t run);
  void find_pinned(Connection& connection, const ChunkReader& chunks, const HeldContent& held);
  void make_groups(const ChunkReader& chunks);

  std::int64_t checkpoints_ = 0;
  std::vector<Versions> versions_;
  std::unordered_set<std::uint32_t> members_;
  std::unordered_set<std::uint32_t> pinned_;
  std::unordered_set<std::uint32_t> foreign_;
  std::vector<std::vector<Versions>> groups_;
};

}  // namespace flor::store
