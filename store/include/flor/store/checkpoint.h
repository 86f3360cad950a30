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

/// The element type of an item's content. The codec is chosen by it. The numbers are on disk:
/// append only.
enum class ElementType : std::uint8_t {
  bytes = 0,  ///< no known structure
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
std::string_view to_string(ElementType type);  ///< as "f32"

/// The description of one named piece of state: a tensor, or a sequence of bytes.
struct Item {
  std::string name;  ///< name of the registered object and path in it, e.g. "model/fc1.weight"
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;  ///< shape, outermost first; empty for a scalar and for `bytes`
  std::uint64_t bytes = 0;          ///< length of the content in bytes

  bool operator==(const Item&) const = default;
};

/// Immutable content, shared by all snapshots in which it is unchanged. Equal pointers are taken to
/// mean equal content.
using Content = std::shared_ptr<const std::byte>;

/// True if the item was added by Flor to describe the state ("@slots", "@rng/cpu") or an object
/// ("model/.layout"). Such an item is not a result of the program.
bool is_internal(std::string_view item);

struct SnapshotItem {
  Item item;
  Content content;  ///< `item.bytes` bytes; may be null if that is 0
  /// Not null if this is a slab: several small items that lie one after another in `content` and
  /// are stored like one item. `item` then has the name of the first part, the total number of
  /// bytes, and the common type of all parts (otherwise `bytes`). Equal pointers are taken to mean
  /// equal parts.
  std::shared_ptr<const std::vector<Item>> parts = nullptr;
};

/// Makes a slab of `parts`, which must not be empty.
SnapshotItem make_slab(std::shared_ptr<const std::vector<Item>> parts, Content content);

/// The whole registered state at one moment.
struct Snapshot {
  std::vector<SnapshotItem> items;
  std::uint64_t raw_bytes() const;
};

/// Where checkpoints are taken. The numbers are on disk: append only.
enum class CheckpointKind : std::uint8_t {
  boundary = 0,  ///< before a main-loop iteration, or after the last one
  loop_end = 1,  ///< after a nested loop has ended
  step = 2,      ///< inside a nested loop, between two of its iterations (see ResumePoint)
  saved = 3,     ///< where the program requested one (see SavedCheckpoint)
};

std::string_view to_string(CheckpointKind kind);  ///< as "loop end"

/// Identifies a checkpoint within its run by the place where it was taken.
struct CheckpointKey {
  CheckpointKind kind = CheckpointKind::boundary;
  /// Number of the main loop in the program, 0-based.
  std::int64_t main_loop = 0;
  /// boundary: number of iterations of this main loop before it (0: at the entry of the loop).
  /// loop_end, step: index of the iteration that contains the nested loop. saved: index of the
  /// iteration, or -1 before the main loop. All indices count within the main loop.
  std::int64_t iteration = 0;
  /// loop_end: name of the nested loop, e.g. "train", or "train~2" for its second execution in the
  /// iteration. step: the same followed by the number of completed iterations, e.g. "train@120".
  /// boundary: empty. saved: the name given by the program.
  std::string loop;

  bool operator==(const CheckpointKey&) const = default;
};

/// Identifies a checkpoint by place and content, so that a later one at the same place is not
/// meant.
struct CheckpointName {
  CheckpointKey key;
  Digest digest;

