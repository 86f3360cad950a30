// The content of a checkpoint, and how one is written and read.
#pragma once

#include <flor/store/digest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class BackgroundPriority;
class Store;

/// How the bytes of an item are to be read; chooses the codec. The values are on disk: append only.
enum class ElementType : std::uint8_t {
  bytes = 0,  ///< no structure known
  boolean = 1,
  u8 = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  f16 = 7,
  bf16 = 8,
  f32 = 9,
  f64 = 10,
  c64 = 11,   ///< complex of two f32
  c128 = 12,  ///< complex of two f64
};

std::size_t element_size(ElementType type);
std::string_view to_string(ElementType type);  ///< "f32"

/// One named piece of state: a tensor, or a run of bytes.
struct Item {
  std::string name;  ///< slot and path, e.g. "model/fc1.weight"
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;  ///< shape, outermost first; empty for a scalar and for `bytes`
  std::uint64_t bytes = 0;          ///< length of the content

  bool operator==(const Item&) const = default;
};

/// An immutable piece of content, shared between the snapshots in which it did not change. If two
/// snapshots hold the same pointer, the content is taken to be the same.
using Content = std::shared_ptr<const std::byte>;

/// Whether the item is Flor's own: it describes the state ("@slots", "@rng/cpu") or an object
/// ("model/.layout"), and is no part of what the program computed.
bool is_internal(std::string_view item);

struct SnapshotItem {
  Item item;
  Content content;  ///< item.bytes long; may be null if that is 0
  /// Not null for a slab: the items that lie one after another in `content`, stored as if they were
  /// one. `item` then has the name of the first, all of their bytes, and their type if it is the
  /// same. If two snapshots hold the same pointer, the items are taken to be the same.
  std::shared_ptr<const std::vector<Item>> parts = nullptr;
};

/// A slab of these items, of which there is at least one.
SnapshotItem make_slab(std::shared_ptr<const std::vector<Item>> parts, Content content);

/// The whole registered state at one moment.
struct Snapshot {
  std::vector<SnapshotItem> items;
  std::uint64_t raw_bytes() const;
};

/// The values are on disk: append only.
enum class CheckpointKind : std::uint8_t {
  boundary = 0,  ///< before a main-loop iteration, or after the last one
  loop_end = 1,  ///< after a nested loop
  step = 2,      ///< inside a nested loop, between two of its iterations; see ResumePoint
  saved = 3,     ///< where the program asked for it; see SavedCheckpoint
};

std::string_view to_string(CheckpointKind kind);  ///< "loop end"

/// Where in a run a checkpoint was taken.
struct CheckpointKey {
  CheckpointKind kind = CheckpointKind::boundary;
  /// Ordinal of the main loop in the program, 0-based.
  std::int64_t main_loop = 0;
  /// boundary: number of iterations of this main loop that lie before it (0: at its entry).
  /// loop_end, step: index of the iteration that holds the nested loop. saved: index of the
  /// iteration, or -1 before the main loop. All count within the main loop.
  std::int64_t iteration = 0;
  /// loop_end: the nested loop, e.g. "train", or "train~2" for its second execution in the
  /// iteration. step: the same with the number of its complete iterations, e.g. "train@120". Empty
  /// for a boundary. saved: its name.
  std::string loop;

  bool operator==(const CheckpointKey&) const = default;
};

/// A row of the catalog that describes a stored checkpoint.
struct CheckpointInfo {
  std::int64_t id = 0;
  CheckpointKey key;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< that it added to the packs
  std::int64_t created_us = 0;     ///< Unix time, microseconds
  Digest digest;                   ///< of all names, shapes and contents
};

/// The time that a writer spends on making content short. Content can be read in the same way
/// whatever the effort was, and may be the base of later differences.
enum class Effort : std::uint8_t {
  full,  ///< the form that a sample promises to be the shortest, differences included
  fast,  ///< no differences; codes only bytes that are certain to be uneven (float exponents)
  raw,   ///< as it is
};

