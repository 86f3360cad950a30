// Finds living chunks: those that a checkpoint or an object lists, and the bases of these.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace flor::store {

/// Follows the catalog: each `update` reads only the rows that came since the previous one, so
/// that the last one, inside the transaction that removes rows, is short. Not thread-safe.
class Marks {
 public:
  /// Marks chunks that new rows refer to. The first call must see one state of the catalog. Chunks
  /// that came after it count as alive, listed or not: their writers may be at work.
  void update(Connection& connection);

  /// Counts these rows of checkpoints and objects as gone: before the first `update`.
  void leave_out(std::set<std::int64_t> checkpoints, std::set<std::int64_t> objects) {
    checkpoints_left_ = std::move(checkpoints);
    objects_left_ = std::move(objects);
  }

  /// Marks chunks that are needed without a row of a checkpoint or an object.
  void mark_all(std::span<const std::uint32_t> ids) {
    for (const std::uint32_t id : ids) mark(id);
  }

  bool is_alive(std::uint32_t id) const { return id < alive_.size() && alive_[id]; }
  /// Chunks of the first `update` that are not alive by now, by falling id.
  std::vector<std::uint32_t> dead() const;

 private:
  void load_chunks(Connection& connection);
  void mark_lists(Connection& connection, const char* sql, const std::set<std::int64_t>& left,
                  std::int64_t& last);
  void mark(std::uint32_t id);

  std::set<std::int64_t> checkpoints_left_, objects_left_;
  bool first_ = true;
  std::int64_t last_chunk_ = 0, last_checkpoint_ = 0, last_object_ = 0;
  std::int64_t first_end_ = 0;        ///< last_chunk_ after the first update
  std::vector<std::uint32_t> bases_;  ///< by id; 0: none
  std::vector<bool> exists_;
  std::vector<bool> alive_;
};

}  // namespace flor::store
