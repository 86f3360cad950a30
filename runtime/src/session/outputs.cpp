#include "session/outputs.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "session/run_choice.h"
#include "base/written_files.h"
#include "sources/analysis.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReplaysKept = 20;

/// Deletes all but the newest kReplaysKept directories of replays.
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

}  // namespace

fs::path below(const fs::path& directory, const fs::path& path) {
  fs::path result = directory;
  for (const fs::path& part : path.lexically_normal().relative_path()) {
    if (part != ".." && part != ".") result /= part;
  }
  return result;
}

RecordedOutputs::RecordedOutputs(const fs::path& repository, const fs::path& home)
    : repository_(repository) {
  notice_written_files(repository, home);
}

void RecordedOutputs::enter(store::Catalog& catalog, std::int64_t run) const {
  std::vector<std::string> paths;
  for (const WrittenFile& file : take_written_files()) {
    // Source files that the program generates count as sources.
    if (sources::is_source(file.path.string())) continue;
    paths.push_back(file.path.lexically_relative(repository_).generic_string());
  }
  if (paths.empty()) return;
  catalog.remember_outputs(run, repository_.string(), this_program().key(), paths);
}

ReplayFiles::ReplayFiles(const fs::path& home, const store::Run& run, Journal& journal, Doubt doubt)
    : outputs_(home / "outputs"),
      directory_(outputs_ / fmt::format("{}-{}-{}", run.key.substr(0, 8), now_us(), ::getpid())),
      inputs_(home, run),
      journal_(journal),
      doubt_(std::move(doubt)) {
  notice_written_files(fs::current_path(), home);
}

void ReplayFiles::input(const fs::path& path) {
  const auto read = inputs_.read(path, epoch_of(journal_));
  if (read && !read->difference.empty()) doubt_("input " + read->difference);
}

fs::path ReplayFiles::output(const fs::path& path) {
  if (!used_.exchange(true)) drop_old(outputs_);
  return below(directory_, path);
}

void ReplayFiles::report() const {
  if (used_) {
    say(Level::result, fmt::format("files of this replay are in {}", directory_.string()));
  }
  std::vector<std::string> overwritten;
  for (const WrittenFile& file : take_written_files()) {
    if (!file.existed) continue;
    overwritten.push_back(file.path.lexically_relative(fs::current_path()).string());
  }
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
