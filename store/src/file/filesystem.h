// The system calls that the packs and locks are made of, behind one seam: tests put a failing disk
// in its place. The catalog's own file is SQLite's business.
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

  /// Regular files alone, or with O_DIRECTORY directories: anything else fails at once with ENXIO.
  virtual int open(const char* path, int flags, mode_t mode);
  virtual int close(int descriptor);
  virtual ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset);
  virtual ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset);
  virtual int fdatasync(int descriptor);
  virtual int fsync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  virtual int unlink(const char* path);
  /// Gives these bytes, which read as zeros from then on, back to the disk; the length stays.
  virtual int punch_hole(int descriptor, off_t offset, off_t size);
  /// Bytes that this user can still write where `path` is; 0 where that cannot be told.
  virtual std::uint64_t available(const char* path);
  /// `f_type` of statfs(2), or 0 where that fails.
  virtual std::uint64_t type_of(const char* path);

  /// The real one; lives as long as the process.
  static Filesystem& system();
};

/// Throws flor::Error "cannot <what> <path>: <reason>", with a remedy where there is a usual one.
[[noreturn]] void throw_system_error(const char* what, const std::filesystem::path& path,
                                     int error);

/// An open file. Closed by the destructor without a word; whoever needs the bytes syncs them first.
inline constexpr mode_t kInHome = 0600;

class File {
 public:
  /// Opens with O_CLOEXEC. Throws Error. `kInHome` as mode: as `open_in_home` does.
  File(Filesystem& filesystem, std::filesystem::path path, int flags, mode_t mode = 0666);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  /// Writes all of it, however many calls that takes.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  /// Reads until `bytes` is full or the file ends; returns what was read.
  std::size_t read_at(std::span<std::byte> bytes, std::uint64_t offset) const;
  /// A hint that these bytes will be read soon. Does not wait for them; may do nothing.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void sync_data();
  void sync();
  /// False, with `errno`, where the disk refuses.
  bool truncate(std::uint64_t size) noexcept;
  /// False where the file system cannot do that.
  bool punch_hole(std::uint64_t offset, std::uint64_t size) noexcept;
  std::uint64_t size() const;
  /// What it takes of the disk: less than its size if holes were punched into it.
  std::uint64_t size_on_disk() const;

 private:
  Filesystem& filesystem_;
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes the creation of entries in a directory durable.
void sync_directory(Filesystem& filesystem, const std::filesystem::path& directory);

/// False on the file systems of which SQLite says that shared memory between processes, and thus
/// its write-ahead log, does not work there: those of the network.
bool shared_memory_works(Filesystem& filesystem, const std::filesystem::path& directory);

}  // namespace flor::store
