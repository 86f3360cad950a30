// Implements `usage`: follows each checkpoint to the records that it needs, and finds out which
// records are shared.
#include "maintain/usage.h"

#include "database/manifest.h"
#include "database/open_file.h"
#include "database/store_impl.h"
#include "file/home_files.h"
#include "index/catalog/labels.h"
#include "retention/chunk_sizes.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

namespace flor::store {
namespace {

/// Attributes records to owners (experiments, runs or items). All records of an owner are added
/// before the next owner begins.
class Owners {
 public:
  explicit Owners(const ChunkSizes& records)
      : records_(records), last_(records.by_id.size()), many_(records.by_id.size()) {}

  /// Begins an owner. Null: one that is not reported but may share records with others.
  void begin(Usage* usage) { owners_.push_back(usage); }

  void need(std::uint32_t id) {
    const auto owner = static_cast<std::uint32_t>(owners_.size());
    while (id != 0 && id < last_.size() && last_[id] != owner && records_.by_id[id].bytes > 0) {
      if (last_[id] != 0) many_[id] = true;
      last_[id] = owner;
      if (Usage* usage = owners_.back()) usage->stored += records_.by_id[id].bytes;
      id = records_.by_id[id].base;
    }
  }

  /// Computes the sums. Call it after all owners were added.
  void finish() {
    for (std::size_t id = 1; id < last_.size(); ++id) {
      if (last_[id] == 0 || many_[id]) continue;
      if (Usage* usage = owners_[last_[id] - 1]) usage->frees += records_.by_id[id].bytes;
    }
    for (Usage* usage : owners_) {
      if (usage) usage->shared = usage->stored - usage->frees;
    }
  }

  std::uint64_t bytes(bool needed) const {
    std::uint64_t sum = 0;
    for (std::size_t id = 1; id < last_.size(); ++id) {
      if ((last_[id] != 0) == needed) sum += records_.by_id[id].bytes;
    }
    return sum;
  }

 private:
  const ChunkSizes& records_;
  std::vector<Usage*> owners_;
  std::vector<std::uint32_t> last_;  ///< by id: number of the last owner that needs it, from 1
  std::vector<bool> many_;           ///< by id: true if several owners need it
};

void need_objects(Connection& connection, Owners& owners) {
  owners.begin(nullptr);
  const auto rows = connection("SELECT chunks FROM object");
  while (rows->step()) {
    for (const std::uint32_t id : decode_ids(rows->blob(0))) owners.need(id);
  }
}

void sort(std::vector<Usage>& list) {
  std::ranges::stable_sort(list, std::greater(), &Usage::stored);
}

/// `sql` selects the owner's name, the raw bytes and the chunks of each checkpoint, ordered by
/// owner.
std::vector<Usage> usage_by(Connection& connection, Owners& owners, const char* sql) {
  // Pointers to the elements are kept, which a map does not move.
  std::map<std::string, Usage> by_name;
  const auto rows = connection(sql);
  Usage* current = nullptr;
  while (rows->step()) {
    if (!current || current->name != rows->text_view(0)) {
      current = &by_name[rows->text(0)];
      current->name = rows->text(0);
      owners.begin(current);
    }
    ++current->checkpoints;
    current->raw += static_cast<std::uint64_t>(rows->integer(1));
    for (const std::uint32_t id : decode_ids(rows->blob(2))) owners.need(id);
  }
  need_objects(connection, owners);
  owners.finish();
  std::vector<Usage> list;
  for (auto& [name, usage] : by_name) list.push_back(std::move(usage));
  sort(list);
  return list;
}

}  // namespace

namespace {

void mark_removed(Connection& connection, std::vector<Usage>& runs) {
  if (!has_table(connection, "label")) return;
  std::set<std::string> removed;
  const auto rows = connection("SELECT key FROM run WHERE id IN " FLOR_REMOVED_RUNS);
  while (rows->step()) removed.insert(rows->text(0));
  for (Usage& usage : runs) usage.removed = removed.contains(usage.name);
}

}  // namespace

UsageReport usage(const Store& store) {
  const Database& database = *store.impl().database;
  const auto connection = open_for_reading(database.paths);
  ReadTransaction transaction(*connection);
  const ChunkSizes records(*connection);
  UsageReport report;
  Owners experiments(records), runs(records);
  report.experiments = usage_by(*connection, experiments,
                                "SELECT experiment.name, checkpoint.raw_bytes, chunks "
                                "FROM checkpoint JOIN run ON run.id = checkpoint.run "
                                "JOIN experiment ON experiment.id = run.experiment "
                                "ORDER BY experiment.id, checkpoint.id");
  report.runs = usage_by(*connection, runs,
                         "SELECT run.key, checkpoint.raw_bytes, chunks FROM checkpoint "
                         "JOIN run ON run.id = checkpoint.run ORDER BY run.id, checkpoint.id");
  mark_removed(*connection, report.runs);
  report.stored = runs.bytes(true);
  report.unreferenced = runs.bytes(false);
  for_each_pack(database.paths, [&](const std::filesystem::path& pack) {
    try {
      report.on_disk += File(database.files, pack, O_RDONLY).size_on_disk();
    } catch (const Error&) {  // removed in the meantime, or not a regular file
    }
  });
  return report;
}

namespace {

/// Returns the name of a block in the report. Records of a slab are shared by all its items.
std::string usage_name(const Layout& layout, const Block& block) {
  const std::string& first = layout.items[block.first].name;
  return block.count == 1 ? first : fmt::format("{} (and {} more)", first, block.count - 1);
}

}  // namespace

std::vector<Usage> item_usage(const Store& store, std::int64_t run) {
  const auto connection = open_for_reading(store.impl().database->paths);
  ReadTransaction transaction(*connection);
  const ChunkSizes records(*connection);
  Owners owners(records);
  need_objects(*connection, owners);
  owners.begin(nullptr);
  const auto others = (*connection)("SELECT chunks FROM checkpoint WHERE run <> ?1", run);
  while (others->step()) {
    for (const std::uint32_t id : decode_ids(others->blob(0))) owners.need(id);
  }
  std::map<std::string, std::pair<Usage, std::vector<std::uint32_t>>> items;
  const auto rows = (*connection)(
      "SELECT layout.items, chunks FROM checkpoint JOIN layout ON layout.id = checkpoint.layout "
      "WHERE run = ?1",
      run);
  while (rows->step()) {
    const std::vector<std::uint32_t> ids = decode_ids(rows->blob(1));
    std::size_t next = 0;
    const Layout layout = decode_layout(rows->blob(0));
    for (const Block& block : layout.blocks) {
      auto& [usage, chunks] = items[usage_name(layout, block)];
      usage.raw += block.bytes;
      for (std::size_t i = chunk_count(block.bytes); i > 0 && next < ids.size(); --i, ++next) {
        if (chunks.empty() || chunks.back() != ids[next]) chunks.push_back(ids[next]);
      }
    }
  }
  for (auto& [name, item] : items) {
    item.first.name = name;
    owners.begin(&item.first);
    for (const std::uint32_t id : item.second) owners.need(id);
  }
  owners.finish();
  std::vector<Usage> list;
  for (auto& [name, item] : items) list.push_back(std::move(item.first));
  sort(list);
  return list;
}

}  // namespace flor::store
