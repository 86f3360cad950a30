// The plug-in of a replay: where it is called, and which epochs it is shown from the store without
// executing them.
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

/// A replay's plug-in. Without one, nothing is wanted and `call_live` does nothing. To be used by
/// the session's thread. A failing call ends the process (`die`), since the program would take the
/// plug-in's exception for its own.
class PluginCalls {
 public:
  PluginCalls() = default;
  /// Loads the plug-in that the flags name, if any. `journal` marks the values that it logs as its
  /// own, and must outlive the calls. Throws Error if the file has changed since `flor replay`
  /// chose it, and UsageError if it does not fit this program or wants to see steps that are not
  /// executed.
  PluginCalls(const Flags& flags, ProbedRun run, Journal& journal);

  /// The plug-in's file; null without a plug-in.
  const PluginFile* file() const { return plugin_ ? &plugin_->file() : nullptr; }
  std::string digest() const { return plugin_ ? plugin_->file().digest : std::string(); }

  /// Calls the plug-in with the present state of the program, if it wants to be called at this
  /// point. `nested` is the nested loop, or null at the end of an epoch. `epoch` counts over all
  /// main loops.
  void call_live(ProbeAt at, const Registry& registry, const Frame& main, const Frame* nested,
                 std::int64_t epoch);

  /// Whether the plug-in can be shown this iteration from the store: all states that it wants are
  /// stored.
  bool is_stored(const Record& record, std::int64_t main_loop, std::int64_t iteration) const;
  /// The stored checkpoints that the plug-in wants to see of an iteration, in the order they were
  /// taken.
  std::vector<store::CheckpointKey> wanted(const Record& record, std::int64_t main_loop,
                                           std::int64_t iteration) const;
  /// Calls the plug-in with a stored checkpoint that it wants. `checkpoint` is its id in the store.
  void call_stored(const store::Store& store, std::int64_t checkpoint,
                   const store::CheckpointKey& key, const Frame& main, std::int64_t epoch);

  /// How many checkpoints the plug-in was shown, and how many bytes of them it has read.
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
