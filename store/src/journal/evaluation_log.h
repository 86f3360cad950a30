// The ends of evaluations, outside the index and like the journals of runs: an index that is made
// again takes them from there. docs/internals/format.md describes the files.
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

/// How an evaluation ended. The values are on disk, and are those of JobState.
enum class EvaluationEnd : std::uint8_t {
  forgotten = 0,  ///< as if it had never been wanted
  done = 3,
  dead = 4,
  cancelled = 5,
};

struct EvaluationEvent {
  std::int64_t at_us = 0;  ///< when this was written; of several events the latest counts
  Digest content;
  std::string spec, digest;  ///< of the evaluator
  std::string arguments;
  EvaluationEnd end = EvaluationEnd::forgotten;
  std::string path;  ///< where the checkpoint was
  std::int64_t priority = 0, attempts = 0, token = 0;
  std::string text;  ///< the result, or why it failed
  std::int64_t finished_us = 0;
  std::string run;  ///< key of the fetched run that it came with, for which alone it counts
};

/// Whether `event` counts rather than `other`, an event of the same evaluation: the later one
/// counts, and at the same time a result.
bool counts_before(const EvaluationEvent& event, const EvaluationEvent& other);

/// Positions up to which logs were read, by the names of their files.
using LogPositions = std::map<std::string, JournalPosition>;

/// The log of one process, in a file of its own that appears with the first event. Not thread-safe.
class EvaluationLog {
 public:
  EvaluationLog(Filesystem& filesystem, const Paths& paths) : files_(filesystem), paths_(paths) {}

  /// Adds it to memory. Throws Error, as all below.
  void append(const EvaluationEvent& event);
  /// Hands the appended events to the system: a kill of the process does not lose them.
  void flush();
  /// Waits until the events are on the disk.
  void sync();
  /// Makes the events appended since the last of these calls count, or undoes them.
  void keep() noexcept;
  void take_back() noexcept;
  /// The end of the appended events; nothing before the first event.
  std::optional<LogPositions::value_type> position() const;

 private:
  void open();

  Filesystem& files_;
  Paths paths_;
  std::unique_ptr<FrameWriter> frames_;
  FrameWriter::Mark kept_;
  bool has_new_name_ = false;
  bool flushed_ = false;    ///< events that are not kept: other processes may have read them
  bool abandoned_ = false;  ///< they were read and taken back: later events go into another file
  /// Events that may not be on the disk yet: if it fails, they go into another file.
  std::vector<std::vector<std::byte>> unsynced_;
  std::size_t kept_unsynced_ = 0;
};

/// The logs of all processes, in the order of their names, which are random.
std::vector<std::filesystem::path> find_evaluation_logs(const Paths& paths);

/// Whether a log has grown since, is shorter, or is gone.
bool differ_from(const Paths& paths, const LogPositions& read);

/// The latest event of each evaluation, by the time when it was written, among those after `read`,
/// which becomes the end of the logs; also while logs are joined. Adds a line for each damage.
std::vector<EvaluationEvent> read_evaluations(Filesystem& filesystem, const Paths& paths,
                                              LogPositions& read, std::vector<std::string>& damage);

/// The sound events of one log. Adds a line for each damage.
std::vector<EvaluationEvent> read_evaluation_log(Filesystem& filesystem,
                                                 const std::filesystem::path& path,
                                                 std::vector<std::string>& damage);

/// More logs of processes that have ended are joined.
inline constexpr std::size_t kEvaluationLogsMax = 32;

/// Joins the logs of processes that have ended into one if there are many. Loses nothing wherever
/// it is stopped.
void join_evaluation_logs(Filesystem& filesystem, const Paths& paths);

}  // namespace flor::store
