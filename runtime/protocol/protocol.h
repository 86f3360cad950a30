// The lines that a replaying program and `flor replay` exchange over a socket that the program
// inherits. The program asks, `flor replay` answers.
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
//
// A program that may only read its store (WorkerOrder::hands_in) hands in what it finds. `done`
// then means that all of the part's values have been said.
//
//                                       object ...             a logged content
//                                       value PART ...
//                                       restored BYTES SECONDS
//
// When `flor replay` shuts its side, the program keeps what it has completed and ends.
#pragma once

#include "protocol/plan.h"

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Names the descriptor of the socket in a worker's environment.
inline constexpr const char* kWorkerVariable = "FLOR_WORKER_FD";

/// The order that a worker gets first.
struct WorkerOrder {
  std::string run;   ///< key
  std::string home;  ///< the store
  std::vector<std::string> probes;
  bool no_probe = false, strong = false;
  bool alone = false;          ///< of the ranks of a group only this one is replayed
  std::optional<int> threads;  ///< instead of the recorded number
  std::vector<int> cores;      ///< to run on; empty: any
  std::string sources = {};    ///< work tree that the program was built from; empty: not known
  bool as_recorded = false;  ///< it is the very program that recorded, regardless of the present
                             ///< sources
  std::string plugin = {}, plugin_digest = {};  ///< path of a plug-in, and its content's digest
  /// `home` is a snapshot of the store: findings are sent, not written.
  bool hands_in = false;

  /// As Flags say it.
  bool shows_what_is_stored() const { return !plugin.empty() && probes.empty() && !strong; }

  std::string encode() const;
  /// Throws Error for text that `encode` does not write.
  static WorkerOrder decode(std::string_view line);
};

/// Which epochs of its main loop a program can still come to.
enum class Reach {
  forward,  ///< those at or after its position
  any,
};

/// Where a program is when it asks for work.
struct Position {
  std::int64_t section = 0;  ///< the next section outside the main loops that lies ahead
  std::int64_t main_loop = 0, iteration = 0;
  Reach reach = Reach::forward;

  std::string encode() const;  ///< "next ..."
};

/// How often a nested loop was skipped and executed in the epochs that were asked for.
struct NestedCount {
  std::int64_t skipped = 0, executed = 0;
  std::map<std::string, std::int64_t> why;  ///< how often it was executed for which reason
};
/// `skipped train 3 times; executed test 7 times: 4 not stored, 3 read by "norm"`
std::string print_nested(const std::map<std::string, NestedCount>& nested);

/// The work that a process has done.
struct WorkDone {
  std::map<std::string, NestedCount> nested;  ///< by name of the loop
  std::int64_t restored = 0;                  ///< checkpoints
  std::uint64_t restored_bytes = 0;
  std::int64_t caught_up = 0;  ///< epochs that were executed on the way to others

  void add(const WorkDone& other);
  std::string encode() const;  ///< "work ..."
};

/// "done ..."
std::string encode_done(const store::ReplayedPart& part);

/// A value that was found, and the part that it belongs to.
struct HandedValue {
  std::int64_t part = 0;
  store::Value value;
  std::string encode() const;  ///< "value ..."
};

/// A logged content, as CheckpointWriter::write_object takes it.
struct HandedObject {
  store::Item item;
  std::vector<std::byte> content;
};
std::string encode_object(const store::Item& item, std::span<const std::byte> content);

/// How long loading took.
struct RestoreTime {
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::string encode() const;  ///< "restored ..."
};

/// A line of a program's, taken apart.
struct WorkerLine {
  enum class Kind { hello, next, done, work, value, object, restored } kind = Kind::hello;
  std::string digest, plugin_digest;
  Position position;
  store::ReplayedPart part;
  WorkDone work;
  HandedValue value;
  HandedObject object;
  RestoreTime restored;
  /// Throws Error for a line that is none of these.
  static WorkerLine decode(std::string_view line);
};

/// Replays of one run with the same question find the same: the same program with the same
/// arguments, executing the same loops. `arguments` are those without Flor's flags.
std::string question_of(const std::string& program_digest,
                        const std::vector<std::string>& arguments, const WorkerOrder& order);

/// The description of a replay's question in the catalog: "train,weight_norms.so".
std::string described_probes(std::vector<std::string> loops, const std::string& plugin);

}  // namespace flor::detail
