#include "file/shared_home.h"

#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/mount_locks.h"
#include "file/own_directory.h"
#include "file/random.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// The mark consists of two lines of 16 hex digits: an id that never changes, and a stamp that
/// changes with each renewal.
constexpr std::size_t kLine = 17;
constexpr std::size_t kMark = 2 * kLine;

std::string random_line() { return fmt::format("{:016x}\n", random_bits()); }

std::string read_mark(const Paths& home) {
  std::array<char, kMark + 1> text{};
  const int file = ::open(home.indexes().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  ::close(file);
  return got == kMark ? std::string(text.data(), kMark) : std::string();
}

void write_mark(const Paths& home, Filesystem& filesystem, const std::string& text,
                std::size_t offset) {
  File file(filesystem, home.indexes(), O_RDWR);
  file.write_at(std::as_bytes(std::span(text)), offset);
  file.sync();
}

/// Writes the mark. Also completes one whose writer was killed.
std::string make_mark(const Paths& home, Filesystem& filesystem) {
  { const File made(filesystem, home.indexes(), O_RDWR | O_CREAT, kInHome); }
  Paths shared = home;
  shared.shared = true;
  const HomeLock lock(shared, filesystem, std::chrono::seconds(30));
  if (std::string mark = read_mark(home); !mark.empty()) return mark;
  std::string mark = random_line() + random_line();
  write_mark(home, filesystem, mark, 0);
  sync_directory(filesystem, home.home);
  return mark;
}

/// Renames the index in the home when the home becomes shared. No process will update it any more,
/// and under another name no process uses it.
void put_old_index_aside(const Paths& home) {
  std::error_code error;
  const fs::path old = home.catalog().string() + ".old";
  if (!fs::exists(home.catalog(), error)) return;
  fs::rename(home.catalog(), old, error);
  if (error) throw_system_error("rename", home.catalog(), error.value());
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    fs::remove(home.catalog().string() + suffix, error);
  }
  std::fprintf(stderr,
               "flor: %s is on a network file system: each machine has an index of its own there, "
               "and that in the home is %s now, which may be removed\n",
               home.home.c_str(), old.c_str());
}

/// Returns the home's mark. If the home is on a network file system and has no mark, makes it;
/// without `may_mark` only for an existing store that this user may write. Empty if there is no
/// mark; then the index in the home is used as it is.
std::string require_mark(const Paths& home, bool may_mark, Filesystem& filesystem) {
  std::error_code error;
  const bool is_marked = fs::exists(home.indexes(), error);
  bool is_on_disk = shared_memory_works(filesystem, home.home);  // throws for a wrong setting
  if (std::string mark = is_marked ? read_mark(home) : std::string(); !mark.empty()) return mark;
  if (!is_marked) {
    if (may_mark && !fs::exists(home.home, error)) {
      make_home(home.home, error);
      if (error) throw_system_error("create the store in", home.home, error.value());
      is_on_disk = shared_memory_works(filesystem, home.home);
    }
    if (is_on_disk) return {};
    const bool is_store = fs::exists(home.runs(), error) || fs::exists(home.catalog(), error);
    if (!may_mark && !is_store) return {};
  }
  if (!may_mark && ::access(home.home.c_str(), W_OK) != 0) return {};
  std::string mark = make_mark(home, filesystem);
  if (!is_marked) put_old_index_aside(home);
  return mark;
}

