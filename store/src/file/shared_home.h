// Homes on network file systems: every machine has an index of its own, on a local disk. What holds
// between the machines lies in the home, in the file `indexes`.
#pragma once

#include "file/filesystem.h"
#include "file/paths.h"

#include <chrono>
#include <string>

namespace flor::store {

/// Decides where the index of a home lies. A home becomes shared when a process that may write it
/// first finds it on a network file system, and stays so: `may_mark` says whether this one may make
/// the mark, and makes the home if it is missing. Of a shared home the index gets the absolute path
/// of a file in a private directory on a local disk, or an empty one if there is none; `why` says
/// why. Throws Error if $FLOR_INDEX cannot be used.
Paths with_own_index(Paths home, bool may_mark, Filesystem& filesystem, std::string& why);

/// Says, once in a process, that locks of a shared home do not hold between machines, if its mount
/// tells. For those who will write there.
void warn_of_local_locks(const Paths& home, Filesystem& filesystem);

/// The mark of a shared home. An index that notes another one is not current: files that it knows
/// may be gone. Empty if it cannot be read.
std::string mark_of(const Paths& home);

/// Makes all indexes outdated but that of this process, which notes the mark that is returned. Call
/// it before files are removed or replaced that an index may know, with a HomeLock.
std::string renew_mark(const Paths& home, Filesystem& filesystem);

/// Held while a change of a shared home is decided and written, by one process of all machines.
/// Does nothing in other homes, where the index's own lock does the same. Not recursive.
class HomeLock {
 public:
  /// Throws Busy if others hold it for longer than `patience`, and Error if the home cannot be
  /// locked.
  HomeLock(const Paths& home, Filesystem& filesystem, std::chrono::milliseconds patience);
  ~HomeLock();
  HomeLock(const HomeLock&) = delete;
  HomeLock& operator=(const HomeLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace flor::store
