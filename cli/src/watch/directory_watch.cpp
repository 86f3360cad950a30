#include "watch/directory_watch.h"

#include "maintain/shared_view.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Pause between two looks for a missing directory.
constexpr milliseconds kMissing{1000};

constexpr std::uint32_t kOfDirectory = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                       IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// Events of a directory that is polled: only whether it is there.
constexpr std::uint32_t kOfPlace = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kBelow =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

nanoseconds age(const store::FileIdentity& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(nanoseconds(0), nanoseconds(now) - nanoseconds(file.modified_ns));
}

/// Compares names with their numbers by value: "step_2" is before "step_10".
bool is_before(std::string_view left, std::string_view right) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (at + 1 < end && text[at] == '0') ++at;
    return text.substr(at, end - at);
  };
  std::size_t i = 0, k = 0;
  while (i < left.size() && k < right.size()) {
    if (is_digit(left[i]) && is_digit(right[k])) {
      const auto one = number(left, i), other = number(right, k);
      if (one != other) return std::pair(one.size(), one) < std::pair(other.size(), other);
      i = static_cast<std::size_t>(one.data() + one.size() - left.data());
      k = static_cast<std::size_t>(other.data() + other.size() - right.data());
    } else if (left[i] != right[k]) {
      return left[i] < right[k];
    } else {
      ++i, ++k;
    }
  }
  return i == left.size() && k < right.size();
}

void sort_by_age(std::vector<std::pair<std::string, store::FileIdentity>>& files) {
  std::ranges::stable_sort(files, [](const auto& a, const auto& b) {
    if (a.second.modified_ns != b.second.modified_ns) {
      return a.second.modified_ns < b.second.modified_ns;
    }
    return is_before(a.first, b.first);
  });
}

/// A scan examines each file even if nothing is new, so scans may take at most 1 / kScanShare of
/// the time.
constexpr int kScanShare = 4000;

bool links_to_neighbour(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return false;
  const fs::path target = fs::canonical(path, error);
  return !error && target.parent_path() == fs::canonical(path.parent_path(), error);
}

/// The first link that leads out of the directory: the checkpoint itself or something in it;
/// nullopt if there is none.
std::optional<fs::path> link_out_of(const fs::path& directory, const fs::path& checkpoint) {
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  const auto leads_out = [&](const fs::path& link) {
    std::error_code broken;
    const fs::path target = fs::canonical(link, broken);
    return !broken && std::ranges::mismatch(root, target).in1 != root.end();
  };
  if (fs::is_symlink(checkpoint, error)) {
    return leads_out(checkpoint) ? std::optional(checkpoint) : std::nullopt;
  }
  if (!fs::is_directory(checkpoint, error)) return std::nullopt;
  fs::recursive_directory_iterator walk(checkpoint, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code gone;
    if (walk->is_symlink(gone) && leads_out(walk->path())) return walk->path();
  }
  return std::nullopt;
}

}  // namespace

bool make_watched_directory(const fs::path& path) {
  std::error_code error, unknown;
  if (fs::is_directory(path, unknown)) return false;
  if (fs::create_directories(path, error)) return true;
  if (fs::is_directory(path, unknown)) return false;
  throw NotFound(fmt::format("there is no directory {}, and it cannot be made ({}): name another",
                             printable(path.string()), error.message()));
}

bool has_no_events(const fs::path& path) { return store::is_on_network(path); }

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
  directory.polled = options_.only_poll || has_no_events(directory.path);
  directory.watch = ::inotify_add_watch(inotify_, directory.path.c_str(),
                                        options_.only_poll ? kOfPlace : kOfDirectory);
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
  directory.polled = true;  // too many inotify watches, or a file system without events
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
  return !name.starts_with('.') && options_.filter.found_in(name) &&
         !links_to_neighbour(path);
}

std::vector<std::string> DirectoryWatch::places() const {
  std::vector<std::string> names;
  for (const Directory& directory : directories_) names.push_back(directory.path.string());
  return names;
}

std::vector<CheckpointSource::Known> DirectoryWatch::present(std::size_t index) const {
  std::vector<Known> all;
  std::error_code error;
  fs::directory_iterator walk(directories_[index].path, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    if (!is_checkpoint(walk->path())) continue;
    if (const auto file = identify(walk->path())) all.emplace_back(walk->path().string(), *file);
  }
  sort_by_age(all);
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
      notice(candidate->second.directory, path, false);
    }
    return;
  }
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    Directory& directory = directories_[i];
    if (directory.watch != watch) continue;
    if (mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) {
      detach(directory);
    } else if (!name.empty() && is_checkpoint(directory.path / name)) {
      // A file that was only created will be closed later; but a hard link is complete at once.
      notice(i, (directory.path / name).string(), (mask & IN_MOVED_TO) != 0);
    }
    return;
  }
}

