// Shared homes: homes on a network file system, where each machine has its own index on a local
// disk. The file `indexes` in the home coordinates the machines; its content is the home's mark.
#pragma once

#include "file/filesystem.h"
#include "file/paths.h"

#include <chrono>
#include <string>

namespace flor::store {

/// Decides where the index of a home lies. A home becomes shared, permanently, when a process that
/// may write it first finds it on a network file system. `may_mark`: also make and mark a home that
/// has no store yet. For a shared home the index gets an absolute path in a private directory on a
/// local disk; if there is none, the path is empty and `why` says why. Throws Error if $FLOR_INDEX
/// cannot be used.
Paths with_own_index(Paths home, bool may_mark, Filesystem& filesystem, std::string& why);

/// Prints a warning, once per process, if the mount options tell that locks of a shared home do not
/// work between machines. For processes that will write to the home.
void warn_of_local_locks(const Paths& home, Filesystem& filesystem);

/// Returns the mark of a shared home; empty if it cannot be read. An index stores the mark that it
/// was current for. If the two differ, the index is outdated and may list files that are gone.
std::string mark_of(const Paths& home);

/// Replaces the mark and returns the new one, which makes all indexes outdated; the caller stores
/// it in the index of this process. Call it, with a HomeLock, before removing or replacing files
/// that an index may list.
std::string renew_mark(const Paths& home, Filesystem& filesystem);

/// A lock of a shared home across all machines, held while a change is decided and written. It does
/// nothing in other homes, where the lock of the index does the same. Not recursive.
class HomeLock {
 public:
  /// Throws Busy if another process keeps holding it for `patience`, and Error if the home cannot
  /// be locked.
  HomeLock(const Paths& home, Filesystem& filesystem, std::chrono::milliseconds patience);
  ~HomeLock();
  HomeLock(const HomeLock&) = delete;
  HomeLock& operator=(const HomeLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace flor::store
