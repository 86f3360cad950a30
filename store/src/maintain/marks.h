// Finds the needed chunks: those that checkpoints and objects list, and their bases.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace flor::store {

/// Marks needed chunks in several steps. Each `update` reads only rows added since the previous
/// one, so that the last one, inside the transaction that removes rows, is short. Not thread-safe.
class Marks {
 public:
  /// Marks the chunks that new rows refer to. The first call must see one state of the catalog.
  /// Chunks added after it count as needed even if nothing lists them, because their writers may be
  /// at work.
  void update(Connection& connection);

  /// Treats these rows of checkpoints and objects as removed. Call it before the first `update`.
  void leave_out(std::set<std::int64_t> checkpoints, std::set<std::int64_t> objects) {
    checkpoints_left_ = std::move(checkpoints);
    objects_left_ = std::move(objects);
  }

  /// Marks chunks that are needed although no checkpoint or object lists them.
  void mark_all(std::span<const std::uint32_t> ids) {
    for (const std::uint32_t id : ids) mark(id);
  }

  bool is_alive(std::uint32_t id) const { return id < alive_.size() && alive_[id]; }
  /// Returns the chunks that existed at the first `update` and are not marked, by descending id.
  std::vector<std::uint32_t> dead() const;

 private:
  void load_chunks(Connection& connection);
  void mark_lists(Connection& connection, const char* sql, const std::set<std::int64_t>& left,
                  std::int64_t& last);
  void mark(std::uint32_t id);

  std::set<std::int64_t> checkpoints_left_, objects_left_;
  bool first_ = true;
  std::int64_t last_chunk_ = 0, last_checkpoint_ = 0, last_object_ = 0;
  std::int64_t first_end_ = 0;        ///< `last_chunk_` after the first update
  std::vector<std::uint32_t> bases_;  ///< by id of the chunk; 0: no base
  std::vector<bool> exists_;
  std::vector<bool> alive_;
};

}  // namespace flor::store
