// The journal of one writer: the events that one process records for one run, in a file of its own
// in the run's directory. docs/internals/format.md describes the directories.
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
/// its copy and must not use it otherwise.
///
/// Appended events become valid by `keep`; until then `take_back` undoes them. A change of the
/// index and its events in the journal thus happen together or not at all.
class RunJournal {
 public:
  /// Creates the writer's directory, named by the next free number. If it throws Error, no
  /// directory remains.
  RunJournal(Filesystem& filesystem, const Paths& paths, std::string_view run);
  ~RunJournal();

  const std::string& run() const { return run_; }
  std::int64_t number() const { return number_; }
  void append(EventKind kind, std::span<const std::byte> payload);
  /// Writes all appended events to the file.
  void flush() { frames_->flush(); }
  /// Makes all appended events durable, including the directories that lead to the file.
  void sync();
  void keep() noexcept;
  void take_back() noexcept;
  /// Sets the event `writer` with which the journal begins. Must be called before anything is
  /// appended.
  void begin(std::vector<std::byte> writer) { writer_ = std::move(writer); }
  /// Finishes the journal before the process begins another one. Throws Error if the file still
  /// shows events that were taken back. A journal without kept events is deleted, unless the index
  /// knows it.
  void give_up(bool is_known);
  /// True if readers may have seen events that were appended after the last `keep`.
  bool shows_more() const noexcept;
  /// Prevents further appending.
  void lose() noexcept { frames_->lose(); }
  /// True while the journal is announced by a file that this process should withdraw once the index
  /// has the journal. While announced, other processes read all journals of the run.
  bool is_announced() const { return !stays_announced_ && !marker_.empty(); }
  void withdraw_announcement() noexcept;
  /// True if it is unknown which events are on disk; later ones must go into another journal.
  bool is_lost() const { return frames_->is_lost(); }
  /// Length of the journal including all appended events.
  std::uint64_t bytes() const { return frames_->bytes(); }
  std::uint64_t frames() const { return frames_->frames(); }

  /// True if the layout is in the kept events, or if this was already called for it since.
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
  bool stays_announced_ = false;                 ///< on a shared home, because other machines have
                                                 ///< indexes, too
  std::vector<std::filesystem::path> unsynced_;  ///< directories whose new entries are not durable
                                                 ///< yet
  std::unique_ptr<FrameWriter> frames_;
  std::unique_ptr<CopyWriter> copy_;
  FrameWriter::Mark kept_;
  std::vector<std::byte> writer_;
  std::unordered_set<Digest> layouts_, new_layouts_;
};

/// A journal found in a run's directory.
struct FoundJournal {
  std::int64_t number = 0;
  std::filesystem::path path;
};
/// Returns the path of the journal in a writer's directory: the sealed one if it exists.
std::filesystem::path journal_in(const std::filesystem::path& directory);
/// Returns the journals of a run ordered by number. If the run's directory cannot be listed, it is
/// itself returned as a journal with number 0, which then turns out to be unreadable.
std::vector<FoundJournal> find_journals(const Paths& paths, std::string_view run);
/// Returns the keys of all runs that have a directory, in no order. `unlisted`: receives
/// directories that could not be listed and may contain more runs.
std::vector<std::string> find_runs(const Paths& paths,
                                   std::vector<std::filesystem::path>* unlisted = nullptr);
/// Returns the keys of runs that have a new journal which the index may not know yet.
std::vector<std::string> find_announced_runs(const Paths& paths);

/// An announcement, parsed from its file name.
struct Announcement {
  std::string name, run;
  /// Number of the announced journal; 0 if it was not made yet. Only shared homes have it.
  std::int64_t number = 0;
};
std::vector<Announcement> find_announcements(const Paths& paths);
/// Announces that the index may not know all journals of the run. Ignores failures.
void announce(const Paths& paths, std::string_view run) noexcept;
/// Returns the files that announce journals of the run.
std::vector<std::filesystem::path> announcements_of(const Paths& paths, std::string_view run);
/// Removes the announcements of the run, once no index needs them.
void remove_announcements(const Paths& paths, std::string_view run);
/// Returns the current length of a journal. On a shared home it opens the file, because a network
/// file system may report an outdated length for a file that is not open.
std::uint64_t length_of(const Paths& paths, const std::filesystem::path& journal,
                        std::error_code& error);
/// Deletes all journals of a run.
void remove_run_directory(const Paths& paths, std::string_view run);
/// Deletes directories that killed processes or a failed disk have left: those without a journal,
/// and those of removed runs. Directories changed since `before` stay, because a process may be
/// about to write there.
void remove_empty_directories(const Paths& paths, std::filesystem::file_time_type before);
/// True if a process writes the journal, or if this cannot be determined.
bool is_written(Filesystem& filesystem, const std::filesystem::path& journal);

}  // namespace flor::store
