#include "journal/run_journal.h"

#include "file/file_age.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/random.h"
#include "journal/journal_reader.h"

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

std::optional<std::int64_t> writer_number(const fs::path& directory) {
  const std::string name = directory.filename().string();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 1) return std::nullopt;
  return number;
}

/// Calls `visit` for each entry. Returns false if the directory exists but cannot be listed.
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

/// Creates the directory and returns true; returns false if it exists already.
bool make_exclusively(const fs::path& directory) {
  struct stat above {};
  if (::stat(directory.parent_path().c_str(), &above) != 0) {
    throw_system_error("look at", directory.parent_path(), errno);
  }
  if (::mkdir(directory.c_str(), 0700) != 0) {
    if (errno == EEXIST) return false;
    throw_system_error("create", directory, errno);
  }
  ::chmod(directory.c_str(), above.st_mode & 07777);  // the parent's permissions decide who may
                                                      // enter it
  return true;
}

/// Locks the journal to show that its writer lives. Without the lock, a repair would replace the
/// file while it is written.
void lock(const FrameWriter& frames) {
  // Processes that test for the lock hold a shared lock for a moment, so this retries.
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kPause{5};
  for (int i = 0; !lock_file(frames.descriptor(), LOCK_EX | LOCK_NB); ++i) {
    if (errno != EWOULDBLOCK || i == kTries) throw_system_error("lock", frames.path(), errno);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

fs::path journal_in(const fs::path& directory) {
  const fs::path journal = directory / kJournalName, sealed = directory / kSealedName;
  std::error_code error;
  const auto is_there = [&](const fs::path& path) {
    return fs::exists(fs::symlink_status(path, error));
  };
  const bool lacks_journal = !is_there(journal) && !is_there(copy_path(journal));
  return is_there(sealed) || (lacks_journal && is_there(copy_path(sealed))) ? sealed : journal;
}

std::vector<FoundJournal> find_journals(const Paths& paths, std::string_view run) {
  std::vector<FoundJournal> found;
  const bool is_whole = each_entry(paths.run(run), [&](const fs::path& entry) {
    // A process that was killed after it had made its directory leaves the directory empty.
    std::error_code error;
    const auto number = writer_number(entry);
    const fs::path journal = journal_in(entry);
    if (number && (fs::exists(journal, error) || error || fs::exists(copy_path(journal), error))) {
      found.push_back({*number, journal});
    }
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

std::vector<Announcement> find_announcements(const Paths& paths) {
  std::vector<Announcement> found;
  each_entry(paths.announced(), [&](const fs::path& entry) {
    Announcement one{.name = entry.filename().string(), .run = entry.stem().string()};
    if (!is_run_key(one.run)) return;
    const std::size_t dash = one.name.rfind('-');
    if (dash != one.name.npos) one.number = writer_number(one.name.substr(dash + 1)).value_or(0);
    found.push_back(std::move(one));
  });
  return found;
}

std::vector<std::string> find_announced_runs(const Paths& paths) {
  std::vector<std::string> runs;
  for (Announcement& one : find_announcements(paths)) runs.push_back(std::move(one.run));
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
    // `flor fsck` reports the journals that cannot be read.
  }
}

std::vector<fs::path> announcements_of(const Paths& paths, std::string_view run) {
  std::vector<fs::path> files;
  each_entry(paths.announced(), [&](const fs::path& entry) {
    if (entry.stem() == run) files.push_back(entry);
  });
  return files;
}

void remove_announcements(const Paths& paths, std::string_view run) {
  std::error_code error;
  for (const fs::path& file : announcements_of(paths, run)) fs::remove(file, error);
}

std::uint64_t length_of(const Paths& paths, const fs::path& journal, std::error_code& error) {
  if (!paths.shared) return fs::file_size(journal, error);
  struct stat status {};
  const int file = ::open(journal.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool known = file >= 0 && ::fstat(file, &status) == 0;
  error = known ? std::error_code() : std::error_code(errno, std::generic_category());
  if (file >= 0) ::close(file);
  return static_cast<std::uint64_t>(status.st_size);
}

void remove_run_directory(const Paths& paths, std::string_view run) {
  // Renamed first, because the rest of a partly deleted directory would be taken for the run.
  const fs::path directory = paths.run(run), gone = directory.string() + ".gone";
  std::error_code error;
  fs::remove_all(gone, error);  // may be left by a killed process
  fs::rename(directory, gone, error);
  fs::remove_all(gone, error);
}

void remove_empty_directories(const Paths& paths, fs::file_time_type before) {
  std::error_code error;
  const auto is_old = [&](const fs::path& path) {
    return was_changed_before(path, before) && fs::is_directory(fs::symlink_status(path, error));
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
  // The announcement must be durable before the journal exists. Otherwise a power loss could leave
  // a journal without announcement, which the index would never notice.
  marker_ = paths.announced() / fmt::format("{}.{:016x}", run_, random_bits());
  { const File marker(filesystem_, marker_, O_WRONLY | O_CREAT, kInHome); }
  sync_directories();
  const auto others = find_journals(paths, run_);
  number_ = others.empty() ? 1 : others.back().number + 1;
  while (!make_exclusively(of_run / std::to_string(number_))) ++number_;
  directory_ = of_run / std::to_string(number_);
  unsynced_.push_back(of_run);
  unsynced_.push_back(directory_);
  frames_ = std::make_unique<FrameWriter>(filesystem_, directory_ / kJournalName);
  copy_ = std::make_unique<CopyWriter>(filesystem_, copy_path(frames_->path()), frames_->id());
  lock(*frames_);
  kept_ = frames_->mark();
  if (paths.shared) number_announcement();
}

/// Adds the journal's number to the announcement, so that an index can tell when it has this
/// journal. The file stays for indexes of other machines. It is renamed, so that an announcement
/// exists at every moment.
void RunJournal::number_announcement() {
  stays_announced_ = true;
  const fs::path named = fmt::format("{}-{}", marker_.string(), number_);
  if (::rename(marker_.c_str(), named.c_str()) != 0) throw_system_error("rename", marker_, errno);
  marker_ = named;
  unsynced_.push_back(named.parent_path());
}

RunJournal::~RunJournal() = default;

void RunJournal::append(EventKind kind, std::span<const std::byte> payload) {
  if (frames_->frames() == 0 && !writer_.empty()) append_frames(EventKind::writer, writer_);
  append_frames(kind, payload);
}

void RunJournal::append_frames(EventKind kind, std::span<const std::byte> payload) {
  in_frames(kind, payload, [&](std::uint16_t frame, std::span<const std::byte> bytes) {
    const std::uint64_t number = frames_->append(frame, bytes);
    if (is_copied(kind)) copy_->append(number, frame, bytes);
  });
}

void RunJournal::sync() {
  frames_->sync();
  sync_directories();
}

void RunJournal::sync_directories() {
  for (const fs::path& directory : unsynced_) sync_directory(filesystem_, directory);
  unsynced_.clear();
}

void RunJournal::keep() noexcept {
  kept_ = frames_->mark();
  copy_->keep();
  try {
    layouts_.merge(new_layouts_);
  } catch (const std::bad_alloc&) {
    // Harmless: the layouts will be written to the journal once more.
  }
  new_layouts_.clear();
}

bool RunJournal::shows_more() const noexcept {
  std::error_code error;
  const auto size = fs::file_size(frames_->path(), error);
  return error || size > std::max<std::uint64_t>(kept_.bytes, kFileHeaderBytes);
}

void RunJournal::give_up(bool is_known) {
  frames_->cut_off();
  // On a shared home the journal stays, because the index of another machine may know it.
  if (kept_.frames == 0 && !is_known && !stays_announced_) remove_names();
}

/// Deletes the journal's files, the journal itself first: without it, the others mean nothing.
void RunJournal::remove_names() noexcept {
  std::error_code error;
  if (copy_) copy_->remove();
  if (frames_) fs::remove(directory_ / kJournalName, error);
  if (!error && !directory_.empty()) fs::remove(directory_, error);
  if (!error) withdraw_announcement();
}

void RunJournal::withdraw_announcement() noexcept {
  if (stays_announced_) return;
  std::error_code error;
  if (!marker_.empty()) fs::remove(marker_, error);
  marker_.clear();
}

void RunJournal::take_back() noexcept {
  frames_->take_back(kept_);
  copy_->take_back();
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

}  // namespace flor::store
