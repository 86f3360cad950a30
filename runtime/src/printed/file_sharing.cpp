#include "printed/file_sharing.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace flor::detail {
namespace {

/// Returns 0 if there is no such process.
pid_t parent_of(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t name = text.rfind(')');  // the name may contain anything: "7 (a) b) S 1 ..."
  return name + 4 < text.size() ? static_cast<pid_t>(std::atoi(text.c_str() + name + 4)) : 0;
}

bool is_above(pid_t upper, pid_t process) {
  for (int steps = 0; process > 1 && steps < 1000; ++steps) {
    if (process == upper) return true;
    process = parent_of(process);
  }
  return process == upper;
}

}  // namespace

std::vector<bool> shared_with_others(std::span<const FileId> files) {
  std::vector<bool> shared(files.size());
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  const pid_t own = ::getpid();
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    const pid_t process = static_cast<pid_t>(std::atoi(entry->d_name));
    if (process <= 0 || process == own) continue;
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      const std::string name = fmt::format("{}/fd/{}", entry->d_name, descriptor);
      struct stat status {};
      if (::fstatat(::dirfd(processes.get()), name.c_str(), &status, 0) != 0) continue;
      const auto found = std::ranges::find(files, FileId{status.st_dev, status.st_ino});
      if (found == files.end()) continue;
      if (parent_of(process) == 0 || is_above(process, own) || is_above(own, process)) continue;
      shared[static_cast<std::size_t>(found - files.begin())] = true;
    }
  }
  return shared;
}

}  // namespace flor::detail
