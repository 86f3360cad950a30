// What is to be archived: the versions of each piece of state over the checkpoints of a run.
#pragma once

#include "maintain/held_content.h"
#include "pack/chunk_reader.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Ids of chunks, in the order of the checkpoints; one that recurs is there once.
using Versions = std::vector<std::uint32_t>;

class ArchivePlan {
 public:
  /// Reads the checkpoints of the run in one state of the catalog. Loads their rows into `chunks`.
  /// `held`: what recordings may build upon, though the index does not know it yet.
  ArchivePlan(Connection& connection, std::int64_t run, ChunkReader& chunks,
              const HeldContent& held);

  /// Sets of versions that have a chunk or a base in common, so that all of a set must be changed
  /// in one transaction.
  const std::vector<std::vector<Versions>>& groups() const { return groups_; }
  /// A chunk that others build upon, or may, which are no part of the run: its depth must stay.
  bool is_pinned(std::uint32_t id) const { return pinned_.contains(id); }
  /// Where its record came from, as that which takes its place.
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
