// Checkpoints that can be referred to by name: KEY@EPOCH is the state after an epoch, KEY@NAME is
// one that the program saved. KEY is the key of the run. Evaluators receive these names, and
// commands of `flor` accept them.
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
  CheckpointInfo info;    ///< `info.id` is greater than the ids of all checkpoints committed before
  std::string reference;  ///< "09dd37e5f4c08386@12"
  std::string run;        ///< key of the run
  std::string experiment;
  std::string commit;                 ///< of the run; empty if it was recorded without git
  std::optional<std::int64_t> epoch;  ///< 0-based, over all main loops; absent for a saved
                                      ///< checkpoint
  std::string saved = {};             ///< name of a saved checkpoint; otherwise empty
  bool deleted = false;               ///< it was deleted, but its content is not collected yet
};

/// The runs to look at: one run, or an experiment. Of a group of ranks in an experiment, only rank
/// 0.
struct CheckpointScope {
  std::string experiment;  ///< empty: use `run`
  std::string run = {};    ///< key of the run
};

/// Returns the checkpoints committed after the one with the id `after`, in the order of commits,
/// without those of removed runs. Thread-safe, like the functions below.
std::vector<NamedCheckpoint> named_checkpoints(const Store& store, const CheckpointScope& scope,
                                               std::int64_t after = 0);

/// Finds a checkpoint by its reference, also a deleted one whose content was not collected yet.
/// Throws NotFound with the reason if there is none, or if its run was removed.
NamedCheckpoint find_checkpoint(const Store& store, std::string_view reference);

/// Returns the newest named checkpoint of any run with this content, except deleted ones and those
/// of removed runs.
std::optional<NamedCheckpoint> find_content(const Store& store, const Digest& content);

/// Returns how many runs of the scope are being recorded.
std::int64_t running(const Store& store, const CheckpointScope& scope);

/// Returns the path of a file whose attributes change (IN_ATTRIB of inotify) after each commit of a
/// checkpoint and when a run ends, in any process. The file is created when a process first asks
/// for it. A change can get lost if the committing process is killed, so `named_checkpoints` must
/// be called now and then as well.
std::filesystem::path checkpoint_bell(const Store& store);
/// Creates the file that recordings touch when they have written to their journals. Without it, a
/// process that waits for them has to poll.
void hang_journal_bell(const Store& store) noexcept;

}  // namespace flor::store
