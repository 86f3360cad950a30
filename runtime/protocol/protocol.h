// The lines that a replaying program and `flor replay` exchange over a socket that the program
// inherits. The program asks for work, and `flor replay` answers.
//
//   flor replay                         program
//   order (JSON)
//                                       hello DIGEST [PLUGIN]  the program's own digest, and that
//                                                              of the plug-in that it has loaded
//                                       next SECTION LOOP ITERATION REACH
//   replay ID                           id in the catalog, before the first answer
//   keep SECTION                        any number of these, then one of the next two
//   epochs FIRST END
//   finish
//                                       done PART ...          a part is durable
//                                       work JSON              what was done so far
//                                       proved JSON            states that it has computed again
//
// A program that may only read its store (WorkerOrder::hands_in) sends its findings instead of
// writing them. `done` then means that all values of the part have been sent.
//
//                                       object ...             a logged content
//                                       value PART ...
//                                       restored BYTES SECONDS
//
// When `flor replay` shuts down its side of the socket, the program keeps what it has completed,
// and ends.
#pragma once

#include "protocol/overrides.h"
#include "protocol/plan.h"

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::detail {

/// The environment variable that holds the file descriptor of a worker's socket.
inline constexpr const char* kWorkerVariable = "FLOR_WORKER_FD";

/// A walk from some states to others: it computes again what is between them.
struct WalkOrder {
  /// Proves that the states between `starts` need not be stored: of all checkpoints only those at
  /// these boundaries (main loop, iteration) may be loaded, and every other one that the program
  /// comes to is compared, in all of its items.
  bool proves = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> starts = {};
  /// Checkpoints that are not stored, and are stored again when the program comes to them.
  std::vector<store::CheckpointName> returns = {};
};

/// The order that `flor replay` sends to a worker first.
struct WorkerOrder {
  std::string run;   ///< key of the run
  std::string home;  ///< the store
  std::vector<std::string> probes;
  bool no_probe = false, strong = false;
  bool alone = false;  ///< replays only this rank of its group
  Instead instead;
  std::vector<int> cores;    ///< cores to run on; empty: any
  std::string sources = {};  ///< work tree that the program was built from; empty: not known
  bool as_recorded = false;  ///< it is the very program that recorded, regardless of the present
                             ///< sources
  std::string plugin = {}, plugin_digest = {};  ///< path of a plug-in, and digest of its content
  /// `home` is a snapshot of the store: findings are sent, not written.
  bool hands_in = false;
  StepChoice steps = {};  ///< see Flags::Asked
  bool in_full = false;   ///< see Flags::Asked
  WalkOrder walk = {};

  /// Whether a plug-in only reads stored state. See Flags::shows_what_is_stored.
  bool shows_what_is_stored() const { return !plugin.empty() && probes.empty() && !strong; }

  std::string encode() const;
  /// Throws Error if `encode` could not have written the text.
  static WorkerOrder decode(std::string_view line);
};

/// The epochs of its main loop that a program can still visit.
enum class Reach {
  forward,  ///< only those at or after its position
  any,
};

/// Where a program is in its loops when it asks for work.
struct Position {
  std::int64_t section = 0;  ///< index of the next section outside the main loops
  std::int64_t main_loop = 0, iteration = 0;
  Reach reach = Reach::forward;

  std::string encode() const;  ///< the line "next ..."
};

/// How often a nested loop was skipped and executed in the epochs that were requested.
struct NestedCount {
  std::int64_t skipped = 0, executed = 0;
  std::map<std::string, std::int64_t> why;  ///< reason to number of executions for it
};
/// `skipped train 3 times; executed test 7 times: 4 not stored, 3 read by "norm"`
std::string print_nested(const std::map<std::string, NestedCount>& nested);

/// The work that one process has done.
struct WorkDone {
  std::map<std::string, NestedCount> nested;  ///< by loop name
  std::int64_t restored = 0;                  ///< number of checkpoints
  std::uint64_t restored_bytes = 0;
  std::int64_t caught_up = 0;  ///< epochs executed only to reach requested ones

  void add(const WorkDone& other);
  std::string encode() const;  ///< the line "work ..."
};

/// The line "done ...".
std::string encode_done(const store::ReplayedPart& part);

/// A value that was found, and the number of the part of the replay that it belongs to.
struct HandedValue {
  std::int64_t part = 0;
  store::Value value;
  std::string encode() const;  ///< the line "value ..."
};

/// The content of a logged value, as CheckpointWriter::write_object takes it.
struct HandedObject {
  store::Item item;
  std::vector<std::byte> content;
};
std::string encode_object(const store::Item& item, std::span<const std::byte> content);

/// How long loading a checkpoint took.
struct RestoreTime {
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::string encode() const;  ///< the line "restored ..."
};

/// Checkpoints that a walk has computed again, each equal in all of its items, and the facts about
/// the process that this depends on.
struct ProvedStates {
  std::map<std::string, std::string> environment;
  std::vector<store::CheckpointName> checkpoints;
  std::string encode() const;  ///< the line "proved ..."
};

/// A line from a program, parsed. `kind` says which of the members is set.
struct WorkerLine {
  enum class Kind { hello, next, done, work, value, object, restored, proved } kind = Kind::hello;
  std::string digest, plugin_digest;
  Position position;
  store::ReplayedPart part;
  WorkDone work;
  HandedValue value;
  HandedObject object;
  RestoreTime restored;
  ProvedStates proved;
  /// Throws Error if the line is of none of these kinds.
  static WorkerLine decode(std::string_view line);
};

/// Identifies what a replay asks. Replays of one run with the same question find the same values:
/// the same program with the same arguments executes the same loops. `arguments` are without Flor's
/// flags. A question of chosen steps is that of all of them with the choice after it
/// (store::question_of_steps).
std::string question_of(const std::string& program_digest,
                        const std::vector<std::string>& arguments, const WorkerOrder& order);

/// How the catalog shows a replay's question: "train,weight_norms.so,device=cpu,step 12".
std::string described_probes(std::vector<std::string> loops, const std::string& plugin,
                             const Instead& instead, const StepChoice& steps = {});

}  // namespace flor::detail
