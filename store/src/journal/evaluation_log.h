// Logs of how evaluations ended. Like the journals of runs they are kept outside the index, which
// is rebuilt from them. docs/internals/format.md describes the files.
#pragma once

#include "file/filesystem.h"
#include "file/frames.h"
#include "file/paths.h"
#include "journal/journal_reader.h"

#include <flor/store/digest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::store {

/// How an evaluation ended. The numbers are on disk and equal those of JobState.
enum class EvaluationEnd : std::uint8_t {
  forgotten = 0,  ///< deleted, as if it had never been requested
  done = 3,
  dead = 4,
  cancelled = 5,
};

struct EvaluationEvent {
  std::int64_t at_us = 0;  ///< when this was written; of several events for an evaluation the
                           ///< latest is valid
  Digest content;
  std::string spec, digest;  ///< name and digest of the evaluator
  std::string arguments;
  EvaluationEnd end = EvaluationEnd::forgotten;
  std::string path;  ///< path of the checkpoint
  std::int64_t priority = 0, attempts = 0, token = 0;
  std::string text;  ///< the result, or the reason of the failure
  std::int64_t finished_us = 0;
  std::string run;  ///< if the result came with a fetched run: the key of that run, for which alone
                    ///< it is valid
};

/// True if `event` is valid rather than `other`, an event of the same evaluation. The later one is
/// valid; if both have the same time, the one with a result.
bool counts_before(const EvaluationEvent& event, const EvaluationEvent& other);

/// How far each log was read, keyed by the name of its file.
using LogPositions = std::map<std::string, JournalPosition>;

/// Writes the log of this process: a file of its own, created with the first event. Not
/// thread-safe.
class EvaluationLog {
 public:
  EvaluationLog(Filesystem& filesystem, const Paths& paths) : files_(filesystem), paths_(paths) {}

  /// Appends the event in memory. This and the functions below throw Error unless they are
  /// noexcept.
  void append(const EvaluationEvent& event);
  /// Writes the appended events to the file, so that they survive a kill of the process.
  void flush();
  /// Flushes, and waits until the events are on disk.
  void sync();
  /// `keep` makes the events appended since the last such call valid, `take_back` undoes them.
  void keep() noexcept;
  void take_back() noexcept;
  /// Returns the file name and the end of the appended events; nullopt before the first event.
  std::optional<LogPositions::value_type> position() const;

 private:
  void open();

  Filesystem& files_;
  Paths paths_;
  std::unique_ptr<FrameWriter> frames_;
  FrameWriter::Mark kept_;
  bool has_new_name_ = false;
  bool flushed_ = false;    ///< there are flushed events that are not kept: other processes may
                            ///< have read them
  bool abandoned_ = false;  ///< events were taken back after they may have been read, so later ones
                            ///< go into another file
  /// Events that may not be on disk yet. If syncing fails, they are written to another file.
  std::vector<std::vector<std::byte>> unsynced_;
  std::size_t kept_unsynced_ = 0;
};

/// Returns the logs of all processes, ordered by file name (the names are random).
std::vector<std::filesystem::path> find_evaluation_logs(const Paths& paths);

/// True if any log is longer or shorter than when it was read, or is gone.
bool differ_from(const Paths& paths, const LogPositions& read);

/// Returns the latest event of each evaluation among those written after the positions `read`, in
/// order of the time when they were written. Sets `read` to the end of the logs. Works while
/// another process joins logs. Adds a line to `damage` for each damage found.
std::vector<EvaluationEvent> read_evaluations(Filesystem& filesystem, const Paths& paths,
                                              LogPositions& read, std::vector<std::string>& damage);

/// Returns the undamaged events of one log. Adds a line to `damage` for each damage found.
std::vector<EvaluationEvent> read_evaluation_log(Filesystem& filesystem,
                                                 const std::filesystem::path& path,
                                                 std::vector<std::string>& damage);

/// If processes that have ended left more logs than this, the logs are joined.
inline constexpr std::size_t kEvaluationLogsMax = 32;

/// Joins the logs of processes that have ended into one file if there are many. No event is lost if
/// this is interrupted at any point.
void join_evaluation_logs(Filesystem& filesystem, const Paths& paths);

}  // namespace flor::store
