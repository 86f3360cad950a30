// The system calls of packs and locks, in one class: tests replace it by a failing disk. SQLite
// accesses the catalog's file itself.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace flor::store {

/// Each function behaves like the system call of its name, `errno` included.
class Filesystem {
 public:
  Filesystem() = default;
  virtual ~Filesystem() = default;
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;

  /// Opens only regular files, or directories with O_DIRECTORY: others fail at once with ENXIO.
  virtual int open(const char* path, int flags, mode_t mode);
  virtual int close(int descriptor);
  virtual ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset);
  virtual ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset);
  virtual int fdatasync(int descriptor);
  virtual int fsync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  virtual int unlink(const char* path);
  /// Frees the space of these bytes, which read as zeros from then on; the length stays.
  virtual int punch_hole(int descriptor, off_t offset, off_t size);
  /// Bytes that this user can still write on the file system of `path`; 0 if unknown.
  virtual std::uint64_t available(const char* path);
  /// `f_type` of statfs(2), or 0 if that fails.
  virtual std::uint64_t type_of(const char* path);
  /// As `why_locks_are_local` of file/mount_locks.h.
  virtual std::string why_locks_are_local(const char* path);

  /// The real file system; lives as long as the process.
  static Filesystem& system();
};

/// Throws flor::Error "cannot <what> <path>: <reason>", with the usual remedy if there is one.
[[noreturn]] void throw_system_error(const char* what, const std::filesystem::path& path,
                                     int error);

/// The mode of a new file that is shared as its directory is: see `open_in_home`.
inline constexpr mode_t kInHome = 0600;

/// An open file. The destructor closes it and ignores errors: sync first what must be on disk.
class File {
 public:
  /// Opens with O_CLOEXEC. Throws Error. With `kInHome` as mode, opens as `open_in_home` does.
  File(Filesystem& filesystem, std::filesystem::path path, int flags, mode_t mode = 0666);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  /// Writes all bytes, however many calls that takes.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  /// Reads until `bytes` is full or the file ends; returns the number of bytes read.
  std::size_t read_at(std::span<std::byte> bytes, std::uint64_t offset) const;
  /// Hints that these bytes will be read soon. Does not wait for them; may do nothing.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void sync_data();
  void sync();
  /// False, with `errno`, if the disk refuses.
  bool truncate(std::uint64_t size) noexcept;
  /// False if the file system cannot punch holes.
  bool punch_hole(std::uint64_t offset, std::uint64_t size) noexcept;
  std::uint64_t size() const;
  /// Bytes that the file takes on disk: fewer than its size if it has holes.
  std::uint64_t size_on_disk() const;

 private:
  Filesystem& filesystem_;
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes the creation of entries in a directory durable.
void sync_directory(Filesystem& filesystem, const std::filesystem::path& directory);

/// False on network file systems: according to SQLite, shared memory between processes, and thus
/// its write-ahead log, does not work there.
bool shared_memory_works(Filesystem& filesystem, const std::filesystem::path& directory);
/// The same, but $FLOR_FILESYSTEM, which is said of homes, does not overrule it.
bool is_local(Filesystem& filesystem, const std::filesystem::path& directory);

}  // namespace flor::store
