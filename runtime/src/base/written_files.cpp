// Defines the C library's functions that open files, in its place. The dynamic linker takes the
// first definition that it finds, so shared libraries (libstdc++, libtorch, libpng) call these
// functions, too. Each notes the file, and calls the next definition, which is the C library's.
#undef _FORTIFY_SOURCE  // otherwise some would be inline functions

#include "base/written_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

struct FileFacts {
  bool there = false;  ///< exists, as a regular file
  off_t bytes = 0;
  timespec time{};
  ino_t number = 0;

  static FileFacts of(int directory, const char* path) {
    struct stat status{};
    if (::fstatat(directory, path, &status, 0) != 0 || !S_ISREG(status.st_mode)) return {};
    return {true, status.st_size, status.st_mtim, status.st_ino};
  }
  bool operator==(const FileFacts& other) const {
    return there == other.there && bytes == other.bytes && number == other.number &&
           time.tv_sec == other.time.tv_sec && time.tv_nsec == other.time.tv_nsec;
  }
};

/// The opened files, in order. Adding one neither waits nor allocates, since programs may open
/// files in signal handlers. Files for which there is no room are not noted.
class OpenedFiles {
 public:
  struct Entry {
    FileFacts before;
    std::string_view path;
  };

  void add(int directory, const char* path) {
    std::array<char, kPathMax> place;
    std::size_t length = 0;
    if (*path != '/' && !(length = place_of(directory, place))) return;
    const std::size_t name = std::strlen(path), all = length + (length > 0) + name;
    if (all >= kPathMax || !is_new({place.data(), length}, {path, name})) return;
    const std::size_t size = (sizeof(Header) + all + kAlign - 1) / kAlign * kAlign;
    const std::size_t at = used_.fetch_add(size, std::memory_order_relaxed);
    if (at + size > kBytes) return;
    Header* const header = header_at(at);
    header->before = FileFacts::of(directory, path);
    char* text = &bytes_[at + sizeof(Header)];
    if (length > 0) {
      std::memcpy(text, place.data(), length);
      text[length] = '/';
      text += length + 1;
    }
    std::memcpy(text, path, name);
    header->length = static_cast<std::uint32_t>(all);
    std::atomic_ref(header->size)
        .store(static_cast<std::uint32_t>(size), std::memory_order_release);
  }

  /// The next file after those that were taken. Nothing if there is none, or it is still being
  /// written. To be called by one thread at a time.
  std::optional<Entry> take() {
    if (taken_ + sizeof(Header) > kBytes) return std::nullopt;
    Header* const header = header_at(taken_);
    const std::uint32_t size = std::atomic_ref(header->size).load(std::memory_order_acquire);
    if (size == 0) return std::nullopt;
    const Entry entry{header->before, {&bytes_[taken_ + sizeof(Header)], header->length}};
    taken_ += size;
    return entry;
  }

  /// Forgets all files, so that they count as new when they are opened again.
  void forget() {
    while (take()) {
    }
    for (auto& hash : seen_) hash.store(0, std::memory_order_relaxed);
  }

 private:
  struct Header {
    FileFacts before;
    std::uint32_t length = 0;
    /// Size of the entry; 0 until it is complete. Accessed atomically, since `take` reads it
    /// meanwhile.
    std::uint32_t size = 0;
  };
  static constexpr std::size_t kPathMax = 4096, kAlign = alignof(Header);
  static constexpr std::size_t kBytes = 4u << 20, kSeen = 1u << 16;

  /// Uses the zeroed bytes in place, since `take` may already be reading the size.
  Header* header_at(std::size_t at) { return reinterpret_cast<Header*>(&bytes_[at]); }

  /// Writes the working directory, or an open directory, to `place`. Returns its length; 0 if it is
  /// unknown.
  static std::size_t place_of(int directory, std::array<char, kPathMax>& place) {
    std::array<char, 32> link{};
    if (directory == AT_FDCWD) {
      std::memcpy(link.data(), "/proc/self/cwd", sizeof "/proc/self/cwd");
    } else {
      std::memcpy(link.data(), "/proc/self/fd/", sizeof "/proc/self/fd/");
      char* end = link.data() + sizeof "/proc/self/fd/" - 1;
      std::array<char, 12> digits;
      std::size_t count = 0;
      for (int rest = directory; rest > 0 || count == 0; rest /= 10) {
        digits[count++] = static_cast<char>('0' + rest % 10);
      }
      while (count > 0) *end++ = digits[--count];
    }
    const ssize_t length = ::readlink(link.data(), place.data(), place.size() - 1);
    return length > 0 && place[0] == '/' ? static_cast<std::size_t>(length) : 0;
  }

  bool is_new(std::string_view place, std::string_view name) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a, 64 bits
    for (const std::string_view part : {place, name}) {
      for (const char letter : part) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
      }
    }
    if (hash == 0) hash = 1;
    for (std::size_t i = 0; i < kProbes; ++i) {
      std::uint64_t there = 0;
      auto& place_of_hash = seen_[(hash + i) % kSeen];
      if (place_of_hash.compare_exchange_strong(there, hash)) return true;
      if (there == hash) return false;
    }
    return false;
  }
  static constexpr std::size_t kProbes = 64;

  std::array<std::atomic<std::uint64_t>, kSeen> seen_{};
  alignas(Header) std::array<char, kBytes> bytes_{};
  std::atomic<std::size_t> used_{0};
  std::size_t taken_ = 0;
};

constinit OpenedFiles opened;
constinit std::atomic<pid_t> noticing{0};  // the process that notes files; 0: none

