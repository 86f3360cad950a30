// Implements CheckpointWriter: finds the new parts of a snapshot, stores them, and commits the
// checkpoint.
#include "database/database.h"
#include "database/manifest.h"
#include "database/store_impl.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/journal_writing.h"
#include "index/writing.h"
#include "pack/chunk_reader.h"
#include "pack/chunk_writer.h"

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// A chunk of an item in the last stored snapshot.
struct Slot {
  Digest digest;
  StoredChunk chunk;
  bool is_stored = false;
};

struct StoredItem {
  Content content;
  std::uint64_t bytes = 0;
  std::vector<Slot> slots;
};

using StoredItems = std::unordered_map<std::string, StoredItem>;

/// The work for one snapshot: a slot for each chunk, and the list of chunks that the store lacks.
/// It is done in steps, so that chunks are encoded and written while they are still in the
/// processor's caches from hashing.
class Plan {
 public:
  /// `last` must outlive the plan.
  Plan(const StoredItems& last, const Snapshot& snapshot) {
    items_.reserve(snapshot.items.size());
    for (const SnapshotItem& item : snapshot.items) {
      const auto previous = last.find(item.item.name);
      const bool alike = previous != last.end() && previous->second.bytes == item.item.bytes;
      add(item, alike ? &previous->second : nullptr);
    }
  }

  /// True if parts of the snapshot were not examined yet.
  bool has_more() const { return examined_ < pieces_.size(); }