  bool operator==(const CheckpointName&) const = default;
};

/// The catalog's description of a stored checkpoint.
struct CheckpointInfo {
  std::int64_t id = 0;
  CheckpointKey key;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< bytes that it added to the packs
  std::int64_t created_us = 0;     ///< Unix time, microseconds
  Digest digest;                   ///< of all names, shapes and contents
};

/// How much time a writer spends on compression. Content of any effort is read in the same way, and
/// can be the base of later differences.
enum class Effort : std::uint8_t {
  full,  ///< the form that is shortest on a sample, including differences to earlier content
  fast,  ///< no differences; entropy-codes only bytes that are known to be unevenly distributed
         ///< (float exponents)
  raw,   ///< uncompressed
};

struct WriterOptions {
  /// Number of threads that hash and encode, including the calling one; with 1 no thread is
  /// started. 0: half of the cores that the process may use, at least 1 and at most 4. More than 64
  /// count as 64. Threads are started by the first write that has work for more than one.
  unsigned threads = 0;
  /// Runs the started threads at low priority, which can be raised while they work. Null: they have
  /// the priority of the thread that wrote first.
  std::shared_ptr<BackgroundPriority> priority;
  Effort effort = Effort::full;
};

/// Stores the checkpoints of one run, in order. Each writer owns a pack file, so that processes
/// that record at the same time do not wait for each other. Only `set_effort` and `effort` are
/// thread-safe.
///
/// The writer keeps the last snapshot. Content that a new snapshot shares with it (equal pointer)
/// is neither hashed nor written; other content may be stored as a difference to it. Beyond that
/// snapshot a writer holds at most `buffer_bytes_max` bytes, independent of the size of snapshots,
/// and less than 1 KiB for each chunk of the snapshot (digest and position).
///
/// The stored bytes depend on the snapshots and the effort, not on the number of threads. After
/// fork() the child may destroy its copy of a writer, and must not use it otherwise.
class CheckpointWriter {
 public:
  /// `run` is the rowid of the run in the catalog.
  CheckpointWriter(Store& store, std::int64_t run, WriterOptions options = {});
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Encodes and writes new content, syncs it, and enters the checkpoint in the catalog. When this
  /// returns, the checkpoint is durable. When it throws, the store is unchanged apart from
  /// unreferenced bytes at the end of a pack, and the writer can be used again. A checkpoint with
  /// the same key in the same run is replaced.
  CheckpointInfo write(const CheckpointKey& key, const Snapshot& snapshot);

  /// As `write`, of a checkpoint that was deleted, or never stored, and was computed again. Returns
  /// nullopt, and writes nothing, if the snapshot is not the one that is named.
  std::optional<CheckpointInfo> write_again(const CheckpointName& name, const Snapshot& snapshot);

  /// Tells the writer that another process has just stored these chunks, so that it does not store
  /// them again. The checkpoint that they belong to must stay until this writer has stored its next
  /// one, which may refer to them. Needed for a run that is written to its journal alone: the index
  /// does not list its recent chunks.
  void also_stored(std::span<const Digest> chunks);

  /// Stores an item outside of checkpoints (a logged tensor) and returns its reference, which is
  /// logged as a Value of type tensor or image. Durable when it returns.
  std::string write_object(const Item& item, std::span<const std::byte> content);

  /// Sets the effort for every chunk that is begun after this call, also during a `write` on
  /// another thread. Thread-safe.
  void set_effort(Effort effort) noexcept;
  Effort effort() const noexcept;  ///< thread-safe

  /// Returns the bytes of memory allocated for encoding and writing: buffers of the threads,
  /// encoded chunks that wait to be written (at most two per thread), and the unwritten end of the
  /// pack. This memory is reused by later writes and never shrinks.
  std::uint64_t buffer_bytes() const;
  /// Returns the largest possible `buffer_bytes` with this number of threads, which must not be 0.
  static std::uint64_t buffer_bytes_max(unsigned threads);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Memory into which `CheckpointReader::read` puts one item.
struct Destination {
  std::size_t item = 0;          ///< index into items()
  std::span<std::byte> content;  ///< exactly items()[item].bytes long
};

/// Reads one stored checkpoint. All bytes that it returns have been compared with their digest; if
/// they differ, it throws Damaged with the item, the pack and the offset. Const calls are
/// thread-safe.
class CheckpointReader {
 public:
  CheckpointReader(const Store& store, std::int64_t checkpoint);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const CheckpointInfo& info() const;
  const std::vector<Item>& items() const;
  /// Returns the index of the item with this name, or nullopt.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Returns the digest of the item's content as the catalog has it, without reading the content.
  Digest digest(std::size_t item) const;

  /// Decodes items directly into the destinations, with `threads` threads (0: one per core, at most
  /// 8). If it throws, the destinations hold unspecified bytes.
  void read(std::span<const Destination> destinations, unsigned threads = 0) const;
  std::vector<std::byte> read(std::size_t item) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The object that `CheckpointWriter::write_object` stored, found by the reference it returned.
struct Object {
  Item item;
  std::vector<std::byte> content;
};
Object read_object(const Store& store, std::string_view reference);

}  // namespace flor::store