void DirectoryWatch::scan(std::size_t index) {
  Directory& directory = directories_[index];
  const auto began = Clock::now();
  if (directory.watch < 0) attach(directory);
  std::vector<std::pair<std::string, store::FileIdentity>> unknown;
  std::error_code error;
  fs::directory_iterator walk(directory.path, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    const std::string& path = walk->path().native();
    const auto known = directory.known.find(path);
    // Comparing with a known file is faster than matching its name.
    if (known == directory.known.end() && !is_checkpoint(walk->path())) continue;
    const auto file = identify(walk->path());
    if (!file || (known != directory.known.end() && known->second == *file)) continue;
    unknown.emplace_back(path, *file);
  }
  sort_by_age(unknown);
  for (const auto& [path, file] : unknown) {
    const auto candidate = candidates_.find(path);
    const bool is_known = candidate != candidates_.end() &&
                          (candidate->second.is_new || candidate->second.file == file);
    if (!is_known) {
      notice(index, path, false);
    }
  }
  const auto most = kScanShare * (Clock::now() - began);
  const auto net = std::max<Clock::duration>(options_.rescan, most);
  directory.next_scan = Clock::now() + (directory.missing  ? std::min(options_.poll, kMissing)
                                        : directory.polled ? options_.poll
                                                           : net);
}

/// Called when something happened to the checkpoint. It is examined in this step.
void DirectoryWatch::notice(std::size_t index, const std::string& path, bool published) {
  Candidate& candidate = candidates_[path];
  candidate.directory = index;
  candidate.order = ++events_;
  candidate.published = published;
  candidate.next_look = Clock::now();
}

void DirectoryWatch::note_change(Candidate& candidate, const store::FileIdentity& file) {
  // The clock of another machine cannot be compared with this machine's.
  const bool is_local = !directories_[candidate.directory].polled;
  const nanoseconds old = candidate.is_new && is_local ? age(file) : nanoseconds(0);
  if (!candidate.is_new) candidate.published = false;
  candidate.is_new = false;
  candidate.file = file;
  candidate.unchanged_since = Clock::now() - std::chrono::duration_cast<Clock::duration>(old);
  candidate.pause = milliseconds(0);
}

std::optional<FoundCheckpoint> DirectoryWatch::look(const std::string& path, Candidate& candidate) {
  const Directory& directory = directories_[candidate.directory];
  const auto now = Clock::now();
  const Observation seen{.form = examine(path, options_.marker),
                         .being_written = !directory.polled && is_being_written(path),
                         .published = candidate.published,
                         .unchanged = now - candidate.unchanged_since};
  note_stall(
      path, candidate,
      !seen.being_written && seen.form == Wholeness::partial && seen.unchanged > options_.settle);
  if (is_complete(seen, options_.settle)) {
    const auto content = content_digest(path);
    if (content && identify(path) == candidate.file) {
      return FoundCheckpoint{candidate.directory, path, candidate.file, *content};
    }
  }
  // Events announce changes; this pause is the fallback, and the time for files to settle.
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

void DirectoryWatch::note_stall(const std::string& path, Candidate& candidate, bool stalled) {
  if (stalled && !candidate.stalled) {
    remarks_.push_back(
        fmt::format("{} is not complete, and no process writes it: it is judged if it becomes so",
                    printable(path)));
  }
  candidate.stalled = stalled;
}

void DirectoryWatch::forget(Candidates::iterator candidate) {
  forget_below(candidate->first);
  candidates_.erase(candidate);
}

std::vector<std::string> DirectoryWatch::due_candidates() const {
  std::vector<std::pair<std::uint64_t, std::string>> due;
  const auto now = Clock::now();
  for (const auto& [path, candidate] : candidates_) {
    if (candidate.next_look <= now) due.emplace_back(candidate.order, path);
  }
  std::ranges::sort(due);
  std::vector<std::string> paths;
  for (auto& [order, path] : due) paths.push_back(std::move(path));
  return paths;
}

void DirectoryWatch::step(const std::function<void(FoundCheckpoint)>& hand_over) {
  read_events();
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    if (directories_[i].next_scan <= Clock::now()) scan(i);
  }
  for (const std::string& path : due_candidates()) {
    const auto found = candidates_.find(path);
    Candidate& candidate = found->second;
    // The identity is taken before the examination, so that a write during it shows as another
    // identity.
    const auto file = identify(path);
    if (!file) {
      forget(found);
      continue;
    }
    Directory& directory = directories_[candidate.directory];
    if (const auto link = link_out_of(directory.path, path)) {
      remarks_.push_back(fmt::format(
          "{} is left out: the link {} leads out of the directory: copy what it leads to",
          printable(path), printable(link->filename().string())));
      directory.known[path] = *file;
      forget(found);
      continue;
    }
    if (candidate.is_new || *file != candidate.file) note_change(candidate, *file);
    if (auto complete = look(path, candidate)) {
      directory.known[path] = candidate.file;
      forget(found);
      hand_over(std::move(*complete));
    }
  }
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
