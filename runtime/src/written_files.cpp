// The functions of the C library that open files, defined here with their own names. The linker
// takes the first definition that it finds, so that shared libraries (libstdc++, libtorch, libpng)
// call these, too; each hands on to the next definition, which is that of the C library.
#undef _FORTIFY_SOURCE  // it would make inline functions of some of them

#include "written_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

struct FileFacts {
  off_t bytes = 0;
  timespec time{};
  ino_t number = 0;

  static std::optional<FileFacts> of(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return FileFacts{status.st_size, status.st_mtim, status.st_ino};
  }
  bool operator==(const FileFacts& other) const {
    return bytes == other.bytes && number == other.number && time.tv_sec == other.time.tv_sec &&
           time.tv_nsec == other.time.tv_nsec;
  }
};

class WriteNotices {
 public:
  void begin(const fs::path& root, const fs::path& without) {
    const std::lock_guard lock(mutex_);
    root_ = with_slash(root);
    without_ = with_slash(without);
    process_ = ::getpid();
    open_.clear();
    known_.clear();
    on_ = true;
  }

  /// Before the file is opened.
  void opens(int directory, const char* path) {
    if (!on_ || noticing_ || ::getpid() != process_) return;
    const int error = errno;
    noticing_ = true;  // what is called here opens nothing, and a signal may come meanwhile
    try {
      notice(directory, path);
    } catch (...) {  // without memory for the name the program goes on
    }
    noticing_ = false;
    errno = error;
  }

  std::vector<WrittenFile> take() {
    const std::lock_guard lock(mutex_);
    std::vector<WrittenFile> written;
    std::erase_if(open_, [&](const auto& entry) {
      const auto& [path, before] = entry;
      const auto now = FileFacts::of(path);
      if (!now || now == before) return false;
      written.push_back({.path = path, .existed = before.has_value()});
      return true;
    });
    return written;
  }

 private:
  static constexpr std::size_t kFilesMax = 20'000;

  static std::string with_slash(const fs::path& directory) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(directory, error);
    return (error ? directory : real).string() + "/";
  }

  void notice(int directory, const char* name) {
    std::string text = absolute(directory, name);
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kFilesMax || !known_.insert(text).second) return;
    const fs::path path = fs::path(text).lexically_normal();
    std::error_code error;
    const fs::path parent = fs::canonical(path.parent_path(), error);
    if (error) return;
    std::string real = (parent / path.filename()).string();
    if (!real.starts_with(root_) || real.starts_with(without_)) return;
    auto before = FileFacts::of(real);
    open_.try_emplace(std::move(real), before);
  }

  static std::string absolute(int directory, const char* name) {
    if (*name == '/') return name;
    std::error_code error;
    const fs::path link = directory == AT_FDCWD
                              ? fs::path("/proc/self/cwd")
                              : fs::path("/proc/self/fd") / std::to_string(directory);
    return (fs::read_symlink(link, error) / name).string();
  }

  std::atomic<bool> on_{false};
  std::atomic<pid_t> process_{0};
  static thread_local bool noticing_;
  std::mutex mutex_;
  std::string root_, without_;
  std::unordered_set<std::string> known_;  ///< as the program calls them
  std::map<std::string, std::optional<FileFacts>> open_;
};

thread_local bool WriteNotices::noticing_ = false;

/// Never destroyed: files are opened until the process is gone.
WriteNotices& notices() {
  static auto* const notices = new WriteNotices;
  return *notices;
}

void opens_with_flags(int directory, const char* path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0) {
    notices().opens(directory, path);
  }
}

void opens_with_mode(const char* path, const char* mode) {
  if (path && std::strpbrk(mode, "wa+")) notices().opens(AT_FDCWD, path);
}

template <typename Function>
Function* next_definition(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (!found) std::abort();
  return reinterpret_cast<Function*>(found);
}

}  // namespace

void notice_written_files(const fs::path& root, const fs::path& without) {
  notices().begin(root, without);
}

std::vector<WrittenFile> take_written_files() { return notices().take(); }

}  // namespace flor::detail

#define FLOR_DEFINES extern "C" [[gnu::visibility("default")]]
// The mode of open and openat, which is there only where a file may be made.
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
  static auto* const next = next_definition<int(const char*, int, ...)>("open");
  FLOR_MODE(flags, mode)
  opens_with_flags(AT_FDCWD, path, flags);
  return next(path, flags, mode);
}

FLOR_DEFINES int open64(const char* path, int flags, ...) {
  static auto* const next = next_definition<int(const char*, int, ...)>("open64");
  FLOR_MODE(flags, mode)
  opens_with_flags(AT_FDCWD, path, flags);
  return next(path, flags, mode);
}

FLOR_DEFINES int openat(int directory, const char* path, int flags, ...) {
  static auto* const next = next_definition<int(int, const char*, int, ...)>("openat");
  FLOR_MODE(flags, mode)
  opens_with_flags(directory, path, flags);
  return next(directory, path, flags, mode);
}

FLOR_DEFINES int openat64(int directory, const char* path, int flags, ...) {
  static auto* const next = next_definition<int(int, const char*, int, ...)>("openat64");
  FLOR_MODE(flags, mode)
  opens_with_flags(directory, path, flags);
  return next(directory, path, flags, mode);
}

FLOR_DEFINES int creat(const char* path, mode_t mode) {
  static auto* const next = next_definition<int(const char*, mode_t)>("creat");
  opens_with_flags(AT_FDCWD, path, O_WRONLY);
  return next(path, mode);
}

FLOR_DEFINES FILE* fopen(const char* path, const char* mode) {
  static auto* const next = next_definition<FILE*(const char*, const char*)>("fopen");
  opens_with_mode(path, mode);
  return next(path, mode);
}

FLOR_DEFINES FILE* fopen64(const char* path, const char* mode) {
  static auto* const next = next_definition<FILE*(const char*, const char*)>("fopen64");
  opens_with_mode(path, mode);
  return next(path, mode);
}

FLOR_DEFINES FILE* freopen(const char* path, const char* mode, FILE* stream) {
  static auto* const next = next_definition<FILE*(const char*, const char*, FILE*)>("freopen");
  opens_with_mode(path, mode);
  return next(path, mode, stream);
}

FLOR_DEFINES int rename(const char* from, const char* to) noexcept {
  static auto* const next = next_definition<int(const char*, const char*)>("rename");
  opens_with_flags(AT_FDCWD, to, O_WRONLY);
  return next(from, to);
}
