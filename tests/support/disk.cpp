#include "support/content.h"
#include "support/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

namespace flor::testing {
namespace {

using Kind = DiskEvent::Kind;
using Identity = std::pair<dev_t, ino_t>;

/// Makes the system call itself: the functions of the C library are the ones that are intercepted.
template <typename... Arguments>
long call(long number, Arguments... arguments) {
  return ::syscall(number, arguments...);
}

struct State {
  std::recursive_mutex mutex;
  std::string root;  ///< with a slash at the end; empty: nothing is observed
  bool recording = false;
  std::vector<DiskEvent> events;
  std::map<Identity, int> files;
  int next_file = 0;

  bool faulty = false, stays = false, slow = false, interrupted = false;
  Disk::Calls calls = Disk::Calls::changes;
  std::string fault_root;
  int at = 0, error = 0, counted = 0;
  std::uint64_t limit = UINT64_MAX;
  bool last_was_interrupted = false;

  bool accident = false;
  int accident_at = 0, accident_length = 0, accident_error = 0, changes = 0;
};

/// Never destroyed, because files are closed until the end of the process.
State& state() {
  static State& the_state = *new State;
  return the_state;
}

[[noreturn]] void refuse(const char* name) {
  std::fprintf(stderr, "tests/support/disk.cpp knows nothing of %s, which is called\n", name);
  std::abort();
}

std::atomic<bool> watching{false};
std::atomic<bool> skip_sync{false};

/// The absolute path, as the process sees it.
std::string absolute(const char* path) {
  return std::filesystem::path(path).is_absolute()
             ? std::string(path)
             : (std::filesystem::current_path() / path).string();
}

std::string path_of(int descriptor) {
  char buffer[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const long size = call(SYS_readlink, link.c_str(), buffer, sizeof(buffer));
  return size < 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(size));
}

bool concerns(std::string_view path) {
  const std::string& root = state().root;
  if (root.empty()) return false;
  const bool shared = state().calls == Disk::Calls::locks || state().limit != UINT64_MAX;
  if (path.find("-shm") != std::string_view::npos && !shared) return false;
  return path.starts_with(root) || path == std::string_view(root).substr(0, root.size() - 1);
}

bool exists(const char* path) {
  struct stat status{};
  return ::lstat(path, &status) == 0;
}

/// The number of an open file, or -1 if it is no recorded file (a directory, a pipe).
int file_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return -1;
  const auto found = state().files.find({status.st_dev, status.st_ino});
  return found == state().files.end() ? -1 : found->second;
}

void record_event(DiskEvent event) {
  if (state().recording) state().events.push_back(std::move(event));
}

/// Whether the call that is about to be made with this file must fail; sets `errno`.
bool fails(Disk::Calls calls, std::string_view path) {
  State& now = state();
  if (now.accident && calls == Disk::Calls::changes && ++now.changes >= now.accident_at &&
      now.changes < now.accident_at + now.accident_length) {
    if (now.accident_error == 0) ::raise(SIGKILL);
    errno = now.accident_error;
    return true;
  }
  if (!now.faulty || calls != now.calls || !path.starts_with(now.fault_root)) return false;
  ++now.counted;
  if (now.at == 0 || (now.stays ? now.counted < now.at : now.counted != now.at)) return false;
  errno = now.error;
  return true;
}

bool is_interrupted() {
  State& now = state();
  if (!now.interrupted) return false;
  now.last_was_interrupted = !now.last_was_interrupted;
  if (now.last_was_interrupted) errno = EINTR;
  return now.last_was_interrupted;
}

std::size_t hesitant(std::size_t size) { return state().slow && size > 1 ? size / 2 : size; }

int do_open(const char* path, int flags, mode_t mode) {
  if (!watching) return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags, mode));
  const std::lock_guard lock(state().mutex);
  const std::string name = absolute(path);
  const bool ours = concerns(name);
  if (ours && is_interrupted()) return -1;
  const bool changes = ours && (flags & (O_CREAT | O_TRUNC)) != 0;
  const bool creates = changes && (flags & O_CREAT) != 0 && !exists(path);
  if (ours && fails(changes ? Disk::Calls::changes : Disk::Calls::reads, name)) return -1;
  const int descriptor = static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags, mode));
  if (descriptor < 0 || !ours) return descriptor;
  struct stat status{};
  ::fstat(descriptor, &status);
  if (creates) {
    // The inode number of a removed file may be used again.
    const int file = state().next_file++;
    state().files[{status.st_dev, status.st_ino}] = file;
    record_event({Kind::create, file, 0, {}, name, {}});
  } else if (changes && (flags & O_TRUNC) != 0) {
    record_event({Kind::resize, file_of(descriptor), 0, {}, {}, {}});
  }
  return descriptor;
}

