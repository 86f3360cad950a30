#include "git/tree/work_tree.h"

#include "base/text.h"
#include "git/tree/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace flor::git {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// Leaves out untracked files, the largest first, until the rest fits the limit in bytes.
void limit_untracked(Walked& walked, std::uint64_t limit) {
  std::uint64_t total = 0;
  std::vector<FoundFile*> untracked;
  for (FoundFile& file : walked.files) {
    if (file.tracked || file.entry.mode == GIT_FILEMODE_COMMIT) continue;
    total += file.entry.stat.size;
    untracked.push_back(&file);
  }
  if (total <= limit) return;
  std::stable_sort(untracked.begin(), untracked.end(), [](const FoundFile* a, const FoundFile* b) {
    return a->entry.stat.size > b->entry.stat.size;
  });
  struct Sum {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (FoundFile* file : untracked) {
    if (total <= limit) break;
    total -= file->entry.stat.size;
    Sum& sum = sums[directory_of(file->entry.path)];
    ++sum.files;
    sum.bytes += file->entry.stat.size;
    file->entry.path.clear();
  }
  std::erase_if(walked.files, [](const FoundFile& file) { return file.entry.path.empty(); });
  for (const auto& [directory, sum] : sums) {
    walked.left_out.push_back(
        fmt::format("{}* ({} files, {}, untracked: all untracked files together are over {})",
                    printable(directory), sum.files, store::print_bytes(sum.bytes),
                    store::print_bytes(limit)));
  }
}

bool is_below(const std::string& path, const std::vector<std::string>& directories) {
  return std::any_of(directories.begin(), directories.end(),
                     [&](const std::string& directory) { return path.starts_with(directory); });
}

/// Whether a parent directory of `path` is a file or a repository in `entries`, which are sorted.
bool is_hidden(const std::string& path, const std::vector<FileEntry>& entries) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string_view parent = std::string_view(path).substr(0, slash);
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), parent,
                         [](const FileEntry& a, std::string_view b) { return a.path < b; });
    if (found != entries.end() && found->path == parent) return true;
  }
  return false;
}

void sort_by_path(std::vector<FileEntry>& entries) {
  const auto order = [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; };
  if (!std::is_sorted(entries.begin(), entries.end(), order)) {
    std::sort(entries.begin(), entries.end(), order);
  }
}

/// Adds tracked files that are not in the work tree although they were not deleted: those outside a
/// sparse checkout, and those in a directory that cannot be read.
void add_unseen(const IndexFile& index, const Walked& walked, std::vector<FileEntry>& entries) {
  std::vector<FileEntry> kept;
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    const TrackedEntry& tracked = index.entries[i];
    if (walked.seen[i]) continue;
    if (!tracked.skip_worktree && !is_below(tracked.path, walked.unreadable)) continue;
    if (tracked.conflicted || is_hidden(tracked.path, entries)) continue;
    kept.push_back({tracked.path, tracked.mode, tracked.id, FileStat{}});
  }
  std::move(kept.begin(), kept.end(), std::back_inserter(entries));
}

class TreeReader {
 public:
  TreeReader(const WalkInput& input, Snapshot& snapshot) : in_(input), snapshot_(snapshot) {}

  /// The entry for a file; nothing if the file is not to be in the tree.
  std::optional<FileEntry> read(FoundFile& file) {
    FileEntry& entry = file.entry;
    if (file.known) return std::move(entry);
    if (!writer_) writer_.emplace(in_.repository, in_.root, in_.index);
    ++snapshot_.read;
    const StoredContent content = writer_->store(entry, file.tracked, file.guarded);
    if (!content.secret.empty()) {
      snapshot_.secrets.push_back(fmt::format("{} ({})", printable(entry.path), content.secret));
      return std::nullopt;
    }
    if (content.stored) {
      entry.id = content.id;
      entry.searched = file.guarded;
      if (!content.settled) entry.stat = FileStat{};
      return std::move(entry);
    }
    if (content.vanished) return std::nullopt;
    snapshot_.left_out.push_back(fmt::format("{} ({})", printable(entry.path), content.problem));
    if (!file.tracked || file.tracked->conflicted) return std::nullopt;
    return FileEntry{entry.path, file.tracked->mode, file.tracked->id, FileStat{}};
  }

 private:
  const WalkInput& in_;
  Snapshot& snapshot_;
  std::optional<ContentWriter> writer_;
};

}  // namespace

Snapshot take_snapshot(const WalkInput& input) {
  Walked walked = walk_work_tree(input);
  limit_untracked(walked, input.options.untracked_total_bytes_max);
  Snapshot snapshot;
  snapshot.left_out = std::move(walked.left_out);
  snapshot.secrets = std::move(walked.secrets);
  snapshot.outputs = std::move(walked.outputs);
  snapshot.entries.reserve(walked.files.size());
  TreeReader reader(input, snapshot);
  for (FoundFile& file : walked.files) {
    if (auto entry = reader.read(file)) snapshot.entries.push_back(std::move(*entry));
  }
  sort_by_path(snapshot.entries);
  add_unseen(input.index, walked, snapshot.entries);
  sort_by_path(snapshot.entries);
  std::sort(snapshot.left_out.begin(), snapshot.left_out.end());
  std::sort(snapshot.secrets.begin(), snapshot.secrets.end());
  return snapshot;
}

}  // namespace flor::git
