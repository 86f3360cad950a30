#include "journal/evaluation_log.h"

#include "base/system_error.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/random.h"
#include "journal/fields.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

namespace flor::store {

template <typename F>
void fields(F& f, EvaluationEvent& event) {
  f(1, event.at_us);
  f(2, event.content);
  f(3, event.spec);
  f(4, event.digest);
  f(5, event.arguments);
  f(6, event.end);
  f(7, event.path);
  f(8, event.priority);
  f(9, event.attempts);
  f(10, event.token);
  f(11, event.text);
  f(12, event.finished_us);
  f(13, event.run);
}

namespace {

namespace fs = std::filesystem;

/// The only kind of frame in these logs.
constexpr std::uint16_t kEvaluation = 1;

using Key = std::tuple<Digest, std::string, std::string, std::string, std::string>;
using Events = std::map<Key, EvaluationEvent>;

void put_event(Events& events, EvaluationEvent event) {
  Key key{event.content, event.spec, event.digest, event.arguments, event.run};
  const auto [found, is_new] = events.try_emplace(std::move(key), event);
  if (!is_new && counts_before(event, found->second)) found->second = std::move(event);
}

/// Reads the events of a log from a position on, and returns where the log ends.
JournalPosition read_log(Filesystem& filesystem, const fs::path& path, JournalPosition from,
                         Events& events, std::vector<std::string>& damage) {
  try {
    // Must be asked before reading: if there is no writer then, an incomplete end will stay
    // incomplete.
    const bool is_open = is_written(filesystem, path);
    JournalReader reader(filesystem, path, from);
    while (const auto frame = reader.next()) {
      if (static_cast<std::uint16_t>(frame->kind) != kEvaluation) continue;
      put_event(events, read_fields<EvaluationEvent>(frame->payload));
    }
    damage.insert(damage.end(), reader.damage().begin(), reader.damage().end());
    JournalPosition end = reader.position();
    std::error_code gone;  // set if the log was joined with others meanwhile
    const auto size = fs::file_size(path, gone);
    if (!is_open && !gone) end.bytes = std::max<std::uint64_t>(end.bytes, size);
    return end;
  } catch (const Error& error) {
    damage.push_back(fmt::format("{}: {}", path.string(), error.what()));
    return from;
  }
}

/// Returns the logs in the home with their lengths.
std::map<std::string, std::uint64_t> sizes_of_logs(const Paths& paths) {
  std::map<std::string, std::uint64_t> sizes;
  for (const fs::path& path : find_evaluation_logs(paths)) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (!error) sizes[path.filename().string()] = size;
  }
  return sizes;
}

std::vector<EvaluationEvent> values_of(Events events) {
  std::vector<EvaluationEvent> all;
  all.reserve(events.size());
  for (auto& [key, event] : events) all.push_back(std::move(event));
  std::ranges::sort(all, {}, &EvaluationEvent::at_us);
  return all;
}

/// Prevents every process from writing or joining the log while the returned file exists. Returns
/// null if a process is doing so, may do so, or has already joined the log.
std::unique_ptr<File> take_closed(Filesystem& filesystem, const fs::path& path) {
  try {
    auto log = std::make_unique<File>(filesystem, path, O_RDONLY);
    return lock_file(log->descriptor(), LOCK_EX | LOCK_NB) ? std::move(log) : nullptr;
  } catch (const SystemError& error) {
    if (error.code() == ENOENT) return nullptr;
    throw;
  }
}

}  // namespace

bool counts_before(const EvaluationEvent& event, const EvaluationEvent& other) {
  const auto rank = [](const EvaluationEvent& it) {
    return std::tuple(it.at_us, it.end == EvaluationEnd::done, it.token, it.text);
  };
  return rank(other) < rank(event);
}

void EvaluationLog::open() {
  require_directory_in_home(paths_.evaluations());
  // Until it is locked, a new log looks as if its writer had ended, so a process that joins logs
  // may lock and remove it; then another file is made.
  do {
    const fs::path path = paths_.evaluations() / fmt::format("{:016x}.log", random_bits());
    frames_ = std::make_unique<FrameWriter>(files_, path);
    if (!lock_file(frames_->descriptor(), LOCK_EX)) throw_system_error("lock", path, errno);
  } while (!is_linked(frames_->descriptor()));
  has_new_name_ = true;
  abandoned_ = false;
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (i == kept_unsynced_) kept_ = frames_->mark();
    frames_->append(kEvaluation, unsynced_[i]);
  }
  if (kept_unsynced_ == unsynced_.size()) kept_ = frames_->mark();
}

