// The work of a replaying process: its epochs, as the flags or `flor replay` choose them, and the
// question that it answers.
#pragma once

#include "protocol/flags.h"
#include "protocol/protocol.h"
#include "replay/plugin_calls.h"
#include "replay/probes.h"
#include "replay/recorded_run.h"
#include "verdict/verifier_process.h"
#include "worker/assignment.h"
#include "worker/replay_findings.h"

#include <flor/store/store.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flor::detail {

/// The facts that determine the work. Everything here must outlive the task.
struct TaskFacts {
  store::Store& store;
  const Flags& flags;
  const store::Run& run;
  const Record& record;
  const Probes& probes;
  const PluginCalls& plugin;
  std::string program_digest;  ///< of this program, computed before the plug-in was loaded
  bool strong = false;  ///< strong from the start, since the user or the question needs it
};

/// The epochs that this process replays, and the question that it answers. To be used by the
/// session's thread; Assignment says which thread may call its functions.
class ReplayTask {
 public:
  /// Determines the work, says on stderr what it is, and enters the replay in the catalog unless
  /// `flor replay` does so. Throws UsageError for epochs that the run does not have, and what the
  /// catalog throws.
  explicit ReplayTask(const TaskFacts& facts);

  /// Whether nothing is left for this process to do. Then there is no assignment, or an empty one.
  bool is_empty() const { return empty_; }
  Assignment& assignment() { return *assignment_; }
  Epochs first_piece() const { return first_piece_; }
  /// How many epochs were requested; 0 in a worker, which does not know.
  std::int64_t asked() const { return count_of(epochs_); }
  const std::vector<Epochs>& epochs() const { return epochs_; }
  /// The replay's id in the catalog.
  std::int64_t id() const { return id_; }
  /// How this program was started.
  const ProgramStart& start() const { return start_; }
  /// An order with the members that define the replay's question.
  WorkerOrder question() const;
  /// Makes the destination of its findings: the store, or `flor replay`.
  std::unique_ptr<Findings> make_findings();

 private:
  std::string asking_digest() const;
  void take_epochs(const std::string& digest);
  void announce() const;

  TaskFacts facts_;
  ProgramStart start_;
  std::vector<Epochs> epochs_;
  std::unique_ptr<Assignment> assignment_;
  Epochs first_piece_;
  std::int64_t id_ = 0;
  bool empty_ = false;
};

/// The arguments of a replay that are the program's own, as a record has them.
std::vector<std::string> recorded_arguments(const Flags& flags);

}  // namespace flor::detail
