// The journal of one writer: what this process says of a run, in a file of its own below the run's
// directory. docs/format.md has the directories.
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
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Writes the journal of a new writer of a run. Not thread-safe. After fork() the child may destroy
/// its copy and do nothing else with it.
///
/// What is appended counts from `keep` on. Until then `take_back` undoes it, so that a change of
/// the index and what the journal says of it happen together or not at all.
class RunJournal {
 public:
  /// Makes the writer's directory: the next number that is free. Throws Error, and leaves nothing
  /// then.
  RunJournal(Filesystem& filesystem, const Paths& paths, std::string_view run);
  ~RunJournal();

  const std::string& run() const { return run_; }
  std::int64_t number() const { return number_; }
  void append(EventKind kind, std::span<const std::byte> payload);
  /// Hands all that was appended to the system.
  void flush() { frames_->flush(); }
  /// Makes all that was appended durable, the directories included.
  void sync();
  void keep() noexcept;
  void take_back() noexcept;
  /// What every journal begins with, of the kind `writer`; before all else.
  void begin(std::vector<std::byte> writer) { writer_ = std::move(writer); }
  /// Another one is to follow it: throws Error while the disk still shows what was taken back. One
  /// that kept nothing goes with its names, unless the index knows it.
  void give_up(bool is_known);
  /// Readers may have seen what was appended since `keep`.
  bool shows_more() const noexcept;
  /// Nothing more is to be said in it.
  void lose() noexcept { frames_->lose(); }
  /// Others look at all journals of the run, until the index is known to have this one for good.
  bool is_announced() const { return !marker_.empty(); }
  void withdraw_announcement() noexcept;
  /// Nobody knows what the disk kept: what is to be said goes into another journal.
  bool is_lost() const { return frames_->is_lost(); }
  /// Of all that was appended.
  std::uint64_t bytes() const { return frames_->bytes(); }
  std::uint64_t frames() const { return frames_->frames(); }

  /// True if the layout is in what was kept, or was asked for since.
  bool knows_layout(const Digest& layout);

 private:
  void append_frames(EventKind kind, std::span<const std::byte> payload);
  void make_names(const Paths& paths);
  void remove_names() noexcept;

  Filesystem& filesystem_;
  std::string run_;
  std::filesystem::path directory_, marker_;
  std::int64_t number_ = 0;
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
/// By their numbers. Where a run's directory cannot be listed, it is one of them, and as little to
/// be read as the journals in it; its number is 0.
std::vector<FoundJournal> find_journals(const Paths& paths, std::string_view run);
/// The keys of all runs that have a directory, in no order. `unlisted`: directories that cannot be
/// listed, in which there may be more.
std::vector<std::string> find_runs(const Paths& paths,
                                   std::vector<std::filesystem::path>* unlisted = nullptr);
/// The keys of runs to which a writer came that the index may not know yet.
std::vector<std::string> find_announced_runs(const Paths& paths);
/// The index may not know all journals of the run. Best effort.
void announce(const Paths& paths, std::string_view run) noexcept;
/// The files that announce journals of the run.
std::vector<std::filesystem::path> announcements_of(const Paths& paths, std::string_view run);
/// Removes all journals of a run.
void remove_run_directory(const Paths& paths, std::string_view run);
/// What processes that were killed, or a disk that failed, have left of directories without a
/// journal, and of runs that were to go. Directories that were changed since `before` stay: a
/// process may be about to write there.
void remove_empty_directories(const Paths& paths, std::filesystem::file_time_type before);
/// True while a process writes it, and where that cannot be told.
bool is_written(Filesystem& filesystem, const std::filesystem::path& journal);

}  // namespace flor::store
