// Implements CheckpointReader and read_object: a manifest from the catalog, then any of its items.
#include "database/manifest.h"
#include "database/store_impl.h"
#include "pack/chunk_reader.h"
#include "pack/decode_chunks.h"

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <unordered_map>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// The items of a checkpoint or object, and the chunks that contain them.
class Manifest {
 public:
  Manifest(std::shared_ptr<Database> database, std::string what)
      : database_(std::move(database)), what_(std::move(what)), chunks_(new_chunks()) {}

  /// Throws Damaged if layout, chunks and digest do not match.
  void load(Connection& connection, Bytes layout, Bytes ids, const Digest& digest) {
    layout_ = decode_layout(layout);
    ids_ = decode_ids(ids);
    chunks_->load_rows(connection, ids_);
    std::size_t next = 0;
    std::vector<Digest> digests;
    for (std::size_t block = 0; block < layout_.blocks.size(); ++block) {
      first_.push_back(next);
      const std::uint64_t count = chunk_count(layout_.blocks[block].bytes);
      if (count > ids_.size() - next) throw_inconsistent();
      digests.clear();
      for (std::size_t i = 0; i < count; ++i, ++next) {
        digests.push_back(chunks_->row(ids_[next]).digest);
      }
      digests_.push_back(item_digest(digests));
      add_places(block);
    }
    if (next != ids_.size() || manifest_digest(layout, digests_) != digest) throw_inconsistent();
  }

  const std::vector<Item>& items() const { return layout_.items; }

  Digest digest(std::size_t item) const {
    const std::size_t block = places_.at(item).block;
    return is_slab(block) ? item_digest(part(item)) : digests_[block];
  }

  void read(std::span<const Destination> destinations, unsigned threads) const {
    std::vector<Task> tasks;
    for (const auto& [item, content] : destinations) {
      if (content.size() != items().at(item).bytes) {
        throw Error(fmt::format("'{}' of {} has {} bytes, but there is room for {}",
                                items()[item].name, what_, items()[item].bytes, content.size()));
      }
      if (is_slab(places_[item].block)) {
        std::ranges::copy(part(item), content.begin());
      } else {
        add_tasks(places_[item].block, content, tasks);
      }
    }
    if (!tasks.empty()) read(tasks, threads);
  }

 private:
  struct Place {
    std::size_t block = 0;
    std::uint64_t offset = 0;  ///< offset in the block
  };
  using Slab = std::shared_ptr<const std::vector<std::byte>>;

  bool is_slab(std::size_t block) const { return layout_.blocks[block].count > 1; }

  void add_places(std::size_t block) {
    std::uint64_t offset = 0;
    for (const Item& item : layout_.items_of(layout_.blocks[block])) {
      places_.push_back({block, offset});
      offset += item.bytes;
    }
  }

