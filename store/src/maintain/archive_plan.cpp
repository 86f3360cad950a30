#include "maintain/archive_plan.h"

#include "database/manifest.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace flor::store {
namespace {

/// Disjoint sets of ids that can be merged (union-find).
class DisjointSets {
 public:
  std::uint32_t find(std::uint32_t id) {
    std::uint32_t root = id;
    for (auto up = parent_.find(root); up != parent_.end(); up = parent_.find(root)) {
      root = up->second;
    }
    while (id != root) id = std::exchange(parent_[id], root);
    return root;
  }
  void merge(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t root = find(a);
    const std::uint32_t other = find(b);
    if (root != other) parent_[root] = other;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> parent_;
};

}  // namespace

ArchivePlan::ArchivePlan(Connection& connection, std::int64_t run, ChunkReader& chunks,
                         const HeldContent& held) {
  ReadTransaction transaction(connection);
  load(connection, run);
  const std::vector<std::uint32_t> ids(members_.begin(), members_.end());
  chunks.load_rows(connection, ids);
  const auto foreign = connection("SELECT chunk FROM foreign_chunk");
  while (foreign->step()) foreign_.insert(static_cast<std::uint32_t>(foreign->integer(0)));
  find_pinned(connection, chunks, held);
  make_groups(chunks);
}

void ArchivePlan::load(Connection& connection, std::int64_t run) {
  // Blocks with equal name, type and length can be differences to each other.
  std::map<std::tuple<std::string, ElementType, std::uint64_t>, std::size_t> first;
  const auto rows = connection(
      "SELECT layout.items, chunks FROM checkpoint JOIN layout ON layout.id = checkpoint.layout "
      "WHERE run = ?1 ORDER BY checkpoint.id",
      run);
  while (rows->step()) {
    ++checkpoints_;
    const std::vector<std::uint32_t> ids = decode_ids(rows->blob(1));
    std::size_t next = 0;
    const Layout layout = decode_layout(rows->blob(0));
    for (const Block& block : layout.blocks) {
      const std::span<const Item> items = layout.items_of(block);
      const std::size_t count = chunk_count(block.bytes);
      if (count > ids.size() - next) {
        throw Damaged(
            fmt::format("the catalog's rows of the checkpoints of run {} contradict each other: "
                        "run `flor fsck`",
                        run));
      }
      const auto [entry, is_new] = first.emplace(
          std::tuple(items.front().name, common_type(items), block.bytes), versions_.size());
      if (is_new) versions_.resize(versions_.size() + count);
      for (std::size_t i = 0; i < count; ++i, ++next) {
        Versions& versions = versions_[entry->second + i];
        if (versions.empty() || versions.back() != ids[next]) versions.push_back(ids[next]);
        members_.insert(ids[next]);
      }
    }
  }
}

void ArchivePlan::find_pinned(Connection& connection, const ChunkReader& chunks,
                              const HeldContent& held) {
  const auto pin = [&](std::uint32_t id) {
    while (members_.contains(id) && pinned_.insert(id).second) id = chunks.row(id).base;
  };
  std::ranges::for_each(held.rows(connection), pin);
  const auto rows = connection("SELECT id, base FROM chunk WHERE base IS NOT NULL");
  while (rows->step()) {
    const auto id = static_cast<std::uint32_t>(rows->integer(0));
    if (!members_.contains(id)) pin(static_cast<std::uint32_t>(rows->integer(1)));
  }
}

void ArchivePlan::make_groups(const ChunkReader& chunks) {
  DisjointSets sets;
  for (const Versions& versions : versions_) {
    for (const std::uint32_t id : versions) {
      sets.merge(id, versions.front());
      const std::uint32_t base = chunks.row(id).base;
      if (members_.contains(base)) sets.merge(id, base);
    }
  }
  std::unordered_map<std::uint32_t, std::size_t> by_root;
  for (Versions& versions : versions_) {
    if (versions.empty()) continue;
    const auto [entry, is_new] = by_root.emplace(sets.find(versions.front()), groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[entry->second].push_back(std::move(versions));
  }
  versions_.clear();
}

}  // namespace flor::store
