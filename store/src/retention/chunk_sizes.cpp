#include "retention/chunk_sizes.h"

#include "pack/pack_record.h"

namespace flor::store {

ChunkSizes::ChunkSizes(Connection& connection) {
  const auto rows = connection("SELECT id, base, stored_bytes FROM chunk ORDER BY id");
  while (rows->step()) {
    by_id.resize(static_cast<std::size_t>(rows->integer(0)) + 1);
    by_id.back() = {
        static_cast<std::uint32_t>(rows->integer(1)),
        static_cast<std::uint32_t>(rows->integer(2) + std::int64_t{kRecordHeaderBytes})};
  }
}

ChunkUse::ChunkUse(const ChunkSizes& sizes)
    : sizes_(sizes), count_(sizes.by_id.size()), others_(sizes.by_id.size()) {}

void ChunkUse::need_for_good(std::uint32_t id) {
  while (sizes_.has(id) && !others_[id]) {
    others_[id] = true;
    id = sizes_.by_id[id].base;
  }
}

void ChunkUse::need(std::uint32_t id) {
  while (sizes_.has(id) && ++count_[id] == 1) {
    needed_ += sizes_.by_id[id].bytes;
    if (!others_[id]) exclusive_ += sizes_.by_id[id].bytes;
    id = sizes_.by_id[id].base;
  }
}

void ChunkUse::give_up(std::uint32_t id) {
  while (sizes_.has(id) && --count_[id] == 0) {
    needed_ -= sizes_.by_id[id].bytes;
    if (!others_[id]) exclusive_ -= sizes_.by_id[id].bytes;
    id = sizes_.by_id[id].base;
  }
}

}  // namespace flor::store