  void add_tasks(std::size_t block, std::span<std::byte> content, std::vector<Task>& tasks) const {
    const Block& whole = layout_.blocks[block];
    const std::size_t count = chunk_count(whole.bytes);
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back({ids_[first_[block] + i],
                       content.subspan(i * kChunkBytes, chunk_bytes(whole.bytes, i)), block});
    }
  }

  std::span<const std::byte> part(std::size_t item) const {
    const Place& place = places_[item];
    return std::span(*slab(place.block)).subspan(place.offset, items()[item].bytes);
  }

  /// Decodes a slab once and keeps it, because its items are usually requested one by one.
  const Slab& slab(std::size_t block) const {
    const std::lock_guard lock(slab_mutex_);
    Slab& known = slabs_[block];
    if (!known) {
      auto content = std::make_shared<std::vector<std::byte>>(layout_.blocks[block].bytes);
      std::vector<Task> tasks;
      add_tasks(block, *content, tasks);
      read(tasks, 0);
      known = std::move(content);
    }
    return known;
  }

  void read(const std::vector<Task>& tasks, unsigned threads) const {
    constexpr int kTries = 8;  // in each attempt a garbage collection may move the chunks again
    for (int i = 1;; ++i) {
      const auto chunks = current_chunks();
      try {
        restore(
            *chunks, tasks, database_->decode_scratch, threads,
            [this](const Task& task, const std::exception_ptr& error) { rethrow(task, error); });
        return;
      } catch (const PackMissing&) {
        if (i < kTries && reload(chunks)) continue;
        database_->require_content();
        throw;
      }
    }
  }

  std::shared_ptr<ChunkReader> new_chunks() const {
    return std::make_shared<ChunkReader>(database_->paths, database_->files);
  }

  std::shared_ptr<ChunkReader> current_chunks() const {
    const std::lock_guard lock(mutex_);
    return chunks_;
  }

  /// Looks up again where the chunks are. Returns false if they are still at the same places.
  bool reload(const std::shared_ptr<ChunkReader>& old) const {
    auto chunks = new_chunks();
    {
      const Lock lock(database_->mutex);
      try {
        const ReadTransaction transaction(database_->connection);
        chunks->load_rows(database_->connection, ids_);
      } catch (const Damaged&) {
        return false;  // the checkpoint was deleted and collected meanwhile
      }
    }
    const bool moved = !chunks->lies_like(*old);
    const std::lock_guard lock(mutex_);
    chunks_ = std::move(chunks);
    return moved;
  }

  [[noreturn]] void rethrow(const Task& task, const std::exception_ptr& error) const {
    const Block& block = layout_.blocks[task.block];
    const bool internal = is_internal(layout_.items[block.first].name);
    const std::string item = internal ? std::string() : layout_.title(block) + " of ";
    const auto explain = [&](const Error& reason) {
      return fmt::format("cannot read {}{}: {}; `flor fsck` says what else is lost", item, what_,
                         reason.what());
    };
    try {
      std::rethrow_exception(error);
    } catch (const PackMissing& reason) {
      throw PackMissing(explain(reason));
    } catch (const Damaged& reason) {
      throw Damaged(explain(reason));
    }
  }

  [[noreturn]] void throw_inconsistent() const {
    throw Damaged(
        fmt::format("the catalog's rows of {} contradict each other: run `flor fsck`", what_));
  }

  std::shared_ptr<Database> database_;
  std::string what_;  ///< for messages: "checkpoint 12"
  mutable std::mutex mutex_;
  mutable std::shared_ptr<ChunkReader> chunks_;  ///< replaced after a pack was compacted
  Layout layout_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::size_t> first_;  ///< per block: index in `ids_` of its first chunk
  std::vector<Digest> digests_;     ///< digests of the blocks
  std::vector<Place> places_;       ///< where each item lies
  mutable std::mutex slab_mutex_;
  mutable std::map<std::size_t, Slab> slabs_;  ///< decoded slabs, by block
};

}  // namespace

struct CheckpointReader::Impl {
  Impl(std::shared_ptr<Database> database, std::string what)
      : manifest(std::move(database), std::move(what)) {}

  /// Most callers ask for items in order, for the same one repeatedly or the next one, so these are
  /// tried first.
  std::optional<std::size_t> find(std::string_view name) {
    const std::size_t expected = last_found_.load(std::memory_order_relaxed);
    for (std::size_t i = expected; i < std::min(expected + 2, manifest.items().size()); ++i) {
      if (manifest.items()[i].name != name) continue;
      last_found_.store(i, std::memory_order_relaxed);
      return i;
    }
    std::call_once(named_, [this] {
      for (std::size_t i = 0; i < manifest.items().size(); ++i) {
        by_name_.emplace(manifest.items()[i].name, i);
      }
    });
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    last_found_.store(found->second, std::memory_order_relaxed);
    return found->second;
  }

  CheckpointInfo info;
  Manifest manifest;

