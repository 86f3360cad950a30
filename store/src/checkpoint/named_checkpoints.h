// The checkpoints that have a name: KEY@EPOCH, the state after an epoch, and KEY@NAME, one that the
// program saved. KEY is the run's. Evaluators get these names, and `flor` takes them.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

struct NamedCheckpoint {
  CheckpointInfo info;    ///< its id is greater than those of all that were committed before
  std::string reference;  ///< "09dd37e5f4c08386@12"
  std::string run;        ///< key
  std::string experiment;
  std::string commit;                 ///< of the run; empty without git
  std::optional<std::int64_t> epoch;  ///< 0-based, over all main loops; absent of a saved one
  std::string saved = {};             ///< its name; empty after an epoch
  bool deleted = false;               ///< and its content not collected yet
};

/// A run, or an experiment: there only rank 0 where a program runs as several processes.
struct CheckpointScope {
  std::string experiment;  ///< empty: of `run`
  std::string run = {};    ///< key
};

/// Those that were committed after the checkpoint with the id `after`, in that order; none of a run
/// that was removed. Thread-safe, like the functions below.
std::vector<NamedCheckpoint> named_checkpoints(const Store& store, const CheckpointScope& scope,
                                               std::int64_t after = 0);

/// By its reference; also one that was deleted, as long as its content was not collected. Throws
/// NotFound with the reason if there is none, or if its run was removed.
NamedCheckpoint find_checkpoint(const Store& store, std::string_view reference);

/// The newest named checkpoint with this content, of any run; deleted ones and those of
/// removed runs do not count.
std::optional<NamedCheckpoint> find_content(const Store& store, const Digest& content);

/// How many runs of the scope are being recorded.
std::int64_t running(const Store& store, const CheckpointScope& scope);

/// A file whose time changes (IN_ATTRIB of inotify) after each commit of a checkpoint and when a
/// run ends, whichever process does it. Exists once a process asked for it. A lost change, as when
/// the process is killed between the two, loses nothing that `named_checkpoints` would not find.
std::filesystem::path checkpoint_bell(const Store& store);
/// Creates the bell that recordings ring when they have written to their journals. Without it a
/// process that waits for them has to poll.
void hang_journal_bell(const Store& store) noexcept;

}  // namespace flor::store