/// Whether the file may grow to `size`; if not, sets `errno`.
bool may_grow(int descriptor, std::uint64_t size) {
  if (state().limit == UINT64_MAX) return true;
  struct stat status{};
  ::fstat(descriptor, &status);
  const auto before = static_cast<std::uint64_t>(status.st_size);
  if (size <= before) return true;
  std::uint64_t total = size - before;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           state().root.substr(0, state().root.size() - 1), error)) {
    if (entry.is_regular_file(error)) total += entry.file_size(error);
  }
  if (total <= state().limit) return true;
  errno = EDQUOT;
  return false;
}

ssize_t write_now(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  return call(SYS_pwrite64, descriptor, bytes, size, offset);
}

ssize_t do_write(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  if (!watching) return write_now(descriptor, bytes, size, offset);
  const std::lock_guard lock(state().mutex);
  const std::string path = path_of(descriptor);
  if (!concerns(path)) return write_now(descriptor, bytes, size, offset);
  if (is_interrupted()) return -1;
  if (!may_grow(descriptor, static_cast<std::uint64_t>(offset) + size)) return -1;
  ssize_t written = 0;
  if (fails(Disk::Calls::changes, path)) {
    const int error = errno;
    written = write_now(descriptor, bytes, size / 2, offset);
    errno = error;
    return -1;
  }
  written = write_now(descriptor, bytes, hesitant(size), offset);
  if (written > 0) {
    const auto* begin = static_cast<const char*>(bytes);
    record_event({Kind::write,
                  file_of(descriptor),
                  static_cast<std::uint64_t>(offset),
                  {begin, begin + written},
                  {},
                  {}});
  }
  return written;
}

ssize_t do_read(int descriptor, void* bytes, std::size_t size, off_t offset) {
  if (watching) {
    const std::lock_guard lock(state().mutex);
    if (const std::string path = path_of(descriptor); concerns(path)) {
      if (is_interrupted() || fails(Disk::Calls::reads, path)) return -1;
      size = hesitant(size);
    }
  }
  return call(SYS_pread64, descriptor, bytes, size, offset);
}

int do_sync(int descriptor, long number) {
  const auto sync = [&] { return skip_sync ? 0 : static_cast<int>(call(number, descriptor)); };
  if (!watching) return sync();
  const std::lock_guard lock(state().mutex);
  const std::string path = path_of(descriptor);
  if (!concerns(path)) return sync();
  if (fails(Disk::Calls::changes, path) || fails(Disk::Calls::syncs, path)) return -1;
  const int result = sync();
  if (result != 0) return result;
  const int file = file_of(descriptor);
  if (file >= 0) {
    record_event({Kind::sync, file, 0, {}, {}, {}});
  } else {
    record_event({Kind::sync_directory, -1, 0, {}, path, {}});
  }
  return result;
}

int do_control(int descriptor, int command, void* argument) {
  const bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
  if (watching && locks) {
    const std::lock_guard lock(state().mutex);
    const std::string path = path_of(descriptor);
    if (concerns(path) && fails(Disk::Calls::locks, path)) {
      // Even when locking fails, unlocking works: otherwise other processes would meet the lock
      // forever.
      const int error = errno;
      if (static_cast<const struct flock*>(argument)->l_type == F_UNLCK) {
        call(SYS_fcntl, descriptor, command, argument);
      }
      errno = error;
      return -1;
    }
  }
  return static_cast<int>(call(SYS_fcntl, descriptor, command, argument));
}