 private:
  std::atomic<std::size_t> last_found_ = 0;
  std::once_flag named_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

CheckpointReader::CheckpointReader(const Store& store, std::int64_t checkpoint) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  Connection& connection = database.connection;
  ReadTransaction transaction(connection);
  // Looks also among deleted checkpoints: one that was deleted after it was looked up can be read
  // until it is collected.
#define FLOR_STORED_CHECKPOINT(table)                                                            \
  "SELECT kind, main_loop, iteration, loop, stored.raw_bytes, stored.stored_bytes, created_us, " \
  "stored.digest, "                                                                              \
  "chunks, layout.items, run.key FROM " table                                                    \
  " AS stored JOIN layout ON layout.id = stored.layout JOIN run ON run.id = stored.run "
  auto row = connection(FLOR_STORED_CHECKPOINT("checkpoint") "WHERE stored.id = ?1", checkpoint);
  bool found = row->step();
  if (!found) {
    row = connection(
        FLOR_STORED_CHECKPOINT("discarded") "WHERE stored.id = ?1 AND collected_us IS NULL",
        checkpoint);
    found = row->step();
  }
  if (!found) {
    throw NotFound(fmt::format("there is no checkpoint {} in {}: see `flor show RUN`", checkpoint,
                               database.paths.home.string()));
  }
  CheckpointInfo info;
  info.id = checkpoint;
  info.key = {static_cast<CheckpointKind>(row->integer(0)), row->integer(1), row->integer(2),
              row->text(3)};
  info.raw_bytes = static_cast<std::uint64_t>(row->integer(4));
  info.stored_bytes = static_cast<std::uint64_t>(row->integer(5));
  info.created_us = row->integer(6);
  info.digest = row->digest(7);
  impl_ = std::make_unique<Impl>(store.impl().database, describe(info.key, row->text_view(10)));
  impl_->info = info;
  impl_->manifest.load(connection, row->blob(9), row->blob(8), info.digest);
}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const CheckpointInfo& CheckpointReader::info() const { return impl_->info; }
const std::vector<Item>& CheckpointReader::items() const { return impl_->manifest.items(); }

std::optional<std::size_t> CheckpointReader::find(std::string_view name) const {
  return impl_->find(name);
}

Digest CheckpointReader::digest(std::size_t item) const { return impl_->manifest.digest(item); }

void CheckpointReader::read(std::span<const Destination> destinations, unsigned threads) const {
  impl_->manifest.read(destinations, threads);
}

std::vector<std::byte> CheckpointReader::read(std::size_t item) const {
  std::vector<std::byte> content(items().at(item).bytes);
  const Destination destination{item, content};
  read(std::span(&destination, 1), 1);
  return content;
}

Object read_object(const Store& store, std::string_view reference) {
  const auto digest = Digest::from_hex(reference);
  if (!digest) {
    throw UsageError(
        fmt::format("'{}' is no reference of an object: give 32 hex digits", reference));
  }
  Database& database = *store.impl().database;
  Manifest manifest(store.impl().database, fmt::format("object {}", reference));
  {
    const Lock lock(database.mutex);
    ReadTransaction transaction(database.connection);
    const auto row = database.connection(
        "SELECT chunks, layout.items FROM object JOIN layout ON layout.id = object.layout "
        "WHERE object.digest = ?1",
        *digest);
    if (!row->step()) {
      throw NotFound(fmt::format("there is no object {} in {}: run `flor fsck`", reference,
                                 database.paths.home.string()));
    }
    manifest.load(database.connection, row->blob(1), row->blob(0), *digest);
  }
  if (manifest.items().size() != 1) {
    throw Damaged(fmt::format("object {} is not one item: run `flor fsck`", reference));
  }
  Object object{manifest.items().front(), {}};
  object.content.resize(object.item.bytes);
  const Destination whole{0, object.content};
  manifest.read(std::span(&whole, 1), 0);
  return object;
}

}  // namespace flor::store