struct WriterOptions {
  /// Threads that hash and encode, the calling one included: 1 starts none. 0: half of the cores
  /// that the process may use, at least 1 and at most 4. More than 64 are taken for 64. Those that
  /// are needed are started by the first write that has work for more than one.
  unsigned threads = 0;
  /// The group that the started threads belong to, so that they run at low priority and can be
  /// hurried. Null: they run at the priority that the thread had which wrote first.
  std::shared_ptr<BackgroundPriority> priority;
  Effort effort = Effort::full;
};

/// Stores the checkpoints of one run in order. Owns a pack file of its own, so that processes that
/// record at the same time never wait for each other's data. Not thread-safe, except for
/// `set_effort` and `effort`.
///
/// It keeps the last snapshot: content that a new one shares with it (same pointer) is neither
/// hashed nor written, and the others may be stored as a difference to it. Beside that it holds at
/// most `buffer_bytes_max` bytes, however large the snapshots are, and for each chunk of the
/// snapshot (a MiB of an item, or the rest of it) its digest and place, less than 1 KiB in all.
///
/// The bytes stored depend on the snapshots and the effort alone, not on the number of threads.
/// After fork() the child may destroy its copy of a writer, and do nothing else with it.
class CheckpointWriter {
 public:
  /// `run` is the rowid of the run in the catalog.
  CheckpointWriter(Store& store, std::int64_t run, WriterOptions options = {});
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Encodes and writes new content, syncs it, and commits the checkpoint to the catalog. When this
  /// returns the checkpoint is durable; when it throws the store is as it was before (bytes already
  /// appended are garbage that nothing refers to) and the writer can be used again.
  /// A checkpoint with the same key in the same run is replaced.
  CheckpointInfo write(const CheckpointKey& key, const Snapshot& snapshot);

  /// Announces chunks (1 MiB of an item, or the rest of it) that another process has just stored
  /// for a checkpoint that stays until this writer has stored its next one, which may refer to
  /// them. Of use for a run that is written to its journal alone, where the writer cannot ask the
  /// index.
  void also_stored(std::span<const Digest> chunks);

  /// Stores a single item outside any checkpoint (a logged tensor) and returns a reference to it,
  /// for Catalog's values. Durable when it returns.
  std::string write_object(const Item& item, std::span<const std::byte> content);

  /// Holds for every chunk (1 MiB) that is begun from now on, also in a write that is in progress.
  /// Thread-safe.
  void set_effort(Effort effort) noexcept;
  Effort effort() const noexcept;  ///< thread-safe

  /// Bytes of memory that the writer has allocated for encoding and writing: the buffers of its
  /// threads, the encoded chunks that wait for their turn to be written (at most two a thread), and
  /// the end of the pack. It is kept from write to write and never shrinks.
  std::uint64_t buffer_bytes() const;
  /// The most that `buffer_bytes` can be with so many threads (not 0).
  static std::uint64_t buffer_bytes_max(unsigned threads);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A place that `CheckpointReader::read` fills.
struct Destination {
  std::size_t item = 0;          ///< index into items()
  std::span<std::byte> content;  ///< exactly items()[item].bytes long
};

/// Reads one stored checkpoint. Every byte that it returns was compared with its digest; on a
/// mismatch it throws Damaged and names the item, the pack and the offset. Thread-safe for const
/// calls.
class CheckpointReader {
 public:
  CheckpointReader(const Store& store, std::int64_t checkpoint);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const CheckpointInfo& info() const;
  const std::vector<Item>& items() const;
  /// Index of the item of that name, if there is one.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Digest of the item's content, from the catalog: nothing is read or decoded.
  Digest digest(std::size_t item) const;

  /// Decodes the items straight into their destinations, with `threads` threads (0: as many as
  /// there are cores, at most 8). On an exception the destinations hold unspecified bytes.
  void read(std::span<const Destination> destinations, unsigned threads = 0) const;
  std::vector<std::byte> read(std::size_t item) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The object that `CheckpointWriter::write_object` stored under this reference.
struct Object {
  Item item;
  std::vector<std::byte> content;
};
Object read_object(const Store& store, std::string_view reference);

}  // namespace flor::store
