// The store: a catalog and the packs it refers to, one per FLOR_HOME, shared by all experiments and
// by every process that records, replays or looks.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store {

class Filesystem;  // private: the seam for fault injection

/// Where the store lies: `flag` if not empty, else $FLOR_HOME, else ~/.flor. Absolute.
std::filesystem::path home_directory(std::string_view flag = {});

enum class OpenMode {
  create,     ///< make the directory and the catalog if they do not exist
  existing,   ///< throw NotFound if there is no store
  freeing,    ///< like `existing`; on a full disk releases the reserve: for commands that free
              ///< space
  read_only,  ///< like `existing`, and write nothing at all, not even to recover
};

/// Held by the process that records a run, for as long as it lives; the kernel releases it when the
/// process dies, however it dies. The other processes tell `running` from `interrupted` by it.
class RunLock {
 public:
  RunLock(RunLock&&) noexcept;
  RunLock& operator=(RunLock&&) noexcept;
  ~RunLock();
  /// For a child of fork(), which inherits the lock: closes it there, so that it does not outlast
  /// the process that took it. Async-signal-safe.
  void forget_in_child() noexcept;

 private:
  friend class Store;
  RunLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;  ///< removed when the lock is released
};

/// Held by a process that reads checkpoints of a run, which may be deleted meanwhile: their content
/// is not collected while any process holds a use. Released when the process dies, or by the
/// destructor. Many may hold one at once.
class RunUse {
 public:
  RunUse(RunUse&&) noexcept;
  RunUse& operator=(RunUse&&) noexcept;
  ~RunUse();

 private:
  friend class Store;
  RunUse(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;  ///< removed by the last holder
};

class Store {
 public:
  /// Opens the store in `home`. Throws Error (cannot create, read-only, no space), NotFound,
  /// Damaged (catalog unreadable), or Error for a store written by a newer Flor, each with the
  /// remedy.
  static std::shared_ptr<Store> open(const std::filesystem::path& home, OpenMode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::filesystem::path& home() const;
  Catalog& catalog();
  const Catalog& catalog() const;

  /// How long a call of the catalog waits for other processes before it throws Busy; 30 s at first.
  void set_patience(std::chrono::milliseconds patience);
  /// Why files in the home cannot be locked: "No locks available"; empty if they can.
  std::string why_locks_fail() const;

  /// A file through which the ranks of a group may talk while they record; nothing of the store.
  std::filesystem::path rank_board(std::string_view key) const;

  /// Takes the lock of a run; nothing if another process holds it.
  std::optional<RunLock> lock_run(std::string_view key);

  /// True while a process holds the run's lock.
  bool is_being_recorded(std::string_view key) const;

  /// Must be taken before the run's checkpoints are looked up. Nothing if the store was opened for
  /// reading only.
  std::optional<RunUse> use_run(std::string_view key) const;

  struct Impl;  // private
  Impl& impl() const { return *impl_; }

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One thing that `check` found wrong.
struct Finding {
  enum class Kind {
    catalog,
    queue,
    journal,
    missing_pack,
    damaged_chunk,
    missing_chunk,
    damaged_checkpoint,
    orphan,
    unreadable  ///< a run of which something recorded cannot be read: no repair brings it back
  };
  Kind kind = Kind::catalog;
  std::string what;  ///< one line: the damage, its place, and the checkpoints lost by it
  std::vector<std::string> lost = {};  ///< all of these
};

struct CheckReport {
  std::vector<Finding> findings;     ///< damage; empty if the store is sound
  std::vector<std::string> remarks;  ///< harmless: torn tails, bytes that nothing refers to
  std::int64_t packs = 0, chunks = 0, checkpoints = 0, runs = 0;
  std::uint64_t bytes_read = 0;
};

/// Reads the journals, verifies the integrity of the catalog and the queue, that every checkpoint's
/// chunks exist, and (with `read_data`) that every chunk decodes to the content it is named after.
/// Safe while others record.
CheckReport check(const Store& store, bool read_data);

}  // namespace flor::store
