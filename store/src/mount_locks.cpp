#include "mount_locks.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace flor::store {
namespace {

/// nfs(5), mount.cifs(8), mount.lustre(8): options with which a client keeps locks to itself.
/// SQLite has its locks by fcntl, runs and packs have theirs by flock: both are needed.
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
    // 36 35 0:45 / /mnt rw,noatime shared:1 - nfs server:/export rw,vers=3,local_lock=none
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
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) return {};
  std::ifstream in("/proc/self/mountinfo");
  const std::string mountinfo(std::istreambuf_iterator<char>(in), {});
  return why_locks_are_local(mountinfo,
                             fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev)));
}

}  // namespace flor::store