int do_flock(int descriptor, int operation) {
  if (watching) {
    const std::lock_guard lock(state().mutex);
    const std::string path = path_of(descriptor);
    if (concerns(path) && fails(Disk::Calls::flocks, path)) return -1;
  }
  return static_cast<int>(call(SYS_flock, descriptor, operation));
}

int do_resize(int descriptor, off_t size) {
  if (!watching) return static_cast<int>(call(SYS_ftruncate, descriptor, size));
  const std::lock_guard lock(state().mutex);
  const std::string path = path_of(descriptor);
  const bool ours = concerns(path);
  if (ours && (is_interrupted() || fails(Disk::Calls::changes, path))) return -1;
  if (ours && !may_grow(descriptor, static_cast<std::uint64_t>(size))) return -1;
  const int result = static_cast<int>(call(SYS_ftruncate, descriptor, size));
  if (ours && result == 0) {
    record_event({Kind::resize, file_of(descriptor), static_cast<std::uint64_t>(size), {}, {}, {}});
  }
  return result;
}

/// Recorded as a write of zeros, because a hole reads as zeros within the file's length.
int do_punch(int descriptor, off_t offset, off_t size) {
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (!watching) return static_cast<int>(call(SYS_fallocate, descriptor, kMode, offset, size));
  const std::lock_guard lock(state().mutex);
  const std::string path = path_of(descriptor);
  const bool ours = concerns(path);
  if (ours && (is_interrupted() || fails(Disk::Calls::changes, path))) return -1;
  const int result = static_cast<int>(call(SYS_fallocate, descriptor, kMode, offset, size));
  struct stat status{};
  if (!ours || result != 0 || ::fstat(descriptor, &status) != 0) return result;
  const off_t end = std::min<off_t>(offset + size, status.st_size);
  if (end > offset) {
    record_event({Kind::write, file_of(descriptor), static_cast<std::uint64_t>(offset),
                  std::string(static_cast<std::size_t>(end - offset), '\0'), {}, {}});
  }
  return result;
}

bool do_allocate(int descriptor, off_t offset, off_t size) {
  if (watching) {
    const std::lock_guard lock(state().mutex);
    const std::string path = path_of(descriptor);
    if (state().recording) refuse("posix_fallocate");
    if (concerns(path) && fails(Disk::Calls::changes, path)) return false;
  }
  return call(SYS_fallocate, descriptor, 0, offset, size) == 0;
}

/// `change` makes the system call; `kind` says what it means for `path`.
template <typename Change>
int do_change(Kind kind, const char* path, const char* target, const Change& change) {
  if (!watching) return static_cast<int>(change());
  const std::lock_guard lock(state().mutex);
  const std::string name = absolute(path);
  const bool ours = concerns(name);
  if (ours && fails(Disk::Calls::changes, name)) return -1;
  const int result = static_cast<int>(change());
  if (ours && result == 0) {
    record_event({kind, -1, 0, {}, name, target ? absolute(target) : std::string()});
  }
  return result;
}

void register_files(const std::filesystem::path& root) {
  State& now = state();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().string();
    if (!concerns(name)) continue;
    if (entry.is_directory()) {
      record_event({Kind::make_directory, -1, 0, {}, name, {}});
      continue;
    }
    const int file = now.next_file++;
    struct stat status{};
    ::stat(name.c_str(), &status);
    now.files[{status.st_dev, status.st_ino}] = file;
    record_event({Kind::create, file, 0, {}, name, {}});
    record_event({Kind::write, file, 0, content_of(name), {}, {}});
    record_event({Kind::sync, file, 0, {}, {}, {}});
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_directory()) {
      record_event({Kind::sync_directory, -1, 0, {}, entry.path(), {}});
    }
  }
  record_event({Kind::sync_directory, -1, 0, {}, root, {}});
}

void watch(const std::filesystem::path& root) {
  if (!state().accident) state().root = root.string() + "/";
  watching = true;
}

}  // namespace

void Disk::record(const std::filesystem::path& root) {
  const std::lock_guard lock(state().mutex);
  watch(root);
  state().recording = true;
  state().events.clear();
  state().files.clear();
  state().next_file = 0;
  register_files(root);
}

