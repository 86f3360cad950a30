#include "git/tree/user_index.h"

#include "git/backoff.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace flor::git {
namespace {

const FileEntry* find(const std::vector<FileEntry>& entries, std::string_view path) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), path,
                       [](const FileEntry& a, std::string_view b) { return a.path < b; });
  return found != entries.end() && found->path == path ? &*found : nullptr;
}

void add(git_index* index, const FileEntry& entry, const std::filesystem::path& root) {
  git_index_entry item{};
  item.path = entry.path.c_str();
  item.mode = entry.mode;
  item.id = entry.id;
  struct stat status{};
  const bool settled = !(entry.stat == FileStat{});
  if (settled && ::lstat((root / entry.path).c_str(), &status) == 0 &&
      FileStat::of(status) == entry.stat) {
    item.ctime = {static_cast<std::int32_t>(status.st_ctim.tv_sec),
                  static_cast<std::uint32_t>(status.st_ctim.tv_nsec)};
    item.mtime = {static_cast<std::int32_t>(status.st_mtim.tv_sec),
                  static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
    item.dev = static_cast<std::uint32_t>(status.st_dev);
    item.ino = static_cast<std::uint32_t>(status.st_ino);
    item.uid = status.st_uid;
    item.gid = status.st_gid;
    item.file_size = static_cast<std::uint32_t>(status.st_size);
  }
  check(git_index_add(index, &item), "cannot update the index");
}

void bring_in_line(git_index* index, const std::vector<FileEntry>& entries,
                   const std::filesystem::path& root) {
  check(git_index_conflict_cleanup(index), "cannot update the index");
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* item = git_index_get_byindex(index, i);
    if (!find(entries, item->path)) gone.emplace_back(item->path);
  }
  for (const std::string& path : gone) {
    check(git_index_remove(index, path.c_str(), 0), "cannot update the index");
  }
  for (const FileEntry& entry : entries) {
    const git_index_entry* item = git_index_get_bypath(index, entry.path.c_str(), 0);
    if (item && item->mode == entry.mode && item->id == entry.id) continue;
    add(index, entry, root);
  }
}

}  // namespace

UserIndexUpdate::UserIndexUpdate(std::filesystem::path git_directory, std::filesystem::path root)
    : root_(std::move(root)),
      index_(git_directory / "index"),
      lock_(git_directory / "index.lock"),
      copy_(git_directory / "flor" / fmt::format("user-index.{}", ::getpid())) {
  Backoff backoff(kLockPatience);
  for (;;) {
    const int file = ::open(lock_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      locked_ = true;
      return;
    }
    if (errno != EEXIST) {
      throw Error(fmt::format("cannot write {}: {}", lock_.string(), std::strerror(errno)));
    }
    if (!backoff.wait()) {
      throw Busy(
          fmt::format("HEAD is the shadow branch and its index is locked by another git "
                      "command; if none is running, remove {}",
                      lock_.string()));
    }
  }
}

UserIndexUpdate::~UserIndexUpdate() {
  ::unlink(copy_.c_str());
  if (locked_) ::unlink(lock_.c_str());
}

void UserIndexUpdate::prepare(const std::vector<FileEntry>& entries) {
  std::error_code ignored;
  std::filesystem::create_directories(copy_.parent_path(), ignored);
  std::filesystem::remove(copy_, ignored);
  std::error_code error;
  if (std::filesystem::exists(index_, ignored)) {
    std::filesystem::copy_file(index_, copy_, error);
    if (error) throw Error(fmt::format("cannot copy {}: {}", index_.string(), error.message()));
  }
  git_index* raw = nullptr;
  if (git_index_open(&raw, copy_.c_str()) < 0) {
    throw Error(
        fmt::format("HEAD is the shadow branch and its index cannot be updated: {}; run "
                    "`git update-index --no-split-index` or `git sparse-checkout reapply "
                    "--no-sparse-index`, or check another branch out",
                    last_error()));
  }
  const IndexHandle index(raw);
  bring_in_line(raw, entries, root_);
  check(git_index_write(raw), "cannot write the index");
}

void UserIndexUpdate::publish() {
  struct stat status{};
  if (::stat(index_.c_str(), &status) == 0) ::chmod(copy_.c_str(), status.st_mode & 07777);
  if (::rename(copy_.c_str(), lock_.c_str()) != 0 || ::rename(lock_.c_str(), index_.c_str()) != 0) {
    throw Error(fmt::format("cannot replace {}: {}; `git reset` brings it in line", index_.string(),
                            std::strerror(errno)));
  }
  locked_ = false;
}

}  // namespace flor::git
