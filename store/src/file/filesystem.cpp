#include "file/filesystem.h"

#include "base/system_error.h"
#include "file/home_files.h"
#include "file/mount_locks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace flor::store {

/// Refuses everything but regular files (and directories with O_DIRECTORY), with ENXIO like a
/// missing device. Opening a FIFO would block.
int Filesystem::open(const char* path, int flags, mode_t mode) {
  const int descriptor = ::open(path, flags | O_NONBLOCK, mode);
  struct stat status {};
  if (descriptor < 0 || (flags & O_DIRECTORY) != 0 ||
      (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))) {
    return descriptor;
  }
  ::close(descriptor);
  errno = ENXIO;
  return -1;
}
int Filesystem::close(int descriptor) { return ::close(descriptor); }
ssize_t Filesystem::pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  return ::pread(descriptor, bytes, size, offset);
}
ssize_t Filesystem::pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  return ::pwrite(descriptor, bytes, size, offset);
}
int Filesystem::fdatasync(int descriptor) { return ::fdatasync(descriptor); }
int Filesystem::fsync(int descriptor) { return ::fsync(descriptor); }
int Filesystem::ftruncate(int descriptor, off_t size) { return ::ftruncate(descriptor, size); }
int Filesystem::unlink(const char* path) { return ::unlink(path); }
int Filesystem::punch_hole(int descriptor, off_t offset, off_t size) {
  return ::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
}
std::uint64_t Filesystem::available(const char* path) {
  struct statvfs status {};
  if (::statvfs(path, &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}
std::string Filesystem::why_locks_are_local(const char* path) {
  return store::why_locks_are_local(std::filesystem::path(path));
}
std::uint64_t Filesystem::type_of(const char* path) {
  struct statfs status {};
  return ::statfs(path, &status) == 0 ? static_cast<std::uint64_t>(status.f_type) : 0;
}

Filesystem& Filesystem::system() {
  static Filesystem filesystem;
  return filesystem;
}

void throw_system_error(const char* what, const std::filesystem::path& path, int error) {
  const char* remedy = "";
  if (error == ENOSPC || error == EDQUOT) {
    remedy = ": free some space, or put the store on another disk (--flor_home or FLOR_HOME)";
  } else if (error == EROFS || error == EACCES || error == EPERM) {
    remedy = ": choose a store you may write to (--flor_home or FLOR_HOME)";
  } else if (error == ENXIO || error == EISDIR) {
    throw SystemError(fmt::format("cannot {} {}: it is no regular file: move it out of the store",
                                  what, path.string()),
                      error);
  } else if (error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP) {
    remedy =
        ": see to the lock service of its file system, or put the store on a local disk "
        "(--flor_home or FLOR_HOME)";
  } else if (error == EIO) {
    remedy = ": the disk fails; see the kernel's log";
  }
  throw SystemError(fmt::format("cannot {} {}: {}{}", what, path.string(),
                                std::generic_category().message(error), remedy),
                    error);
}

File::File(Filesystem& filesystem, std::filesystem::path path, int flags, mode_t mode)
    : filesystem_(filesystem), path_(std::move(path)) {
  do {
    descriptor_ = filesystem_.open(path_.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw_system_error((flags & O_CREAT) ? "create" : "open", path_, errno);
  if ((flags & O_CREAT) != 0 && mode == kInHome) share_as_directory(descriptor_, path_);
}

File::~File() { filesystem_.close(descriptor_); }

void File::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written =
        filesystem_.pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_system_error("write", path_, errno);
    }
    // Without this check, a disk that writes nothing and reports no error would cause an endless
    // loop.
    if (written == 0) throw_system_error("write", path_, ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

std::size_t File::read_at(std::span<std::byte> bytes, std::uint64_t offset) const {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const ssize_t got = filesystem_.pread(descriptor_, bytes.data() + total, bytes.size() - total,
                                          static_cast<off_t>(offset + total));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_system_error("read", path_, errno);
    }
    if (got == 0) break;
    total += static_cast<std::size_t>(got);
  }
  return total;
}

void File::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  // Bypasses Filesystem, because a failing hint is not an error that tests need to simulate.
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_WILLNEED);
}

void File::sync_data() {
  while (filesystem_.fdatasync(descriptor_) != 0) {
    if (errno != EINTR) throw_system_error("sync", path_, errno);
  }
}

void File::sync() {
  while (filesystem_.fsync(descriptor_) != 0) {
    if (errno != EINTR) throw_system_error("sync", path_, errno);
  }
}

bool File::truncate(std::uint64_t size) noexcept {
  int result = 0;
  do {
    result = filesystem_.ftruncate(descriptor_, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool File::punch_hole(std::uint64_t offset, std::uint64_t size) noexcept {
  return filesystem_.punch_hole(descriptor_, static_cast<off_t>(offset),
                                static_cast<off_t>(size)) == 0;
}

std::uint64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_system_error("look at", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t File::size_on_disk() const {
  const std::uint64_t end = size();
  // Measures the data between holes. st_blocks would be too low if the file system compresses, or
  // has not written the data yet.
  const off_t hole = ::lseek(descriptor_, 0, SEEK_HOLE);
  if (hole < 0 || static_cast<std::uint64_t>(hole) >= end) return end;
  std::uint64_t bytes = 0;
  for (off_t at = 0; (at = ::lseek(descriptor_, at, SEEK_DATA)) >= 0;) {
    const off_t data = at;
    at = ::lseek(descriptor_, at, SEEK_HOLE);
    if (at < 0) return end;
    bytes += static_cast<std::uint64_t>(at - data);
  }
  return std::min(bytes, end);
}

void sync_directory(Filesystem& filesystem, const std::filesystem::path& directory) {
  File(filesystem, directory, O_RDONLY | O_DIRECTORY).sync();
}

bool shared_memory_works(Filesystem& filesystem, const std::filesystem::path& directory) {
  if (const char* known = std::getenv("FLOR_FILESYSTEM")) {
    const std::string_view kind = known;
    if (kind == "local" || kind == "network") return kind == "local";
    if (!kind.empty()) {
      throw UsageError(
          fmt::format("FLOR_FILESYSTEM={}: expected local or network, or nothing", kind));
    }
  }
  return is_local(filesystem, directory);
}

bool is_local(Filesystem& filesystem, const std::filesystem::path& directory) {
  static constexpr std::array<std::uint64_t, 12> kNetwork = {
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x65735546,  // FUSE: sshfs and others; local FUSE file systems cannot be distinguished
      0x00C36400,  // Ceph
      0x01021997,  // 9P
      0x5346414F,  // AFS
      0x19830326,  // BeeGFS
      0xAAD7AAEA,  // PanFS
  };
  const std::uint64_t type = filesystem.type_of(directory.c_str()) & 0xFFFFFFFFu;
  return std::find(kNetwork.begin(), kNetwork.end(), type) == kNetwork.end();
}

}  // namespace flor::store