  /// Compares and hashes about `bytes` more bytes of the snapshot.
  void examine(std::size_t bytes, ChunkEncoder& encoder) {
    const std::size_t begin = examined_;
    while (has_more() && (examined_ == begin || bytes >= contents_[examined_].size())) {
      bytes -= std::min(bytes, contents_[examined_++].size());
    }
    std::vector<Digest> digests(examined_ - begin);
    encoder.hash(std::span(contents_).subspan(begin, digests.size()), digests);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      compare(pieces_[begin + i], contents_[begin + i], digests[i]);
    }
  }

  /// Looks up in the index the chunks examined since the last call, and returns those that the
  /// store lacks, in the order of the snapshot, so that reading the checkpoint is sequential.
  ///
  /// For content recorded here, a record from elsewhere does not count as stored, because an
  /// attacker may have chosen its bytes to match the digest. It is replaced by a whole chunk (depth
  /// 0), so that chunks that build on its row are still deeper than it.
  std::span<const NewChunk> find_in(Database& database, PackOrigin origin) {
    const std::size_t before = new_chunks_.size();
    for (NewChunk& wanted : wanted_) {
      const auto found = find_chunk(database.connection, wanted.digest);
      if (found && (!found->foreign || origin == PackOrigin::elsewhere)) {
        found_.emplace(wanted.digest, *found);
        continue;
      }
      wanted.replaces = found.has_value();
      if (wanted.replaces) wanted.base.reset();
      new_chunks_.push_back(std::move(wanted));
    }
    wanted_.clear();
    return std::span(new_chunks_).subspan(before);
  }

  /// Finds new chunks without asking the index: a chunk that is neither in the pack being written
  /// nor among `others` counts as new. It builds only on chunks that this writer has written.
  std::span<const NewChunk> find_among(ChunkWriter& chunks,
                                       const std::unordered_set<Digest>& others) {
    const std::size_t before = new_chunks_.size();
    for (NewChunk& wanted : wanted_) {
      if (const auto present = chunks.find_present(wanted.digest)) {
        found_.emplace(wanted.digest, *present);
      } else if (others.contains(wanted.digest)) {
        found_.emplace(wanted.digest, StoredChunk{});
      } else {
        if (wanted.base && !wanted.base->chunk.own) wanted.base.reset();
        new_chunks_.push_back(std::move(wanted));
      }
    }
    wanted_.clear();
    return std::span(new_chunks_).subspan(before);
  }

  /// Returns all chunks examined since the last call, as if the store had none of them.
  std::span<const NewChunk> take_all() {
    const std::size_t before = new_chunks_.size();
    std::ranges::move(wanted_, std::back_inserter(new_chunks_));
    wanted_.clear();
    return std::span(new_chunks_).subspan(before);
  }

  std::span<const NewChunk> new_chunks() const { return new_chunks_; }

  /// Returns the ids of chunks that were remembered or found; they may be gone by the time of the
  /// commit.
  std::vector<std::uint32_t> older_ids() const {
    std::vector<std::uint32_t> older;
    for (const StoredItem& item : items_) {
      for (const Slot& slot : item.slots) {
        if (slot.is_stored) older.push_back(slot.chunk.id);
      }
    }
    for (const auto& [digest, chunk] : found_) older.push_back(chunk.id);
    return older;
  }

  /// Assigns its chunk to every slot, after the new chunks were stored.
  void resolve(std::span<const StoredChunk> stored) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      found_.insert_or_assign(new_chunks_[i].digest, stored[i]);
    }
    for (StoredItem& item : items_) {
      for (Slot& slot : item.slots) {
        if (!slot.is_stored) slot = {slot.digest, found_.at(slot.digest), true};
      }
    }
  }

  const std::vector<StoredItem>& items() const { return items_; }

  std::vector<std::uint32_t> ids() const {
    std::vector<std::uint32_t> ids;
    for (const StoredItem& item : items_) {
      for (const Slot& slot : item.slots) ids.push_back(slot.chunk.id);
    }
    return ids;
  }

  std::vector<Digest> chunk_digests() const {
    std::vector<Digest> digests;
    for (const StoredItem& item : items_) {
      for (const Slot& slot : item.slots) digests.push_back(slot.digest);
    }
    return digests;
  }

  /// Returns the digests of the items and slabs.
  std::vector<Digest> digests() const {
    std::vector<Digest> digests;
    std::vector<Digest> chunks;
    for (const StoredItem& item : items_) {
      chunks.clear();
      for (const Slot& slot : item.slots) chunks.push_back(slot.digest);
      digests.push_back(item_digest(chunks));
    }
    return digests;
  }

 private:
  /// A chunk that must be hashed.
  struct Piece {
    std::size_t item = 0;
    std::size_t index = 0;  ///< index of the chunk in the item
    ElementType type = ElementType::bytes;
    const StoredItem* previous = nullptr;
  };

  static std::span<const std::byte> chunk_of(const StoredItem& item, std::size_t index) {
    return {item.content.get() + index * kChunkBytes, chunk_bytes(item.bytes, index)};
  }

  void add(const SnapshotItem& item, const StoredItem* previous) {
    StoredItem& stored = items_.emplace_back();
    stored.content = item.content;
    stored.bytes = item.item.bytes;
    const std::size_t count = chunk_count(stored.bytes);
    if (previous && previous->content == item.content) {
      stored.slots = previous->slots;
      return;
    }
    stored.slots.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      pieces_.push_back({items_.size() - 1, i, item.item.type, previous});
      contents_.push_back(chunk_of(stored, i));
    }
  }

  void compare(const Piece& piece, std::span<const std::byte> raw, const Digest& digest) {
    Slot& slot = items_[piece.item].slots[piece.index];
    slot.digest = digest;
    const Slot* last = piece.previous ? &piece.previous->slots[piece.index] : nullptr;
    if (last && last->digest == digest) {
      slot = *last;
      return;
    }
    if (!seen_.insert(digest).second) return;
    NewChunk& wanted = wanted_.emplace_back();
    wanted.digest = digest;
    wanted.raw = raw;
    wanted.type = piece.type;
    if (last) {
      wanted.base =
          NewChunk::Base{last->chunk, last->digest, chunk_of(*piece.previous, piece.index)};
    }
  }

  std::vector<StoredItem> items_;
  std::vector<NewChunk> wanted_;  ///< hashed, but not looked up yet
  std::vector<NewChunk> new_chunks_;
  std::unordered_set<Digest> seen_;
  std::unordered_map<Digest, StoredChunk> found_;
  // Chunks that must be hashed, and how many of them were.
  std::vector<Piece> pieces_;
  std::vector<std::span<const std::byte>> contents_;
  std::size_t examined_ = 0;
};

