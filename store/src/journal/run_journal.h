// The journal of one writer: the events that this process has for a run, in a file of its own below
// the run's directory. docs/internals/format.md describes the directories.
#pragma once

#include "file/filesystem.h"
#include "file/frames.h"
#include "file/paths.h"
#include "journal/events.h"
#include "journal/journal_copy.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Writes the journal of a new writer of a run. Not thread-safe. After fork() the child may destroy
/// its copy and do nothing else with it.
///
/// Appended events count from `keep` on. Until then `take_back` undoes them, so that a change of
/// the index and its events in the journal happen together or not at all.
class RunJournal {
 public:
  /// Makes the writer's directory, named by the next free number. Throws Error if that fails, and
  /// leaves no directory then.
  RunJournal(Filesystem& filesystem, const Paths& paths, std::string_view run);
  ~RunJournal();

  const std::string& run() const { return run_; }
  std::int64_t number() const { return number_; }
  void append(EventKind kind, std::span<const std::byte> payload);
  /// Hands all appended events to the system.
  void flush() { frames_->flush(); }
  /// Makes all appended events durable, the directories included.
  void sync();
  void keep() noexcept;
  void take_back() noexcept;
  /// The event of the kind `writer` with which the journal begins; must be set before all others.
  void begin(std::vector<std::byte> writer) { writer_ = std::move(writer); }
  /// Ends it, before another journal follows: throws Error while the disk still shows events that
  /// were taken back. One that kept nothing is removed with its names, unless the index knows it.
  void give_up(bool is_known);
  /// Whether readers may have seen events that were appended since `keep`.
  bool shows_more() const noexcept;
  /// Lets nothing more be appended to it.
  void lose() noexcept { frames_->lose(); }
  /// While announced, other processes look at all journals of the run; until the index has this
  /// one.
  bool is_announced() const { return !stays_announced_ && !marker_.empty(); }
  void withdraw_announcement() noexcept;
  /// Whether it is unknown which events the disk kept: later ones go into another journal.
  bool is_lost() const { return frames_->is_lost(); }
  /// The length of all appended events.
  std::uint64_t bytes() const { return frames_->bytes(); }
  std::uint64_t frames() const { return frames_->frames(); }

  /// True if the layout is among the kept events, or was asked for since.
  bool knows_layout(const Digest& layout);

 private:
  void append_frames(EventKind kind, std::span<const std::byte> payload);
  void make_names(const Paths& paths);
  void sync_directories();
  void remove_names() noexcept;
  void number_announcement();

  Filesystem& filesystem_;
  std::string run_;
  std::filesystem::path directory_, marker_;
  std::int64_t number_ = 0;
  bool stays_announced_ = false;                 ///< other machines have indexes, too
  std::vector<std::filesystem::path> unsynced_;  ///< directories with new entries
  std::unique_ptr<FrameWriter> frames_;
  std::unique_ptr<CopyWriter> copy_;
  FrameWriter::Mark kept_;
  std::vector<std::byte> writer_;
  std::unordered_set<Digest> layouts_, new_layouts_;
};

/// A journal that lies below a run's directory.
struct FoundJournal {
  std::int64_t number = 0;
  std::filesystem::path path;
};
/// The journal in a writer's directory: the sealed one, if it is there.
std::filesystem::path journal_in(const std::filesystem::path& directory);
/// Journals by their numbers. A run's directory that cannot be listed counts as one of them, as
/// unreadable as the journals in it; its number is 0.
std::vector<FoundJournal> find_journals(const Paths& paths, std::string_view run);
/// The keys of all runs that have a directory, in no order. `unlisted`: directories that cannot be
/// listed, in which there may be more.
std::vector<std::string> find_runs(const Paths& paths,
                                   std::vector<std::filesystem::path>* unlisted = nullptr);
/// The keys of runs to which a writer came that the index may not know yet.
std::vector<std::string> find_announced_runs(const Paths& paths);

/// An announcement as its name tells.
struct Announcement {
  std::string name, run;
  /// The number of the journal once that is made; else 0. Only shared homes tell it.
  std::int64_t number = 0;
};
std::vector<Announcement> find_announcements(const Paths& paths);
/// Announces that the index may not know all journals of the run. Best effort.
void announce(const Paths& paths, std::string_view run) noexcept;
/// The files that announce journals of the run.
std::vector<std::filesystem::path> announcements_of(const Paths& paths, std::string_view run);
/// Removes them, where no index needs them any more.
void remove_announcements(const Paths& paths, std::string_view run);
/// The length of a journal now. That which a network file system remembers of a file is older than
/// what it tells of one that is opened.
std::uint64_t length_of(const Paths& paths, const std::filesystem::path& journal,
                        std::error_code& error);
/// Removes all journals of a run.
void remove_run_directory(const Paths& paths, std::string_view run);
/// Removes directories without a journal, and those of removed runs, that killed processes or a
/// failed disk have left. Directories that were changed since `before` stay: a process may be about
/// to write there.
void remove_empty_directories(const Paths& paths, std::filesystem::file_time_type before);
/// True while a process writes it, and where this cannot be determined.
bool is_written(Filesystem& filesystem, const std::filesystem::path& journal);

}  // namespace flor::store
