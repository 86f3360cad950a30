// Intercepts at link time the system calls by which the program, SQLite and the C++ library change
// files. The calls can be recorded, to be played back up to a power loss (power_loss.h), and they
// can be made to fail. Linked only into the tests that need it (disk.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::testing {

/// A recorded change. Files are numbered in the order in which they appear, because a name may come
/// to mean another file.
struct DiskEvent {
  enum class Kind {
    create,          ///< `path` means the new, empty `file`
    write,           ///< `bytes` at `offset` of `file`
    resize,          ///< `file` has the length `offset`
    sync,            ///< the content of `file` is durable
    sync_directory,  ///< the names in the directory `path` are durable
    remove,          ///< `path` means nothing any more
    rename,          ///< `target` means what `path` meant
    make_directory,
    mark,  ///< `offset` is the number that the test passed to `mark`
  };
  Kind kind = Kind::mark;
  int file = -1;
  std::uint64_t offset = 0;
  std::string bytes;
  std::filesystem::path path, target;
};

/// The calls that concern files below one directory, made by any thread of the process. Only one
/// recording or one series of faults at a time.
class Disk {
 public:
  /// The calls that are counted, and fail, with a fault.
  enum class Calls {
    changes,
    reads,
    syncs,
    locks,   ///< by fcntl, used by SQLite; including those on shared memory (-shm)
    flocks,  ///< by flock, used for runs, packs and journals
  };

  /// Begins to record. Everything that is below `root` counts as durable. SQLite's shared memory
  /// (-shm) does not count as a file.
  static void record(const std::filesystem::path& root);
  /// Ends the recording and returns it.
  static std::vector<DiskEvent> stop();
  /// Records that the program has promised something, for example that data are durable.
  static void mark(std::uint64_t number);

  /// Makes the call with number `at` (from 1) below `root` fail with `error`; with `stays`, all
  /// later ones, too. A failing write writes its first half.
  static void fail(const std::filesystem::path& root, Calls calls, int at, int error, bool stays);
  /// Makes calls fail with EDQUOT that would let the files below `root`, including shared memory,
  /// have more than `bytes` in all.
  static void limit(const std::filesystem::path& root, std::uint64_t bytes);
  /// Makes reads and writes do half of what they are asked for. With `interrupted`, every other one
  /// of them, and of the calls that open or truncate a file, first fails with EINTR.
  static void hesitate(const std::filesystem::path& root, bool interrupted);
  /// Ends all faults. Returns the number of calls that were counted.
  static int heal();

  /// Independently of the faults above, and not ended by `heal`: makes `length` changes below
  /// `root`, from the one with number `at` (from 1), fail with `error`; with `error` 0, kills the
  /// process before the change.
  static void accident(const std::filesystem::path& root, int at, int length, int error);
  /// The number of changes since `accident` was called.
  static int changes();

  /// Makes syncs do nothing, which is faster: these tests do not simulate a power loss.
  static void do_not_sync(bool skip = true);
};

}  // namespace flor::testing