/// Returns the id of the layout's row. Corrects a damaged row, because content written now must not
/// depend on it.
std::int64_t intern_layout(Connection& connection, std::span<const std::byte> layout) {
  const Digest digest = digest_of(layout);
  connection(
      "INSERT INTO layout (digest, items) VALUES (?1, ?2) "
      "ON CONFLICT (digest) DO UPDATE SET items = excluded.items WHERE items <> excluded.items",
      digest, Bytes(layout))
      ->run();
  const auto row = connection("SELECT id FROM layout WHERE digest = ?1", digest);
  row->step();
  return row->integer(0);
}

/// Throws ChunkVanished if the base is gone, or an archive has given it another depth.
void require_base(Connection& connection, const StoredChunk& base) {
  const auto row = connection("SELECT depth FROM chunk WHERE id = ?1", std::int64_t{base.id});
  if (!row->step() || row->integer(0) != base.depth) throw ChunkVanished();
}

void require_chunk(Connection& connection, std::uint32_t id) {
  if (!connection("SELECT 1 FROM chunk WHERE id = ?1", std::int64_t{id})->step()) {
    throw ChunkVanished();
  }
}

/// Encodes the layout of snapshots, and caches it, because it is the same most of the time.
class SnapshotLayout {
 public:
  /// Throws UsageError if two items have the same name.
  const std::vector<std::byte>& operator()(const Snapshot& snapshot) {
    if (encoded_.empty() || !std::ranges::equal(snapshot.items, items_, is_same, {}, {})) {
      check_names(snapshot);
      encoded_ = encode_layout(snapshot);
      items_.clear();
      for (const SnapshotItem& item : snapshot.items) {
        items_.push_back({item.item, nullptr, item.parts});
      }
    }
    return encoded_;
  }

 private:
  static bool is_same(const SnapshotItem& one, const SnapshotItem& other) {
    return one.parts == other.parts && one.item == other.item;
  }
  static void check_names(const Snapshot& snapshot) {
    std::unordered_set<std::string_view> names;
    const auto check = [&](const Item& item) {
      if (names.insert(item.name).second) return;
      throw Error(fmt::format("two items of a snapshot have the name '{}'", item.name));
    };
    for (const SnapshotItem& item : snapshot.items) {
      if (!item.parts) check(item.item);
      if (item.parts) std::ranges::for_each(*item.parts, check);
    }
  }

  std::vector<SnapshotItem> items_;  ///< items of the cached layout, without content
  std::vector<std::byte> encoded_;
};

void require_content(const Snapshot& snapshot) {
  for (const SnapshotItem& item : snapshot.items) {
    if (!item.content && item.item.bytes > 0) {
      throw Error(fmt::format("the item '{}' of a snapshot has no content", item.item.name));
    }
  }
}

/// Content of imported files counts as from elsewhere, because another party chose the bytes.
PackOrigin origin_of(Database& database, std::int64_t run) {
  const Lock lock(database.mutex);
  const auto row = database.connection("SELECT 1 FROM origin WHERE run = ?1 AND kind = ?2", run,
                                       static_cast<std::int64_t>(RunOrigin::Kind::imported));
  return row->step() ? PackOrigin::elsewhere : PackOrigin::here;
}

/// The content is not the expected one.
struct OtherContent {};

/// The next value of CheckpointEvent::stream; 0 means no stream.
std::atomic<std::int64_t> next_stream = 1;

}  // namespace

struct CheckpointWriter::Impl {
  Impl(Store& opened, std::int64_t run_id, const WriterOptions& options)
      : database(opened.impl().database),
        run(run_id),
        origin(origin_of(*database, run_id)),
        chunks(database->paths, database->files, options, origin) {
    if (opened.impl().mode == OpenMode::read_only) {
      throw Error(fmt::format("the store {} was opened for reading only", opened.home().string()));
    }
  }

