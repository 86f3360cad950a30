// The plug-in of a replay: where it is called, and which epochs it sees in the store without their
// being executed.
#pragma once

#include "plugin/plugin.h"
#include "protocol/flags.h"
#include "replay/recorded_run.h"
#include "session/runtime.h"

#include <flor/store/store.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flor::detail {

/// A replay's plug-in, or none: then nothing is wanted, and `call_live` does nothing. Belongs to
/// the session's thread. A call that fails ends the process (`die`): the program must not take its
/// exception for one of its own.
class PluginCalls {
 public:
  PluginCalls() = default;
  /// Loads the plug-in of the flags, if they name one. Values that it logs are marked as its own in
  /// `journal`, which must outlive the calls. Throws Error if the file has changed since
  /// `flor replay` chose it, and UsageError if it does not fit this program or wants to see steps
  /// that are not executed.
  PluginCalls(const Flags& flags, ProbedRun run, Journal& journal);

  /// The file, where there is a plug-in.
  const PluginFile* file() const { return plugin_ ? &plugin_->file() : nullptr; }
  std::string digest() const { return plugin_ ? plugin_->file().digest : std::string(); }

  /// Calls it with the present state of the program, if it wants to be called there. `nested`: the
  /// nested loop; null at the end of an epoch. `epoch`: counted over all main loops.
  void call_live(ProbeAt at, const Registry& registry, const Frame& main, const Frame* nested,
                 std::int64_t epoch);

  /// Whether it can see this iteration in the store: all states that it wants of it are there.
  bool is_stored(const Record& record, std::int64_t main_loop, std::int64_t iteration) const;
  /// The checkpoints that it wants of a stored iteration, in the order in which they were taken.
  std::vector<store::CheckpointKey> wanted(const Record& record, std::int64_t main_loop,
                                           std::int64_t iteration) const;
  /// Calls it with one of these, whose number in the store is `checkpoint`.
  void call_stored(const store::Store& store, std::int64_t checkpoint,
                   const store::CheckpointKey& key, const Frame& main, std::int64_t epoch);

  /// How many checkpoints it was shown, and how many bytes of them it read.
  std::int64_t shown() const { return shown_; }
  std::uint64_t shown_bytes() const { return shown_bytes_; }

 private:
  void call(const ProbePlace& place, ProbedState& state);

  std::unique_ptr<Plugin> plugin_;
  ProbedRun run_;
  Journal* journal_ = nullptr;
  std::int64_t shown_ = 0;
  std::uint64_t shown_bytes_ = 0;
};

}  // namespace flor::detail
