// The content to archive: the versions of each piece of state over the checkpoints of a run.
#pragma once

#include "maintain/held_content.h"
#include "pack/chunk_reader.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Ids of chunks, in the order of the checkpoints; equal ones in a row are listed once.
using Versions = std::vector<std::uint32_t>;

class ArchivePlan {
 public:
  /// Reads the checkpoints of the run in one state of the catalog. Loads their rows into `chunks`.
  /// `held`: content that recordings may build upon, and the index does not know yet.
  ArchivePlan(Connection& connection, std::int64_t run, ChunkReader& chunks,
              const HeldContent& held);

  /// Sets of versions that have a chunk or a base in common, so that all of a set must be changed
  /// in one transaction.
  const std::vector<std::vector<Versions>>& groups() const { return groups_; }
  /// True if chunks outside the run build upon this one, or may: then its depth must stay.
  bool is_pinned(std::uint32_t id) const { return pinned_.contains(id); }
  /// The origin of its record, and of the new record that takes its place.
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
