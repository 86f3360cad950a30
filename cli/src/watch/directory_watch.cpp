#include "watch/directory_watch.h"

#include "output/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint32_t kOfDirectory = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                       IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kBelow =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

/// File systems on which other machines write without events here.
bool has_no_events(const fs::path& path) {
  constexpr std::array<std::uint32_t, 9> kRemote{
      NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,         CIFS_SUPER_MAGIC,
      SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC,        FUSE_SUPER_MAGIC,
      V9FS_MAGIC,       0x0BD00BD0 /* Lustre */, 0x47504653 /* GPFS */};
  struct statfs status{};
  if (::statfs(path.c_str(), &status) != 0) return false;
  return std::ranges::find(kRemote, static_cast<std::uint32_t>(status.f_type)) != kRemote.end();
}

nanoseconds age(const store::FileIdentity& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(nanoseconds(0), nanoseconds(now) - nanoseconds(file.modified_ns));
}

bool links_to_neighbour(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return false;
  const fs::path target = fs::canonical(path, error);
  return !error && target.parent_path() == fs::canonical(path.parent_path(), error);
}

}  // namespace

std::regex compile_filter(const std::string& filter) {
  try {
    return std::regex(filter, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw UsageError(
        fmt::format("--filter '{}' is no regular expression: {}", printable(filter), error.what()));
  }
}

DirectoryWatch::DirectoryWatch(std::vector<fs::path> directories,
                               const DirectoryWatchOptions& options)
    : options_(options) {
  for (fs::path& path : directories) {
    Directory& directory = directories_.emplace_back();
    directory.path = std::move(path);
    directory.next_scan = Clock::now();
  }
  inotify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ < 0) {
    throw Error(fmt::format("no events of files: {}: raise fs.inotify.max_user_instances",
                            std::strerror(errno)));
  }
  for (Directory& directory : directories_) attach(directory);
}

DirectoryWatch::~DirectoryWatch() {
  if (inotify_ >= 0) ::close(inotify_);
}

void DirectoryWatch::attach(Directory& directory) {
  directory.polled = has_no_events(directory.path);
  directory.watch = ::inotify_add_watch(inotify_, directory.path.c_str(), kOfDirectory);
  if (directory.watch >= 0) {
    if (directory.missing) {
      remarks_.push_back(fmt::format("{} is back", printable(directory.path.string())));
    }
    directory.missing = false;
    return;
  }
  if (errno == ENOENT || errno == ENOTDIR) {
    if (!directory.missing) {
      remarks_.push_back(
          fmt::format("{} is gone: waiting until it is back", printable(directory.path.string())));
    }
    directory.missing = true;
    return;
  }
  directory.polled = true;  // too many watches, or a file system without any
  remarks_.push_back(fmt::format("{} has no events ({}): it is looked at every {} s",
                                 printable(directory.path.string()), std::strerror(errno),
                                 options_.poll.count() / 1000));
}

void DirectoryWatch::detach(Directory& directory) {
  if (directory.watch >= 0) ::inotify_rm_watch(inotify_, directory.watch);
  directory.watch = -1;
  directory.next_scan = Clock::now();
}

bool DirectoryWatch::is_checkpoint(const fs::path& path) const {
  const std::string name = path.filename().string();
  return !name.starts_with('.') && std::regex_search(name, options_.filter) &&
         !links_to_neighbour(path);
}

std::vector<std::pair<std::string, store::FileIdentity>> DirectoryWatch::present(
    std::size_t index) const {
  std::vector<std::pair<std::string, store::FileIdentity>> all;
  std::error_code error;
  fs::directory_iterator walk(directories_[index].path, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    if (!is_checkpoint(walk->path())) continue;
    if (const auto file = identify(walk->path())) all.emplace_back(walk->path().string(), *file);
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return std::pair(a.second.modified_ns, a.first) < std::pair(b.second.modified_ns, b.first);
  });
  return all;
}

void DirectoryWatch::know(std::size_t index, const std::string& path,
                          const store::FileIdentity& file) {
  directories_[index].known[path] = file;
}

DirectoryWatch::Clock::time_point DirectoryWatch::due() const {
  auto first = Clock::time_point::max();
  for (const Directory& directory : directories_) first = std::min(first, directory.next_scan);
  for (const auto& [path, candidate] : candidates_) first = std::min(first, candidate.next_look);
  return first;
}

void DirectoryWatch::read_events() {
  alignas(inotify_event) char buffer[1 << 14];
  for (;;) {
    const ssize_t got = ::read(inotify_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    for (const char* at = buffer; at < buffer + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      handle(event->wd, event->mask, event->len > 0 ? std::string(event->name) : std::string());
    }
  }
}

void DirectoryWatch::handle(int watch, std::uint32_t mask, const std::string& name) {
  if (mask & IN_Q_OVERFLOW) {
    for (Directory& directory : directories_) directory.next_scan = Clock::now();
    for (auto& [path, candidate] : candidates_) candidate.next_look = Clock::now();
    return;
  }
  if (const auto found = below_.find(watch); found != below_.end()) {
    const std::string path = found->second;
    if (mask & IN_IGNORED) below_.erase(found);
    if (const auto candidate = candidates_.find(path); candidate != candidates_.end()) {
      consider(candidate->second.directory, path, true, false);
    }
    return;
  }
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    Directory& directory = directories_[i];
    if (directory.watch != watch) continue;
    if (mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) {
      detach(directory);
    } else if (!name.empty() && is_checkpoint(directory.path / name)) {
      const bool only_begun = (mask & IN_CREATE) && !(mask & IN_ISDIR);
      // Hard links and links appear without being closed, or moved; a file that is being written is
      // closed later.
      consider(i, (directory.path / name).string(), !only_begun, (mask & IN_MOVED_TO) != 0);
    }
    return;
  }
}