  /// Stores the chunks of `snapshot`, then calls `insert_rows(plan, layout)` in the transaction
  /// that enters the checkpoint.
  template <typename InsertRows>
  Plan store(const StoredItems& previous, const Snapshot& snapshot, const InsertRows& insert_rows) {
    require_content(snapshot);
    bool committing = false;
    try {
      // If the index was replaced, chunks that only the old one lists may be collected, so all
      // chunks are stored again.
      const bool alone = database->is_replaced();
      const StoredItems none;
      Plan plan(alone ? none : previous, snapshot);
      while (plan.has_more()) {
        plan.examine(chunks.encoder().step_bytes(), chunks.encoder());
        chunks.append(alone ? plan.take_all() : find_new(plan));
      }
      chunks.sync();

      Writing writing(*database);
      Connection& connection = writing.connection();
      // While `writing` exists nothing can be removed, so this detects everything that another
      // machine has removed before.
      if (!alone && database->paths.shared && database->is_replaced()) throw ChunkVanished();
      for (const std::uint32_t id : plan.older_ids()) require_chunk(connection, id);
      for (const NewChunk& chunk : plan.new_chunks()) {
        if (chunk.base) require_base(connection, chunk.base->chunk);
      }
      const std::vector<StoredChunk> stored = chunks.insert(connection);
      plan.resolve(stored);
      insert_rows(writing, plan);
      writing.commit(committing);
      chunks.committed();
      return plan;
    } catch (...) {
      chunks.roll_back(committing);
      throw;
    }
  }

  /// Stores the chunks of a run that is written to its journal alone, and then its event. The
  /// chunks that the commit refers to without storing them lie in the pack being written, or are
  /// listed by the last checkpoint of this writer or of another rank. Garbage collection keeps all
  /// of these (HeldContent).
  template <typename Note>
  Plan store_by_journal(const StoredItems& previous, const Snapshot& snapshot, const Note& note) {
    require_content(snapshot);
    bool uncertain = false;
    try {
      Plan plan(previous, snapshot);
      while (plan.has_more()) {
        plan.examine(chunks.encoder().step_bytes(), chunks.encoder());
        chunks.append(plan.find_among(chunks, others));
      }
      chunks.sync();
      plan.resolve(chunks.appended());
      JournalWriting writing(*database, run);
      note(writing, plan);
      writing.commit(uncertain);
      chunks.committed();
      return plan;
    } catch (...) {
      if (uncertain) {
        chunks.abandon();
      } else {
        chunks.roll_back(false);
      }
      throw;
    }
  }

  bool is_journal_enough() {
    const Lock lock(database->mutex);
    return says_in_journal(*database, run);
  }

  std::span<const NewChunk> find_new(Plan& plan) {
    const Lock lock(database->mutex);
    return plan.find_in(*database, origin);
  }

  CheckpointInfo write(const CheckpointKey& key, const Snapshot& snapshot,
                       const std::optional<Digest>& expected);
  CheckpointInfo write_retrying(const CheckpointKey& key, const Snapshot& snapshot,
                                const std::optional<Digest>& expected);
  CheckpointInfo info_of(const CheckpointKey& key, const Snapshot& snapshot,
                         std::span<const std::byte> layout, const Plan& plan) const;
  void insert_checkpoint(Writing& writing, CheckpointInfo& info, std::span<const std::byte> layout,
                         const Plan& plan);
  CheckpointEvent event_of(const CheckpointInfo& info, std::span<const std::byte> layout,
                           const Plan& plan) const;
  void add_to_run(Connection& connection, std::int64_t checkpoints, std::int64_t raw_bytes);
  std::string write_object(const Snapshot& snapshot);

  std::shared_ptr<Database> database;
  std::int64_t run;
  PackOrigin origin;
  ChunkWriter chunks;
  StoredItems last;  ///< the last snapshot as it was stored
  SnapshotLayout layout_of;
  std::int64_t stream = next_stream++;
  /// True once the index was asked which chunks of the first checkpoint are stored already.
  bool has_asked = false;
  std::unordered_set<Digest> others;  ///< chunks that another rank has stored (also_stored)
};