class Notices {
 public:
  void begin(const fs::path& root, const fs::path& without) {
    const std::lock_guard lock(mutex_);
    root_ = with_slash(root);
    without_ = with_slash(without);
    open_.clear();
    opened.forget();
    noticing = ::getpid();
  }

  std::vector<WrittenFile> take() {
    const std::lock_guard lock(mutex_);
    while (const auto entry = opened.take()) look_at(*entry);
    std::vector<WrittenFile> written;
    std::erase_if(open_, [&](const auto& file) {
      const auto& [path, before] = file;
      const FileFacts now = FileFacts::of(AT_FDCWD, path.c_str());
      if (!now.there || now == before) return false;
      written.push_back({.path = path, .existed = before.there});
      return true;
    });
    return written;
  }

 private:
  static std::string with_slash(const fs::path& directory) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(directory, error);
    return (error ? directory : real).string() + "/";
  }

  void look_at(const OpenedFiles::Entry& entry) {
    const fs::path path = fs::path(entry.path).lexically_normal();
    std::error_code error;
    const fs::path parent = fs::canonical(path.parent_path(), error);
    if (error) return;
    std::string real = (parent / path.filename()).string();
    if (!real.starts_with(root_) || real.starts_with(without_)) return;
    open_.try_emplace(std::move(real), entry.before);
  }

  std::mutex mutex_;
  std::string root_, without_;
  std::map<std::string, FileFacts> open_;
};

/// Never destroyed, since a background thread may use it until the process has ended.
Notices& notices() {
  static auto* const notices = new Notices;
  return *notices;
}

void opens(int directory, const char* path) {
  if (!path || noticing.load(std::memory_order_relaxed) != ::getpid()) return;
  const int error = errno;
  opened.add(directory, path);
  errno = error;
}

void opens_with_flags(int directory, const char* path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0) {
    opens(directory, path);
  }
}

void opens_with_mode(const char* path, const char* mode) {
  if (mode && std::strpbrk(mode, "wa+")) opens(AT_FDCWD, path);
}

/// The definition after the one in this file. It is looked up before `main`, since looking it up in
/// a signal handler is not safe.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  void find() { function_.store(::dlsym(RTLD_NEXT, name_), std::memory_order_relaxed); }
  Function* get() {
    if (!function_.load(std::memory_order_relaxed)) find();  // called before `find_all`
    void* const found = function_.load(std::memory_order_relaxed);
    if (!found) std::abort();
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

constinit Next<int(const char*, int, ...)> next_open("open"), next_open64("open64");
constinit Next<int(int, const char*, int, ...)> next_openat("openat"), next_openat64("openat64");
constinit Next<int(const char*, mode_t)> next_creat("creat");
constinit Next<FILE*(const char*, const char*)> next_fopen("fopen"), next_fopen64("fopen64");
constinit Next<FILE*(const char*, const char*, FILE*)> next_freopen("freopen");
constinit Next<int(const char*, const char*)> next_rename("rename");

[[gnu::constructor]] void find_all() {
  next_open.find();
  next_open64.find();
  next_openat.find();
  next_openat64.find();
  next_creat.find();
  next_fopen.find();
  next_fopen64.find();
  next_freopen.find();
  next_rename.find();
}

}  // namespace

void notice_written_files(const fs::path& root, const fs::path& without) {
  notices().begin(root, without);
}

std::vector<WrittenFile> take_written_files() { return notices().take(); }

}  // namespace flor::detail

#define FLOR_DEFINES extern "C" [[gnu::visibility("default")]]
// Reads the parameter `mode` of open and openat, which exists only if a file may be created.
#define FLOR_MODE(flags, mode)                            \
  mode_t mode = 0;                                        \
  if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    mode = va_arg(rest, mode_t);                          \
    va_end(rest);                                         \
  }

using namespace flor::detail;

FLOR_DEFINES int open(const char* path, int flags, ...) {
  FLOR_MODE(flags, mode)
  opens_with_flags(AT_FDCWD, path, flags);
  return next_open.get()(path, flags, mode);
}

FLOR_DEFINES int open64(const char* path, int flags, ...) {
  FLOR_MODE(flags, mode)
  opens_with_flags(AT_FDCWD, path, flags);
  return next_open64.get()(path, flags, mode);
}

FLOR_DEFINES int openat(int directory, const char* path, int flags, ...) {
  FLOR_MODE(flags, mode)
  opens_with_flags(directory, path, flags);
  return next_openat.get()(directory, path, flags, mode);
}

FLOR_DEFINES int openat64(int directory, const char* path, int flags, ...) {
  FLOR_MODE(flags, mode)
  opens_with_flags(directory, path, flags);
  return next_openat64.get()(directory, path, flags, mode);
}

FLOR_DEFINES int creat(const char* path, mode_t mode) {
  opens_with_flags(AT_FDCWD, path, O_WRONLY);
  return next_creat.get()(path, mode);
}

FLOR_DEFINES FILE* fopen(const char* path, const char* mode) {
  opens_with_mode(path, mode);
  return next_fopen.get()(path, mode);
}

FLOR_DEFINES FILE* fopen64(const char* path, const char* mode) {
  opens_with_mode(path, mode);
  return next_fopen64.get()(path, mode);
}

FLOR_DEFINES FILE* freopen(const char* path, const char* mode, FILE* stream) {
  opens_with_mode(path, mode);
  return next_freopen.get()(path, mode, stream);
}

FLOR_DEFINES int rename(const char* from, const char* to) noexcept {
  opens_with_flags(AT_FDCWD, to, O_WRONLY);
  return next_rename.get()(from, to);
}
