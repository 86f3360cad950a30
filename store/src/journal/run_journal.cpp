#include "journal/run_journal.h"

#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/random.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <limits>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

/// Leaves room for what a frame has besides.
constexpr std::size_t kPieceBytes = kFrameBytesMax;

std::optional<std::int64_t> writer_number(const fs::path& directory) {
  const std::string name = directory.filename().string();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 1) return std::nullopt;
  return number;
}

/// False if the directory is there and cannot be listed.
template <typename Visit>
bool each_entry(const fs::path& directory, const Visit& visit) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    visit(entry->path());
  }
  return !error || error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory;
}

bool is_run_key(std::string_view name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// False if it is there.
bool make_exclusively(const fs::path& directory) {
  struct stat above {};
  if (::stat(directory.parent_path().c_str(), &above) != 0) {
    throw_system_error("look at", directory.parent_path(), errno);
  }
  if (::mkdir(directory.c_str(), 0700) != 0) {
    if (errno == EEXIST) return false;
    throw_system_error("create", directory, errno);
  }
  ::chmod(directory.c_str(), above.st_mode & 07777);  // for those who may enter the one above it
  return true;
}

/// Tells others that the writer lives; without that a repair would take the file from under it.
void lock(const FrameWriter& frames) {
  // A process that asks for it holds a shared lock for a moment.
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kPause{5};
  for (int i = 0; !lock_file(frames.descriptor(), LOCK_EX | LOCK_NB); ++i) {
    if (errno != EWOULDBLOCK || i == kTries) throw_system_error("lock", frames.path(), errno);
    std::this_thread::sleep_for(kPause);
  }
}

void append_event(FrameWriter& frames, EventKind kind, std::span<const std::byte> payload) {
  while (payload.size() > kPieceBytes) {
    frames.append(static_cast<std::uint16_t>(EventKind::piece), payload.first(kPieceBytes));
    payload = payload.subspan(kPieceBytes);
  }
  frames.append(static_cast<std::uint16_t>(kind), payload);
}

}  // namespace

std::vector<FoundJournal> find_journals(const Paths& paths, std::string_view run) {
  std::vector<FoundJournal> found;
  const bool is_whole = each_entry(paths.run(run), [&](const fs::path& entry) {
    // A process that was killed when it had made its directory leaves it empty.
    std::error_code error;
    const auto number = writer_number(entry);
    if (number && (fs::exists(entry / "journal", error) || error))
      found.push_back({*number, entry / "journal"});
  });
  if (!is_whole) found.push_back({0, paths.run(run)});
  std::ranges::sort(found, {}, &FoundJournal::number);
  return found;
}

std::vector<std::string> find_runs(const Paths& paths, std::vector<fs::path>* unlisted) {
  std::vector<std::string> runs;
  std::vector<fs::path> closed;
  const auto visit = [&](const fs::path& directory, const auto& each) {
    if (!each_entry(directory, each)) closed.push_back(directory);
  };
  visit(paths.runs(), [&](const fs::path& shard) {
    visit(shard, [&](const fs::path& run) {
      const std::string name = run.filename().string();
      if (is_run_key(name) && name.starts_with(shard.filename().string())) runs.push_back(name);
    });
  });
  if (unlisted) *unlisted = std::move(closed);
  return runs;
}

