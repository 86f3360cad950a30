// The store: the catalog, journals and packs of one FLOR_HOME. All experiments, and all processes
// that record, replay or read, share it.
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

class Filesystem;  // private: the interface to the file system, which tests replace

/// Returns the absolute path of the store: `flag` if not empty, else $FLOR_HOME, else ~/.flor.
std::filesystem::path home_directory(std::string_view flag = {});

enum class OpenMode {
  create,     ///< create the directory and the catalog if they do not exist
  existing,   ///< throw NotFound if there is no store
  freeing,    ///< like `existing`; on a full disk deletes the reserve file, for commands that free
              ///< space
  read_only,  ///< like `existing`, but writes nothing, not even to recover
};

/// The lock of a run that is being recorded. The recording process holds it as long as it lives,
/// and the kernel releases it when the process dies. Other processes distinguish `running` from
/// `interrupted` runs by it.
class RunLock {
 public:
  RunLock(RunLock&&) noexcept;
  RunLock& operator=(RunLock&&) noexcept;
  ~RunLock();
  /// Closes the lock that a child of fork() has inherited, so that it does not outlive the process
  /// that took it. Call it in the child. Async-signal-safe.
  void forget_in_child() noexcept;

 private:
  friend class Store;
  RunLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;  ///< deleted when the lock is released
};

/// Protects the content of a run's checkpoints while a process reads them: content of checkpoints
/// deleted meanwhile is not collected as long as any process holds a use. Many processes may hold
/// one at once. Released by the destructor, or when the process dies.
class RunUse {
 public:
  RunUse(RunUse&&) noexcept;
  RunUse& operator=(RunUse&&) noexcept;
  ~RunUse();

 private:
  friend class Store;
  RunUse(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;  ///< deleted by the last holder
};

class Store {
 public:
  /// Opens the store in `home`. Throws NotFound if there is none, UsageError if `home` is not a
  /// directory, Damaged if the catalog is unreadable, and Error if the store cannot be created or
  /// written, space is lacking, or a newer Flor wrote it. Each message says how to fix it.
  static std::shared_ptr<Store> open(const std::filesystem::path& home, OpenMode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::filesystem::path& home() const;
  Catalog& catalog();
  const Catalog& catalog() const;

  /// Sets how long a call of the catalog waits for other processes before it throws Busy. Initially
  /// 30 s.
  void set_patience(std::chrono::milliseconds patience);
  /// Returns why files in the home cannot be locked, as "No locks available"; empty if they can.
  std::string why_locks_fail() const;
  /// True if another process has rebuilt the index since the store was opened. What this object
  /// says of runs stays right, but later changes may not appear: open the store again.
  bool is_outdated() const;

  /// Returns the path of the file through which ranks of a group communicate while they record. It
  /// is no part of the record.
  std::filesystem::path rank_board(std::string_view key) const;

  /// Takes the lock of a run. Returns nullopt if another process holds it.
  std::optional<RunLock> lock_run(std::string_view key);

  /// True while a process holds the run's lock.
  bool is_being_recorded(std::string_view key) const;

  /// Protects the run's checkpoints (see RunUse). Call it before looking them up. Returns nullopt
  /// if the store was opened for reading only.
  std::optional<RunUse> use_run(std::string_view key) const;

  struct Impl;  // private
  Impl& impl() const { return *impl_; }

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One problem that `check` found.
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
    unreadable  ///< a recorded fact of a run cannot be read, and repair cannot restore it
  };
  Kind kind = Kind::catalog;
  std::string what;  ///< one line: the damage, where it is, and the checkpoints lost by it
  std::vector<std::string> lost = {};  ///< the lost checkpoints, without the limit that `what` has
};

struct CheckReport {
  std::vector<Finding> findings;     ///< damage; empty if the store is sound
  std::vector<std::string> remarks;  ///< harmless: incomplete ends of files, bytes that nothing
                                     ///< refers to
  std::int64_t packs = 0, chunks = 0, checkpoints = 0, runs = 0;
  std::uint64_t bytes_read = 0;
};

/// Reads the journals and verifies that catalog and queue are intact, that the chunks of all
/// checkpoints exist, and, with `read_data`, that each chunk decodes to the content it is named
/// after. Safe while other processes record.
CheckReport check(const Store& store, bool read_data);

}  // namespace flor::store