/// Returns the nearest existing parent, which is on the file system that `directory` will be on.
fs::path existing_above(fs::path directory) {
  std::error_code error;
  while (!fs::exists(directory, error) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return directory;
}

// Uses the real file system: tests replace the one of homes, not that of local disks for indexes.
bool is_on_local_disk(const fs::path& directory) {
  return is_local(Filesystem::system(), existing_above(directory));
}

fs::path cache_directory() {
  for (const auto& [variable, below] : {std::pair{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}}) {
    const char* const told = std::getenv(variable);
    if (told && fs::path(told).is_absolute()) return fs::path(told) / below / "flor" / "indexes";
  }
  return {};
}

fs::path private_in(const fs::path& directory, const std::string& name) {
  std::error_code error;
  make_private_directory(directory, error);
  if (error) throw_system_error("make the directory", directory, error.value());
  return own_temporary_directory(name, directory);
}

std::optional<fs::path> directory_of(const std::string& name, std::string& why) {
  if (const char* const told = std::getenv("FLOR_INDEX"); told && *told != '\0') {
    const fs::path place = fs::absolute(told).lexically_normal();
    if (!is_on_local_disk(place)) {
      throw Error(
          fmt::format("FLOR_INDEX={} is on a network file system: name a directory on a "
                      "local disk",
                      told));
    }
    return private_in(place, name);
  }
  const auto attempt = [&](const auto& make) -> std::optional<fs::path> {
    try {
      return make();
    } catch (const Error& error) {
      why = error.what();
      return std::nullopt;
    }
  };
  if (const fs::path cache = cache_directory(); !cache.empty() && is_on_local_disk(cache)) {
    if (auto made = attempt([&] { return private_in(cache, name); })) return made;
  }
  const fs::path last = "/var/tmp";
  if (!is_on_local_disk(last)) {
    why = "/var/tmp is on a network file system";
    return std::nullopt;
  }
  return attempt([&] {
    return own_temporary_directory(
        name, own_temporary_directory(fmt::format("flor-{}", ::geteuid()), last));
  });
}

/// Includes the file's identity, so that a copy of a home, or a restored home, gets another index.
std::string name_of_index(const Paths& home, std::string_view mark) {
  struct stat found {};
  ::stat(home.indexes().c_str(), &found);
  const std::string identity =
      fmt::format("{}\n{}{}", home.home.string(), mark.substr(0, kLine), found.st_ino);
  return digest_of(std::as_bytes(std::span(identity))).hex().substr(0, 16);
}

}  // namespace

Paths with_own_index(Paths home, bool may_mark, Filesystem& filesystem, std::string& why) {
  const std::string mark = require_mark(home, may_mark, filesystem);
  if (mark.empty()) return home;
  home.shared = true;
  const auto directory = directory_of(name_of_index(home, mark), why);
  home.index = directory ? (*directory / Paths::kIndex).string() : std::string();
  if (directory) why.clear();
  return home;
}

void warn_of_local_locks(const Paths& home, Filesystem& filesystem) {
  if (!home.shared) return;
  static std::once_flag said;
  std::call_once(said, [&] {
    const std::string why = filesystem.why_locks_are_local(home.home.c_str());
    if (why.empty()) return;
    std::fprintf(stderr,
                 "flor: locks in %s keep out processes of this machine only (%s): record into it "
                 "on one machine at a time, or give each a FLOR_HOME of its own\n",
                 home.home.c_str(), why.c_str());
  });
}

std::string mark_of(const Paths& home) { return read_mark(home); }

std::string renew_mark(const Paths& home, Filesystem& filesystem) {
  write_mark(home, filesystem, random_line(), kLine);
  return read_mark(home);
}

HomeLock::HomeLock(const Paths& home, Filesystem& filesystem, milliseconds patience) {
  if (!home.shared) return;
  const fs::path path = home.indexes();
  descriptor_ = filesystem.open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor_ < 0) throw_system_error("open", path, errno);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto pause = milliseconds(1); !lock_file(descriptor_, LOCK_EX | LOCK_NB);
       pause = std::min(pause * 2, milliseconds(50))) {
    const int error = errno;
    if (error == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    ::close(descriptor_);
    if (error == EWOULDBLOCK) {
      throw Busy(fmt::format(
          "{} is locked by another process, perhaps on another machine, since more than {:g} s: "
          "wait for it, or end it",
          path.string(), std::chrono::duration<double>(patience).count()));
    }
    throw Error(
        fmt::format("{} cannot be locked ({}): its file system refuses locks; see to its lock "
                    "service, or put the store on a local disk (--flor_home or FLOR_HOME)",
                    path.string(), std::generic_category().message(error)));
  }
}

/// Unlocks explicitly: a child forked meanwhile has the descriptor, too, so closing is not enough.
HomeLock::~HomeLock() {
  if (descriptor_ < 0) return;
  lock_file(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace flor::store