void DirectoryWatch::scan(std::size_t index) {
  Directory& directory = directories_[index];
  if (directory.watch < 0) attach(directory);
  const bool polled = directory.polled || directory.missing;
  const milliseconds pause = directory.missing ? std::min(options_.poll, milliseconds(1000))
                             : polled          ? options_.poll
                                               : options_.rescan;
  directory.next_scan = Clock::now() + pause;
  for (const auto& [path, file] : present(index)) consider(index, path, false, false);
}

void DirectoryWatch::consider(std::size_t index, const std::string& path, bool is_event,
                              bool published) {
  const auto file = identify(path);
  const auto found = candidates_.find(path);
  if (!file) {
    if (found != candidates_.end()) forget(found);
    return;
  }
  Directory& directory = directories_[index];
  const auto known = directory.known.find(path);
  const bool is_known = known != directory.known.end() && known->second == *file;
  if (is_known && !is_event) return;
  const bool is_new = found == candidates_.end();
  Candidate& candidate = candidates_[path];
  candidate.directory = index;
  if (is_new || candidate.file != *file) note_change(candidate, *file, is_new);
  candidate.published = candidate.published || published;
  if (is_new || is_event) candidate.next_look = Clock::now();
}

void DirectoryWatch::note_change(Candidate& candidate, const store::FileIdentity& file,
                                 bool is_new) {
  // The clock of another machine says nothing here.
  const bool is_local = !directories_[candidate.directory].polled;
  const nanoseconds old = is_new && is_local ? age(file) : nanoseconds(0);
  candidate.file = file;
  candidate.unchanged_since = Clock::now() - std::chrono::duration_cast<Clock::duration>(old);
  candidate.published = false;
  candidate.pause = milliseconds(0);
}

std::optional<Found> DirectoryWatch::look(const std::string& path, Candidate& candidate) {
  const Directory& directory = directories_[candidate.directory];
  const auto now = Clock::now();
  const Observation seen{.form = examine(path, options_.marker),
                         .being_written = !directory.polled && is_being_written(path),
                         .published = candidate.published,
                         .unchanged = now - candidate.unchanged_since};
  candidate.stalled =
      !seen.being_written && seen.form == Wholeness::partial && seen.unchanged > options_.settle;
  if (is_complete(seen, options_.settle)) {
    const auto content = content_digest(path);
    if (content && identify(path) == candidate.file) {
      return Found{candidate.directory, path, candidate.file, *content};
    }
  }
  // Events come when something happens; this is the net, and the wait for what settles.
  candidate.pause = std::clamp(candidate.pause * 2, milliseconds(1000), options_.rescan);
  candidate.next_look = now + candidate.pause;
  if (seen.form == Wholeness::unknown && !seen.being_written) {
    const auto settled = candidate.unchanged_since + options_.settle;
    candidate.next_look = std::clamp(settled, now + milliseconds(1), candidate.next_look);
  }
  watch_below(path);
  return std::nullopt;
}

void DirectoryWatch::watch_below(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return;
  const auto add = [&](const fs::path& directory) {
    const int watch = ::inotify_add_watch(inotify_, directory.c_str(), kBelow);
    if (watch >= 0) below_[watch] = path.string();
  };
  add(path);
  fs::recursive_directory_iterator walk(path, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->is_directory(error)) add(walk->path());
  }
}

void DirectoryWatch::forget_below(const std::string& path) {
  for (auto watch = below_.begin(); watch != below_.end();) {
    if (watch->second != path) {
      ++watch;
      continue;
    }
    ::inotify_rm_watch(inotify_, watch->first);
    watch = below_.erase(watch);
  }
}

DirectoryWatch::Candidates::iterator DirectoryWatch::forget(Candidates::iterator candidate) {
  forget_below(candidate->first);
  return candidates_.erase(candidate);
}

std::vector<Found> DirectoryWatch::step() {
  read_events();
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    if (directories_[i].next_scan <= Clock::now()) scan(i);
  }
  std::vector<Found> found;
  for (auto next = candidates_.begin(); next != candidates_.end();) {
    auto& [path, candidate] = *next;
    if (candidate.next_look > Clock::now()) {
      ++next;
      continue;
    }
    // What was written to while it was examined shows in its identity.
    const auto file = identify(path);
    if (!file) {
      next = forget(next);
      continue;
    }
    if (*file != candidate.file) note_change(candidate, *file, false);
    if (auto complete = look(path, candidate)) {
      directories_[candidate.directory].known[path] = candidate.file;
      found.push_back(std::move(*complete));
      next = forget(next);
    } else {
      ++next;
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const Found& one) { return std::pair(one.file.modified_ns, one.path); });
  return found;
}

std::size_t DirectoryWatch::expected() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(candidates_, [](const auto& entry) { return !entry.second.stalled; }));
}

std::vector<std::string> DirectoryWatch::incomplete() const {
  std::vector<std::string> paths;
  for (const auto& [path, candidate] : candidates_) paths.push_back(path);
  return paths;
}

std::vector<std::string> DirectoryWatch::remarks() { return std::exchange(remarks_, {}); }

}  // namespace flor::cli