CheckpointInfo CheckpointWriter::Impl::write(const CheckpointKey& key, const Snapshot& snapshot,
                                             const std::optional<Digest>& expected) {
  CheckpointInfo info;
  const std::vector<std::byte>& layout = layout_of(snapshot);
  const auto describe = [&](const Plan& stored) {
    info = info_of(key, snapshot, layout, stored);
    if (expected && info.digest != *expected) throw OtherContent();
  };
  const auto by_journal = [&](JournalWriting& writing, const Plan& stored) {
    describe(stored);
    CheckpointEvent event = event_of(info, layout, stored);
    if (!writing.knows_layout(event.layout)) event.items.assign(layout.begin(), layout.end());
    writing.note(event);
  };
  const auto by_index = [&](Writing& writing, const Plan& stored) {
    describe(stored);
    insert_checkpoint(writing, info, layout, stored);
  };
  const auto store_it = [&] {
    const bool is_enough = is_journal_enough();
    if (is_enough && has_asked) return store_by_journal(last, snapshot, by_journal);
    try {
      return store(last, snapshot, by_index);
    } catch (const Busy&) {
      if (!is_enough) throw;
      return store_by_journal(last, snapshot, by_journal);  // stores existing chunks a second time
    }
  };
  const Plan plan = store_it();
  has_asked = true;
  others.clear();
  StoredItems now;
  now.reserve(snapshot.items.size());
  for (std::size_t i = 0; i < snapshot.items.size(); ++i) {
    now.emplace(snapshot.items[i].item.name, plan.items()[i]);
  }
  last = std::move(now);
  ring_checkpoint(*database);
  return info;
}

CheckpointInfo CheckpointWriter::Impl::info_of(const CheckpointKey& key, const Snapshot& snapshot,
                                               std::span<const std::byte> layout,
                                               const Plan& plan) const {
  CheckpointInfo info;
  info.key = key;
  info.raw_bytes = snapshot.raw_bytes();
  info.stored_bytes = chunks.appended_bytes();
  info.created_us = now_us();
  info.digest = manifest_digest(layout, plan.digests());
  return info;
}

CheckpointEvent CheckpointWriter::Impl::event_of(const CheckpointInfo& info,
                                                 std::span<const std::byte> layout,
                                                 const Plan& plan) const {
  return {.info = info,
          .layout = digest_of(layout),
          .items = {},
          .chunks = plan.chunk_digests(),
          .packs = chunks.marks(),
          .foreign = origin == PackOrigin::elsewhere,
          .stream = says_in_journal(*database, run) ? stream : 0};
}

void CheckpointWriter::Impl::insert_checkpoint(Writing& writing, CheckpointInfo& info,
                                               std::span<const std::byte> layout,
                                               const Plan& plan) {
  Connection& connection = writing.connection();
  const CheckpointKey& key = info.key;
  const std::vector<std::byte> ids = encode_ids(plan.ids());
  const auto kind = static_cast<std::int64_t>(key.kind);
  std::int64_t replaced_bytes = 0;
  std::int64_t replaced = 0;
  const auto old = connection(
      "DELETE FROM checkpoint WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND iteration = ?4 "
      "AND loop = ?5 RETURNING raw_bytes",
      run, kind, key.main_loop, key.iteration, key.loop);
  while (old->step()) {
    replaced = 1;
    replaced_bytes = old->integer(0);
  }
  connection(
      "INSERT INTO checkpoint (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
      "stored_bytes, digest, layout, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      run, kind, key.main_loop, key.iteration, key.loop, info.created_us,
      static_cast<std::int64_t>(info.raw_bytes), static_cast<std::int64_t>(info.stored_bytes),
      info.digest, intern_layout(connection, layout), Bytes(ids))
      ->run();
  info.id = connection.last_id();
  note_return(connection, run, {key, info.digest});
  add_to_run(connection, 1 - replaced, static_cast<std::int64_t>(info.raw_bytes) - replaced_bytes);
  CheckpointEvent event = event_of(info, layout, plan);
  if (!writing.knows_layout(run, event.layout)) event.items.assign(layout.begin(), layout.end());
  writing.note(run, event);
}

void CheckpointWriter::Impl::add_to_run(Connection& connection, std::int64_t checkpoints,
                                        std::int64_t raw_bytes) {
  connection(
      "UPDATE run SET checkpoints = checkpoints + ?2, raw_bytes = raw_bytes + ?3, "
      "stored_bytes = stored_bytes + ?4 WHERE id = ?1",
      run, checkpoints, raw_bytes, static_cast<std::int64_t>(chunks.appended_bytes()))
      ->run();
}