std::vector<std::string> find_announced_runs(const Paths& paths) {
  std::vector<std::string> runs;
  each_entry(paths.announced(), [&](const fs::path& entry) {
    const std::string name = entry.stem().string();
    if (is_run_key(name)) runs.push_back(name);
  });
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

void announce(const Paths& paths, std::string_view run) noexcept {
  try {
    require_directory_in_home(paths.announced());
    File(Filesystem::system(), paths.announced() / fmt::format("{}.{:016x}", run, 0),
         O_WRONLY | O_CREAT, kInHome);
  } catch (const std::exception&) {
    // `flor fsck` names the journals that cannot be read.
  }
}

std::vector<fs::path> announcements_of(const Paths& paths, std::string_view run) {
  std::vector<fs::path> files;
  each_entry(paths.announced(), [&](const fs::path& entry) {
    if (entry.stem() == run) files.push_back(entry);
  });
  return files;
}

void remove_run_directory(const Paths& paths, std::string_view run) {
  // At once: of a directory that was removed in part, what is left would be taken for the run.
  const fs::path directory = paths.run(run), gone = directory.string() + ".gone";
  std::error_code error;
  fs::remove_all(gone, error);  // what a process that was killed has left
  fs::rename(directory, gone, error);
  fs::remove_all(gone, error);
}

void remove_empty_directories(const Paths& paths, fs::file_time_type before) {
  std::error_code error;
  const auto is_old = [&](const fs::path& path) {
    const auto changed = fs::last_write_time(path, error);
    return !error && changed < before && fs::is_directory(fs::symlink_status(path, error));
  };
  each_entry(paths.runs(), [&](const fs::path& shard) {
    each_entry(shard, [&](const fs::path& run) {
      if (run.extension() == ".gone" && is_run_key(run.stem().string())) {
        fs::remove_all(run, error);
      }
      if (!is_run_key(run.filename().string())) return;
      const bool run_is_old = is_old(run);
      each_entry(run, [&](const fs::path& writer) {
        if (writer_number(writer) && is_old(writer)) ::rmdir(writer.c_str());
      });
      if (run_is_old) ::rmdir(run.c_str());
    });
  });
}

RunJournal::RunJournal(Filesystem& filesystem, const Paths& paths, std::string_view run)
    : filesystem_(filesystem), run_(run) {
  try {
    make_names(paths);
  } catch (...) {
    remove_names();
    throw;
  }
}

void RunJournal::make_names(const Paths& paths) {
  const fs::path of_run = paths.run(run_);
  for (fs::path level = of_run; level != paths.home; level = level.parent_path()) {
    std::error_code error;
    if (fs::exists(level, error)) break;
    unsynced_.push_back(level.parent_path());
  }
  require_directory_in_home(of_run);
  require_directory_in_home(paths.announced());
  unsynced_.push_back(paths.runs());
  unsynced_.push_back(paths.announced());
  // Before the journal, so that there is none that the index could never hear of.
  marker_ = paths.announced() / fmt::format("{}.{:016x}", run_, random_bits());
  { const File marker(filesystem_, marker_, O_WRONLY | O_CREAT, kInHome); }
  const auto others = find_journals(paths, run_);
  number_ = others.empty() ? 1 : others.back().number + 1;
  while (!make_exclusively(of_run / std::to_string(number_))) ++number_;
  directory_ = of_run / std::to_string(number_);
  unsynced_.push_back(of_run);
  unsynced_.push_back(directory_);
  frames_ = std::make_unique<FrameWriter>(filesystem_, directory_ / "journal");
  lock(*frames_);
  kept_ = frames_->mark();
}

RunJournal::~RunJournal() = default;

void RunJournal::append(EventKind kind, std::span<const std::byte> payload) {
  if (frames_->frames() == 0 && !writer_.empty()) {
    frames_->append(static_cast<std::uint16_t>(EventKind::writer), writer_);
  }
  append_event(*frames_, kind, payload);
}

void RunJournal::sync() {
  frames_->sync();
  for (const fs::path& directory : unsynced_) sync_directory(filesystem_, directory);
  unsynced_.clear();
}

void RunJournal::keep() noexcept {
  kept_ = frames_->mark();
  try {
    layouts_.merge(new_layouts_);
  } catch (const std::bad_alloc&) {
    // The journal says them once more.
  }
  new_layouts_.clear();
}

void RunJournal::give_up(bool is_known) {
  frames_->cut_off();
  if (kept_.frames == 0 && !is_known) remove_names();
}

/// The journal first: without it the others say nothing.
void RunJournal::remove_names() noexcept {
  std::error_code error;
  if (frames_) fs::remove(directory_ / "journal", error);
  if (!error && !directory_.empty()) fs::remove(directory_, error);
  if (!error) withdraw_announcement();
}

void RunJournal::withdraw_announcement() noexcept {
  std::error_code error;
  if (!marker_.empty()) fs::remove(marker_, error);
  marker_.clear();
}

void RunJournal::take_back() noexcept {
  frames_->take_back(kept_);
  new_layouts_.clear();
}

bool RunJournal::knows_layout(const Digest& layout) {
  return layouts_.contains(layout) || !new_layouts_.insert(layout).second;
}

bool is_written(Filesystem& filesystem, const fs::path& journal) {
  try {
    const File file(filesystem, journal, O_RDONLY);
    return !lock_file(file.descriptor(), LOCK_SH | LOCK_NB);
  } catch (const Error&) {
    std::error_code error;
    return fs::exists(journal, error) || error;
  }
}

JournalPosition mend_journal(Filesystem& filesystem, const fs::path& path, const fs::path& aside) {
  const fs::path made = path.string() + ".new";
  std::error_code error;
  fs::remove(made, error);
  JournalPosition position;
  {
    JournalReader reader(filesystem, path, {});
    FrameWriter writer(filesystem, made);
    while (const auto event = reader.next()) {
      append_event(writer, event->kind, event->payload);
      if (writer.pending_bytes() > kPieceBytes) writer.flush();
    }
    writer.sync();
    position = {writer.bytes(), writer.frames()};
  }
  fs::create_hard_link(path, aside, error);
  // Who did so before was interrupted here.
  std::error_code other;
  if (error && !fs::equivalent(path, aside, other))
    throw_system_error("keep aside", path, error.value());
  fs::rename(made, path);
  sync_directory(filesystem, path.parent_path());
  return position;
}

JournalReader::JournalReader(Filesystem& filesystem, const fs::path& path, JournalPosition from)
    : file_(filesystem, path, O_RDONLY), position_(from) {
  if (file_.size() < kFileHeaderBytes) return;
  frames_.emplace(file_);
  if (from.bytes != 0) frames_->go_on_at(from.bytes, from.frames);
}

std::optional<JournalEvent> JournalReader::next() {
  if (std::exchange(has_pieces_, false)) pieces_.clear();
  while (frames_) {
    const auto frame = frames_->next();
    for (const FrameDamage& one : frames_->take_damage()) {
      if (!one.undone) pieces_.clear();
      has_lost_ = has_lost_ || !one.undone;
      damage_.push_back(
          one.undone ? fmt::format("{}: a flipped bit of frame {} was undone",
                                   file_.path().string(), one.first)
                     : fmt::format("{}: {} bytes at {} are damaged, which cost {} of its frames",
                                   file_.path().string(), one.bytes, one.offset, one.lost));
    }
    if (!frame) break;
    const auto kind = static_cast<EventKind>(frame->kind);
    if (kind == EventKind::piece) {
      pieces_.insert(pieces_.end(), frame->payload.begin(), frame->payload.end());
      continue;
    }
    position_ = {frames_->position(), frames_->number()};
    std::span<const std::byte> payload = frame->payload;
    if (!pieces_.empty()) {
      pieces_.insert(pieces_.end(), payload.begin(), payload.end());
      payload = pieces_;
    }
    try {
      const JournalEvent event{kind, event_time(payload), payload};
      has_pieces_ = !pieces_.empty();
      return event;
    } catch (const Damaged&) {
      // The rest of an event whose first pieces are lost.
      damage_.push_back(fmt::format("{}: frame {} is of no use without those before it",
                                    file_.path().string(), frame->number));
      pieces_.clear();
      has_lost_ = true;
    }
  }
  return std::nullopt;
}

}  // namespace flor::store
