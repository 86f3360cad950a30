// CheckpointReader and read_object: a manifest from the catalog, then any of its items.
#include "chunk_reader.h"
#include "manifest.h"
#include "restore.h"
#include "store_impl.h"

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <exception>
#include <mutex>
#include <unordered_map>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Items and the chunks that hold them: of a checkpoint or of an object.
class Manifest {
 public:
  Manifest(std::shared_ptr<Database> database, std::string what)
      : database_(std::move(database)), what_(std::move(what)), chunks_(new_chunks()) {}

  /// Damaged if layout, chunks and digest do not belong together.
  void load(Connection& connection, Bytes layout, Bytes ids, const Digest& digest) {
    items_ = decode_layout(layout);
    ids_ = decode_ids(ids);
    chunks_->load_rows(connection, ids_);
    std::size_t next = 0;
    std::vector<Digest> digests;
    for (const Item& item : items_) {
      first_.push_back(next);
      const std::uint64_t count = chunk_count(item.bytes);
      if (count > ids_.size() - next) throw_inconsistent();
      digests.clear();
      for (std::size_t i = 0; i < count; ++i, ++next) {
        digests.push_back(chunks_->row(ids_[next]).digest);
      }
      digests_.push_back(item_digest(digests));
    }
    if (next != ids_.size() || manifest_digest(layout, digests_) != digest) throw_inconsistent();
  }

  const std::vector<Item>& items() const { return items_; }
  const Digest& digest(std::size_t item) const { return digests_.at(item); }

  void add_tasks(const Destination& destination, std::vector<Task>& tasks) const {
    const Item& item = items_.at(destination.item);
    if (destination.content.size() != item.bytes) {
      throw Error(fmt::format("'{}' of {} has {} bytes, but there is room for {}", item.name, what_,
                              item.bytes, destination.content.size()));
    }
    const std::size_t count = chunk_count(item.bytes);
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back({ids_[first_[destination.item] + i],
                       destination.content.subspan(i * kChunkBytes, chunk_bytes(item.bytes, i)),
                       destination.item});
    }
  }

  void read(const std::vector<Task>& tasks, unsigned threads) const {
    constexpr int kTries = 8;  // each of them meets another collection of garbage
    for (int i = 1;; ++i) {
      const auto chunks = current_chunks();
      try {
        restore(
            *chunks, tasks, database_->decode_scratch, threads,
            [this](const Task& task, const std::exception_ptr& error) { rethrow(task, error); });
        return;
      } catch (const PackMissing&) {
        if (i == kTries || !reload(chunks)) throw;
      }
    }
  }

 private:
  std::shared_ptr<ChunkReader> new_chunks() const {
    return std::make_shared<ChunkReader>(database_->paths, database_->files);
  }

  std::shared_ptr<ChunkReader> current_chunks() const {
    const std::lock_guard lock(mutex_);
    return chunks_;
  }

  /// Looks up again where the chunks lie; false if that is still the same.
  bool reload(const std::shared_ptr<ChunkReader>& old) const {
    auto chunks = new_chunks();
    {
      const Lock lock(database_->mutex);
      try {
        const ReadTransaction transaction(database_->connection);
        chunks->load_rows(database_->connection, ids_);
      } catch (const Damaged&) {
        return false;  // collected: the checkpoint itself was removed meanwhile
      }
    }
    const bool moved = !chunks->lies_like(*old);
    const std::lock_guard lock(mutex_);
    chunks_ = std::move(chunks);
    return moved;
  }

  [[noreturn]] void rethrow(const Task& task, const std::exception_ptr& error) const {
    const std::string& name = items_[task.item].name;
    const bool internal = name.starts_with('@') || name.find("/.") != name.npos;
    const std::string item = internal ? std::string() : fmt::format("'{}' of ", name);
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
  std::string what_;  ///< "checkpoint 12"
  mutable std::mutex mutex_;
  mutable std::shared_ptr<ChunkReader> chunks_;  ///< replaced when a pack was compacted
  std::vector<Item> items_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::size_t> first_;  ///< index in ids_ of each item's first chunk
  std::vector<Digest> digests_;
};

}  // namespace

struct CheckpointReader::Impl {
  Impl(std::shared_ptr<Database> database, std::string what)
      : manifest(std::move(database), std::move(what)) {}

  CheckpointInfo info;
  Manifest manifest;
  std::unordered_map<std::string_view, std::size_t> by_name;
};

CheckpointReader::CheckpointReader(const Store& store, std::int64_t checkpoint) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  Connection& connection = database.connection;
  ReadTransaction transaction(connection);
  // One that was deleted after somebody looked it up is still there until it is collected.
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
  for (std::size_t i = 0; i < items().size(); ++i) impl_->by_name.emplace(items()[i].name, i);
}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const CheckpointInfo& CheckpointReader::info() const { return impl_->info; }
const std::vector<Item>& CheckpointReader::items() const { return impl_->manifest.items(); }

std::optional<std::size_t> CheckpointReader::find(std::string_view name) const {
  const auto found = impl_->by_name.find(name);
  if (found == impl_->by_name.end()) return std::nullopt;
  return found->second;
}

Digest CheckpointReader::digest(std::size_t item) const { return impl_->manifest.digest(item); }

void CheckpointReader::read(std::span<const Destination> destinations, unsigned threads) const {
  std::vector<Task> tasks;
  for (const Destination& destination : destinations) {
    impl_->manifest.add_tasks(destination, tasks);
  }
  impl_->manifest.read(tasks, threads);
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
  std::vector<Task> tasks;
  manifest.add_tasks({0, object.content}, tasks);
  manifest.read(tasks, 0);
  return object;
}

}  // namespace flor::store
