// A disk that fails when it is told to.
#pragma once

#include "file/filesystem.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace flor::store {

/// Counts the calls that change something; the one numbered `fail_at` (from 1) and all after it, or
/// only it, go wrong.
class FaultyFilesystem : public Filesystem {
 public:
  enum class Fault { error, short_write, kill };

  Fault fault = Fault::error;
  int error = ENOSPC;
  int fail_at = 0;  ///< 0: never
  bool stays_broken = true;
  int calls = 0;
  std::uint64_t type = 0;  ///< of the file system, if it is not 0
  std::string local_locks;  ///< why locks do not reach other machines

  void heal() { fail_at = calls = 0; }
  bool has_failed() const { return fail_at != 0 && calls >= fail_at; }

  int open(const char* path, int flags, mode_t mode) override {
    if ((flags & O_CREAT) && fails()) return -1;
    return Filesystem::open(path, flags, mode);
  }
  ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) override {
    if (fault == Fault::short_write && size > 1) {
      ++calls;  // as a disk does that is nearly full, or a signal
      size = (size + 1) / 2;
    } else if (fails()) {
      // What was written before the failure stays in the file.
      if (fault == Fault::error) Filesystem::pwrite(descriptor, bytes, size / 2, offset);
      errno = error;
      return -1;
    }
    return Filesystem::pwrite(descriptor, bytes, size, offset);
  }
  int fdatasync(int descriptor) override {
    return fails() ? -1 : Filesystem::fdatasync(descriptor);
  }
  int fsync(int descriptor) override { return fails() ? -1 : Filesystem::fsync(descriptor); }
  int ftruncate(int descriptor, off_t size) override {
    // A full disk has room for what takes less.
    const bool needs_no_space = error == ENOSPC && fault == Fault::error;
    return !needs_no_space && fails() ? -1 : Filesystem::ftruncate(descriptor, size);
  }
  std::uint64_t type_of(const char* path) override {
    return type != 0 ? type : Filesystem::type_of(path);
  }
  std::string why_locks_are_local(const char*) override { return local_locks; }

 private:
  bool fails() {
    ++calls;
    if (fault == Fault::short_write || fail_at == 0) return false;
    if (stays_broken ? calls < fail_at : calls != fail_at) return false;
    if (fault == Fault::kill) ::kill(::getpid(), SIGKILL);
    errno = error;
    return true;
  }
};

}  // namespace flor::store
