// The system calls with which the store accesses packs, journals and locks. Tests replace this
// class to simulate a failing disk. SQLite accesses its database files without it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace flor::store {

/// Access to the file system. Each function behaves like the system call of its name, including
/// `errno`.
class Filesystem {
 public:
  Filesystem() = default;
  virtual ~Filesystem() = default;
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;

  /// Opens only regular files, and directories with O_DIRECTORY; anything else fails at once with
  /// ENXIO.
  virtual int open(const char* path, int flags, mode_t mode);
  virtual int close(int descriptor);
  virtual ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset);
  virtual ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset);
  virtual int fdatasync(int descriptor);
  virtual int fsync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  virtual int unlink(const char* path);
  /// Frees the disk space of these bytes, which then read as zeros. The file keeps its length.
  virtual int punch_hole(int descriptor, off_t offset, off_t size);
  /// Returns the bytes that this user can still write on the file system of `path`; 0 if unknown.
  virtual std::uint64_t available(const char* path);
  /// Returns `f_type` of statfs(2), or 0 if that fails.
  virtual std::uint64_t type_of(const char* path);
  /// See `why_locks_are_local` in file/mount_locks.h.
  virtual std::string why_locks_are_local(const char* path);

  /// The real file system; lives as long as the process.
  static Filesystem& system();
};

/// Throws SystemError "cannot <what> <path>: <reason>", followed by the usual remedy if there is
/// one.
[[noreturn]] void throw_system_error(const char* what, const std::filesystem::path& path,
                                     int error);

/// A mode that asks for the permissions of `open_in_home`, which depend on the file's directory.
inline constexpr mode_t kInHome = 0600;

/// An open file. The destructor closes it and ignores errors: sync first what must be on disk.
class File {
 public:
  /// Opens with O_CLOEXEC, and with mode `kInHome` as `open_in_home` does. Throws Error.
  File(Filesystem& filesystem, std::filesystem::path path, int flags, mode_t mode = 0666);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  /// Writes all bytes, with as many system calls as needed.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  /// Reads until `bytes` is full or the file ends; returns the number of bytes read.
  std::size_t read_at(std::span<std::byte> bytes, std::uint64_t offset) const;
  /// Tells the system that these bytes will be read soon. Does not wait; may have no effect.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void sync_data();
  void sync();
  /// Returns false, with `errno`, if it fails.
  bool truncate(std::uint64_t size) noexcept;
  /// Returns false if the file system cannot punch holes.
  bool punch_hole(std::uint64_t offset, std::uint64_t size) noexcept;
  std::uint64_t size() const;
  /// Returns the bytes that the file occupies on disk, fewer than `size` if it has holes.
  std::uint64_t size_on_disk() const;

 private:
  Filesystem& filesystem_;
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes newly created entries of the directory durable.
void sync_directory(Filesystem& filesystem, const std::filesystem::path& directory);

/// False on network file systems, where, according to SQLite, processes cannot share memory.
/// SQLite's write-ahead log needs that. $FLOR_FILESYSTEM overrules the answer.
bool shared_memory_works(Filesystem& filesystem, const std::filesystem::path& directory);
/// Like `shared_memory_works`, but ignores $FLOR_FILESYSTEM, which is meant for homes only.
bool is_local(Filesystem& filesystem, const std::filesystem::path& directory);

}  // namespace flor::store