void EvaluationLog::append(const EvaluationEvent& event) {
  if (!frames_ || frames_->is_lost() || abandoned_) open();
  unsynced_.push_back(write_fields(event));
  frames_->append(kEvaluation, unsynced_.back());
}

void EvaluationLog::flush() {
  if (!frames_) return;
  flushed_ = true;
  frames_->flush();
}

void EvaluationLog::sync() {
  if (!frames_) return;
  if (frames_->is_lost() || abandoned_) open();
  frames_->sync();
  if (has_new_name_) {
    sync_directory(files_, paths_.evaluations());
    sync_directory(files_, paths_.home);
    has_new_name_ = false;
  }
  unsynced_.clear();
  kept_unsynced_ = 0;
}

void EvaluationLog::keep() noexcept {
  if (!frames_) return;
  kept_ = frames_->mark();
  kept_unsynced_ = unsynced_.size();
  flushed_ = false;
}

void EvaluationLog::take_back() noexcept {
  if (!frames_) return;
  frames_->take_back(kept_);
  unsynced_.resize(std::min(kept_unsynced_, unsynced_.size()));
  abandoned_ = abandoned_ || std::exchange(flushed_, false);
}

std::optional<LogPositions::value_type> EvaluationLog::position() const {
  if (!frames_) return std::nullopt;
  return LogPositions::value_type(frames_->path().filename().string(),
                                  JournalPosition{frames_->bytes(), frames_->frames()});
}

std::vector<fs::path> find_evaluation_logs(const Paths& paths) {
  std::vector<fs::path> logs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(paths.evaluations(), error)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".log" && name.size() == 16 &&
        name.find_first_not_of("0123456789abcdef") == name.npos) {
      logs.push_back(entry.path());
    }
  }
  std::ranges::sort(logs);
  return logs;
}

bool differ_from(const Paths& paths, const LogPositions& read) {
  const auto sizes = sizes_of_logs(paths);
  const auto gone = [&](const auto& entry) { return !sizes.contains(entry.first); };
  const auto differs = [&](const auto& entry) {
    const auto known = read.find(entry.first);
    // A log without events is not counted.
    return known == read.end() ? entry.second > kFileHeaderBytes
                               : entry.second != known->second.bytes;
  };
  return std::ranges::any_of(read, gone) || std::ranges::any_of(sizes, differs);
}

std::vector<EvaluationEvent> read_evaluations(Filesystem& filesystem, const Paths& paths,
                                              LogPositions& read,
                                              std::vector<std::string>& damage) {
  // If logs are joined during the reading, they are gone, and their events are in a newer log. So
  // all logs are read again until the set of logs is the same before and after.
  while (true) {
    const std::vector<fs::path> logs = find_evaluation_logs(paths);
    Events events;
    LogPositions now;
    std::vector<std::string> met;
    for (const auto& [name, size] : sizes_of_logs(paths)) {
      if (size <= kFileHeaderBytes) continue;
      const auto known = read.find(name);
      // A log that became shorter has lost its end or was repaired, so it is read from the
      // beginning.
      const bool goes_on = known != read.end() && known->second.bytes <= size;
      now[name] = read_log(filesystem, paths.evaluations() / name,
                           goes_on ? known->second : JournalPosition{}, events, met);
    }
    if (find_evaluation_logs(paths) != logs) continue;
    read = std::move(now);
    damage.insert(damage.end(), met.begin(), met.end());
    return values_of(std::move(events));
  }
}

std::vector<EvaluationEvent> read_evaluation_log(Filesystem& filesystem, const fs::path& path,
                                                 std::vector<std::string>& damage) {
  Events events;
  read_log(filesystem, path, {}, events, damage);
  return values_of(std::move(events));
}

void join_evaluation_logs(Filesystem& filesystem, const Paths& paths) {
  std::vector<std::unique_ptr<File>> held;
  std::vector<fs::path> closed;
  Events events;
  std::vector<std::string> damage;
  for (const fs::path& path : find_evaluation_logs(paths)) {
    auto log = take_closed(filesystem, path);
    if (!log) continue;
    held.push_back(std::move(log));
    closed.push_back(path);
  }
  if (closed.size() <= kEvaluationLogsMax) return;
  for (const fs::path& path : closed) read_log(filesystem, path, {}, events, damage);
  if (!damage.empty()) return;  // reported by `flor fsck`, whose repair keeps the rest
  EvaluationLog joined(filesystem, paths);
  for (const EvaluationEvent& event : values_of(std::move(events))) joined.append(event);
  joined.sync();
  joined.keep();
  for (const fs::path& path : closed) filesystem.unlink(path.c_str());
}

}  // namespace flor::store
