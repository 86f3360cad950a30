#include "maintain/marks.h"

#include "database/manifest.h"

#include <flor/store/error.h>

#include <limits>

namespace flor::store {

void Marks::update(Connection& connection) {
  load_chunks(connection);
  mark_lists(connection, "SELECT id, chunks FROM checkpoint WHERE id > ?1 ORDER BY id",
             checkpoints_left_, last_checkpoint_);
  mark_lists(connection, "SELECT id, chunks FROM object WHERE id > ?1 ORDER BY id", objects_left_,
             last_object_);
  if (first_) first_end_ = last_chunk_;
  first_ = false;
}

void Marks::load_chunks(Connection& connection) {
  const std::int64_t before = last_chunk_;
  const auto rows = connection("SELECT id, base FROM chunk WHERE id > ?1 ORDER BY id", before);
  while (rows->step()) {
    last_chunk_ = rows->integer(0);
    if (last_chunk_ < 1 || last_chunk_ > std::numeric_limits<std::uint32_t>::max()) {
      throw Damaged("the catalog has a chunk whose id cannot be: run `flor fsck`");
    }
    const auto size = static_cast<std::size_t>(last_chunk_) + 1;
    bases_.resize(size);
    exists_.resize(size);
    alive_.resize(size);
    bases_.back() = static_cast<std::uint32_t>(rows->integer(1));
    exists_.back() = true;
  }
  if (first_) return;
  for (std::int64_t id = before + 1; id <= last_chunk_; ++id) mark(static_cast<std::uint32_t>(id));
}

void Marks::mark_lists(Connection& connection, const char* sql,
                       const std::set<std::int64_t>& left, std::int64_t& last) {
  const auto rows = connection(sql, last);
  while (rows->step()) {
    last = rows->integer(0);
    if (left.contains(last)) continue;
    for (const std::uint32_t id : decode_ids(rows->blob(1))) mark(id);
  }
}

void Marks::mark(std::uint32_t id) {
  // An id without a row is damage, which `check` reports; there is nothing to keep for it.
  while (id != 0 && id < alive_.size() && !alive_[id]) {
    alive_[id] = true;
    id = bases_[id];
  }
}

std::vector<std::uint32_t> Marks::dead() const {
  std::vector<std::uint32_t> ids;
  for (auto id = static_cast<std::uint32_t>(first_end_); id > 0; --id) {
    if (exists_[id] && !alive_[id]) ids.push_back(id);
  }
  return ids;
}

}  // namespace flor::store
