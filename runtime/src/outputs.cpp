#include "outputs.h"

#include "notice.h"
#include "process.h"
#include "sources/analysis.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntriesMax = 5000;  // some milliseconds
constexpr std::size_t kReplaysKept = 20;

/// Deletes all but the newest directories of replays.
void drop_old(const fs::path& outputs) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> replays;
  for (const auto& entry : fs::directory_iterator(outputs, error)) {
    replays.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::ranges::sort(replays);
  for (std::size_t i = 0; i + kReplaysKept < replays.size(); ++i) {
    fs::remove_all(replays[i].second, error);
  }
}

bool is_left_out(const fs::directory_entry& entry, const fs::path& without) {
  std::error_code error;
  return entry.path().filename().string().starts_with('.') || entry.path() == without ||
         fs::exists(entry.path() / "CMakeCache.txt", error);
}

}  // namespace

fs::path below(const fs::path& directory, const fs::path& path) {
  fs::path result = directory;
  for (const fs::path& part : path.lexically_normal().relative_path()) {
    if (part != ".." && part != ".") result /= part;
  }
  return result;
}

FilesAtStart::FilesAtStart(const fs::path& directory, const fs::path& without)
    : directory_(directory) {
  std::error_code error;
  std::size_t entries = 0;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (++entries > kEntriesMax) return;
    std::error_code gone;
    if (at->is_directory(gone)) {
      if (is_left_out(*at, without)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(gone) || sources::is_source(at->path().string())) continue;
    const Facts facts{at->file_size(gone), at->last_write_time(gone)};
    if (!gone) files_.emplace(at->path().string(), facts);
  }
}

std::vector<std::string> FilesAtStart::overwritten() const {
  std::vector<std::string> changed;
  for (const auto& [path, facts] : files_) {
    std::error_code error;
    const Facts now{fs::file_size(path, error), fs::last_write_time(path, error)};
    if (error || now == facts) continue;
    changed.push_back(fs::path(path).lexically_relative(directory_).string());
  }
  return changed;
}

ReplayFiles::ReplayFiles(const fs::path& home, const std::string& run)
    : outputs_(home / "outputs"),
      directory_(outputs_ / fmt::format("{}-{}-{}", run.substr(0, 8), now_us(), ::getpid())),
      files_(fs::current_path(), home) {}

const fs::path& ReplayFiles::directory() {
  if (!std::exchange(used_, true)) drop_old(outputs_);
  return directory_;
}

void ReplayFiles::report() const {
  if (used_) {
    say(Level::result, fmt::format("files of this replay are in {}", directory_.string()));
  }
  const std::vector<std::string> overwritten = files_.overwritten();
  if (overwritten.empty()) return;
  const std::size_t more = overwritten.size() - 1;
  say(Level::warn,
      fmt::format("{}{} {} overwritten while this replay ran: write such files to "
                  "flor::output(path), which a replay puts elsewhere, or only "
                  "if (!flor::replaying())",
                  overwritten.front(), more > 0 ? fmt::format(" (and {} more)", more) : "",
                  more > 0 ? "were" : "was"));
}

}  // namespace flor::detail