std::string CheckpointWriter::Impl::write_object(const Snapshot& snapshot) {
  const std::vector<std::byte> layout = encode_layout(snapshot.items[0].item);
  const auto event_with = [&](const Plan& plan) {
    return ObjectEvent{.digest = manifest_digest(layout, plan.digests()),
                       .raw_bytes = snapshot.raw_bytes(),
                       .stored_bytes = chunks.appended_bytes(),
                       .items = layout,
                       .chunks = plan.chunk_digests(),
                       .packs = chunks.marks(),
                       .foreign = origin == PackOrigin::elsewhere};
  };
  Digest digest;
  if (is_journal_enough()) {
    store_by_journal({}, snapshot, [&](JournalWriting& writing, const Plan& plan) {
      const ObjectEvent event = event_with(plan);
      digest = event.digest;
      writing.note(event);
    });
    return digest.hex();
  }
  store({}, snapshot, [&](Writing& writing, const Plan& plan) {
    Connection& connection = writing.connection();
    const ObjectEvent event = event_with(plan);
    digest = event.digest;
    const std::vector<std::byte> ids = encode_ids(plan.ids());
    connection(
        "INSERT INTO object (digest, raw_bytes, layout, chunks) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (digest) DO UPDATE SET layout = excluded.layout, chunks = excluded.chunks "
        "WHERE layout <> excluded.layout OR chunks <> excluded.chunks",
        digest, static_cast<std::int64_t>(snapshot.raw_bytes()), intern_layout(connection, layout),
        Bytes(ids))
        ->run();
    add_to_run(connection, 0, 0);
    writing.note(run, event);
  });
  return digest.hex();
}

CheckpointWriter::CheckpointWriter(Store& store, std::int64_t run, WriterOptions options)
    : impl_(std::make_unique<Impl>(store, run, options)) {}
CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::set_effort(Effort effort) noexcept {
  impl_->chunks.encoder().set_effort(effort);
}
Effort CheckpointWriter::effort() const noexcept { return impl_->chunks.encoder().effort(); }

void CheckpointWriter::also_stored(std::span<const Digest> chunks) {
  impl_->others.clear();
  impl_->others.insert(chunks.begin(), chunks.end());
}

std::uint64_t CheckpointWriter::buffer_bytes() const { return impl_->chunks.memory(); }
std::uint64_t CheckpointWriter::buffer_bytes_max(unsigned threads) {
  return ChunkEncoder::memory_max(threads) + PackWriter::memory_max();
}

CheckpointInfo CheckpointWriter::write(const CheckpointKey& key, const Snapshot& snapshot) {
  return impl_->write_retrying(key, snapshot, {});
}

std::optional<CheckpointInfo> CheckpointWriter::write_again(const CheckpointName& name,
                                                            const Snapshot& snapshot) {
  try {
    return impl_->write_retrying(name.key, snapshot, name.digest);
  } catch (const OtherContent&) {
    return std::nullopt;
  }
}

CheckpointInfo CheckpointWriter::Impl::write_retrying(const CheckpointKey& key,
                                                      const Snapshot& snapshot,
                                                      const std::optional<Digest>& expected) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    try {
      return write(key, snapshot, expected);
    } catch (const ChunkVanished&) {
      last.clear();
    }
  }
  throw Busy("the store is being cleaned up again and again while a checkpoint is written: retry");
}

std::string CheckpointWriter::write_object(const Item& item, std::span<const std::byte> content) {
  if (content.size() != item.bytes) {
    throw Error(fmt::format("the object '{}' has {} bytes, but {} were given", item.name,
                            item.bytes, content.size()));
  }
  // A non-owning pointer, because the content outlives this call.
  Snapshot snapshot{{{item, Content(Content(), content.data())}}};
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    try {
      return impl_->write_object(snapshot);
    } catch (const ChunkVanished&) {
      continue;
    }
  }
  throw Busy("the store is being cleaned up again and again while an object is written: retry");
}

}  // namespace flor::store
