#include "file/mount_locks.h"

#include "file/paths.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

namespace flor::store {
namespace {

/// True for mount options with which the client keeps locks local: nfs(5), mount.cifs(8),
/// mount.lustre(8). An option for either fcntl or flock counts, because SQLite uses fcntl, and Flor
/// uses flock for runs and packs.
bool keeps_locks(std::string_view type, std::string_view option) {
  if (type == "nfs" || type == "nfs4") {
    return option == "nolock" || (option.starts_with("local_lock=") && option != "local_lock=none");
  }
  if (type == "cifs" || type == "smb3") return option == "nobrl";
  return type == "lustre" && option == "localflock";
}

}  // namespace

std::string why_locks_are_local(std::string_view mountinfo, std::string_view device) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // Example: 36 35 0:45 / /mnt rw,noatime shared:1 - nfs server:/export rw,vers=3,local_lock=none
    std::istringstream words(line);
    std::string word, number, type, source, options;
    words >> word >> word >> number;
    while (words >> word && word != "-") continue;
    if (number != device || !(words >> type >> source >> options)) continue;
    if (type == "fuse.sshfs") return "sshfs";
    std::istringstream each(options);
    for (std::string option; std::getline(each, option, ',');) {
      if (keeps_locks(type, option)) return option;
    }
  }
  return {};
}

std::string why_locks_are_local(const std::filesystem::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return {};
  std::ifstream in("/proc/self/mountinfo");
  const std::string mountinfo(std::istreambuf_iterator<char>(in), {});
  return why_locks_are_local(mountinfo,
                             fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev)));
}

namespace {

/// Creates a file in `home`, calls `act` with it, and deletes it; nullopt if it cannot be created.
/// SQLite's own files must not be used: closing one would release SQLite's locks.
template <typename Act>
std::optional<int> try_file(const std::filesystem::path& home, const Act& act) {
  // If the index lies outside the home, the home has no directory of locks.
  const std::filesystem::path locks = Paths{home}.locks();
  std::error_code error;
  const std::filesystem::path path = (std::filesystem::exists(locks, error) ? locks : home) /
                                     fmt::format("try-{}-{}", ::getpid(), ::gettid());
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return std::nullopt;
  errno = 0;
  const int code = act(descriptor) ? 0 : errno;
  ::close(descriptor);
  ::unlink(path.c_str());
  return code;
}

}  // namespace

std::string why_locks_fail(const std::filesystem::path& home) {
  const auto error = try_file(home, [](int descriptor) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return ::fcntl(descriptor, F_SETLK, &lock) == 0;
  });
  const bool works = !error || *error == 0 || *error == EINTR;
  return works ? std::string() : std::generic_category().message(*error);
}

int error_of_writing(const std::filesystem::path& home) {
  const auto error = try_file(home, [](int descriptor) {
    static constexpr char kPage[4096] = {};
    return ::pwrite(descriptor, kPage, sizeof kPage, 0) == sizeof kPage;
  });
  return error.value_or(errno);
}

}  // namespace flor::store
