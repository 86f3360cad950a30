// The system calls by which a program changes files, taken over at link time: of the program, of
// SQLite and of the C++ library alike. They can be recorded, to be played back up to a power loss
// (power_loss.h), and they can be made to fail. Linked only into the tests that need it (disk.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::testing {

/// One change. Files are numbered in the order in which they appear; a name may come to mean
/// another file.
struct DiskEvent {
  enum class Kind {
    create,          ///< `path` now means the new, empty `file`
    write,           ///< `bytes` at `offset` of `file`
    resize,          ///< `file` has `offset` bytes
    sync,            ///< what `file` holds is durable
    sync_directory,  ///< which names the directory `path` has is durable
    remove,          ///< `path` means nothing
    rename,          ///< `target` now means what `path` meant
    make_directory,
    mark,  ///< `offset` is what the test gave to `mark`
  };
  Kind kind = Kind::mark;
  int file = -1;
  std::uint64_t offset = 0;
  std::string bytes;
  std::filesystem::path path, target;
};

/// The calls that touch files below one directory. One recording or one series of faults at a time;
/// every thread of the process is concerned.
class Disk {
 public:
  /// Which calls a fault is counted for.
  enum class Calls {
    changes,
    reads,
    syncs,
    locks,   ///< by fcntl, which SQLite has; shared memory (-shm) included
    flocks,  ///< which runs, packs and journals have
  };

  /// Records from now on. What is below `root` counts as durable. Shared memory of SQLite (-shm) is
  /// no file in this sense.
  static void record(const std::filesystem::path& root);
  /// Ends the recording.
  static std::vector<DiskEvent> stop();
  /// The program has promised something.
  static void mark(std::uint64_t number);

  /// The call numbered `at` (from 1) below `root` fails with `error`; `stays`: so do all after it.
  /// A write that fails has written its first half.
  static void fail(const std::filesystem::path& root, Calls calls, int at, int error, bool stays);
  /// The files below `root` cannot have more than `bytes` in all (EDQUOT), shared memory included.
  static void limit(const std::filesystem::path& root, std::uint64_t bytes);
  /// Reads and writes do half of what they are asked for; `interrupted`: and every other one of
  /// them, and of the calls that open or cut a file, is interrupted first (EINTR).
  static void hesitate(const std::filesystem::path& root, bool interrupted);
  /// Everything works again. Returns the number of calls that were counted.
  static int heal();

  /// Beside faults below `root`, and not healed: `length` changes below `root`, from the one
  /// numbered `at` (from 1), fail with `error`, or, if that is 0, kill the process before they are
  /// made.
  static void accident(const std::filesystem::path& root, int at, int length, int error);
  /// Counted since `accident`.
  static int changes();

  /// Syncing does nothing from now on: tests do not pull the plug, and this is faster.
  static void do_not_sync(bool skip = true);
};

}  // namespace flor::testing