std::vector<DiskEvent> Disk::stop() {
  const std::lock_guard lock(state().mutex);
  watching = state().recording = false;
  state().root.clear();
  return std::move(state().events);
}

void Disk::mark(std::uint64_t number) {
  const std::lock_guard lock(state().mutex);
  record_event({Kind::mark, -1, number, {}, {}, {}});
}

void Disk::fail(const std::filesystem::path& root, Calls calls, int at, int error, bool stays) {
  const std::lock_guard lock(state().mutex);
  watch(root);
  State& now = state();
  now.faulty = true;
  now.fault_root = root.string();
  now.calls = calls;
  now.at = at;
  now.error = error;
  now.stays = stays;
  now.counted = 0;
}

void Disk::limit(const std::filesystem::path& root, std::uint64_t bytes) {
  const std::lock_guard lock(state().mutex);
  watch(root);
  state().limit = bytes;
}

void Disk::hesitate(const std::filesystem::path& root, bool interrupted) {
  const std::lock_guard lock(state().mutex);
  watch(root);
  state().slow = true;
  state().interrupted = interrupted;
  state().last_was_interrupted = false;
}

int Disk::heal() {
  const std::lock_guard lock(state().mutex);
  State& now = state();
  now.faulty = now.slow = now.interrupted = false;
  now.limit = UINT64_MAX;
  if (!now.recording && !now.accident) {
    watching = false;
    now.root.clear();
  }
  return now.counted;
}

void Disk::accident(const std::filesystem::path& root, int at, int length, int error) {
  const std::lock_guard lock(state().mutex);
  watch(root);
  State& now = state();
  now.accident = true;
  now.accident_at = at;
  now.accident_length = length;
  now.accident_error = error;
  now.changes = 0;
}

int Disk::changes() {
  const std::lock_guard lock(state().mutex);
  return state().changes;
}

void Disk::do_not_sync(bool skip) { skip_sync = skip; }

}  // namespace flor::testing

// The intercepted functions. libsqlite3 calls those whose names end in 64.
using namespace flor::testing;

namespace {

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return do_open(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return do_open(path, flags, mode);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // a struct has the same name
int flock(int descriptor, int operation) noexcept { return do_flock(descriptor, operation); }
#pragma GCC diagnostic pop
int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return do_control(descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return do_control(descriptor, command, argument);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return do_write(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return do_write(descriptor, bytes, size, offset);
}
ssize_t pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t written =
        do_write(descriptor, parts[i].iov_base, parts[i].iov_len, offset + total);
    if (written < 0) return total > 0 ? total : -1;
    total += written;
    if (static_cast<size_t>(written) < parts[i].iov_len) break;
  }
  return total;
}
ssize_t pwritev64(int descriptor, const iovec* parts, int count, off64_t offset) {
  return pwritev(descriptor, parts, count, offset);
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  return do_read(descriptor, bytes, size, offset);
}
ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t offset) {
  return do_read(descriptor, bytes, size, offset);
}

int fsync(int descriptor) { return do_sync(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return do_sync(descriptor, SYS_fdatasync); }
int ftruncate(int descriptor, off_t size) noexcept { return do_resize(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) noexcept { return do_resize(descriptor, size); }

int unlink(const char* path) noexcept {
  return do_change(DiskEvent::Kind::remove, path, nullptr, [&] { return call(SYS_unlink, path); });
}
int rename(const char* from, const char* to) noexcept {
  return do_change(DiskEvent::Kind::rename, from, to, [&] { return call(SYS_rename, from, to); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return do_change(DiskEvent::Kind::make_directory, path, nullptr,
                   [&] { return call(SYS_mkdir, path, mode); });
}

// Allocates memory that ranks share, which a power loss does not concern.
int posix_fallocate(int descriptor, off_t offset, off_t size) {
  if (do_allocate(descriptor, offset, size)) return 0;
  return errno;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
  return posix_fallocate(descriptor, offset, size);
}

// The store only punches holes. Any other mode must be recorded first.
int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  if (mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) refuse("fallocate");
  return do_punch(descriptor, offset, size);
}
int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
  return fallocate(descriptor, mode, offset, size);
}

}  // extern "C"
