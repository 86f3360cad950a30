// A plug-in (flor/plugin/probe.h) in this process: loaded, and called with the state.
#pragma once

#include "plugin/probed_state.h"
#include "protocol/plugin_file.h"

#include <flor/plugin/probe.h>

#include <functional>
#include <optional>
#include <string>

namespace flor::detail {

/// The facts about the run that a plug-in can ask for.
struct ProbedRun {
  std::string key, experiment;
  /// The recorded value of an argument; null if there was none.
  std::function<const char*(const char* name)> argument;
};

/// Belongs to the session's thread. Stays loaded until the process ends.
class Plugin {
 public:
  /// Throws UsageError where it does not fit this program; then none of its code was executed,
  /// unless it could not even be loaded.
  explicit Plugin(PluginFile file);

  const PluginFile& file() const { return file_; }
  bool wants(ProbeAt at) const { return (places_ & static_cast<std::uint32_t>(at)) != 0; }

  /// Calls it, and then restores random generators and the number of threads. Throws Error, with
  /// the place, for every exception that it throws.
  void call(const ProbedRun& run, const ProbePlace& place, ProbedState& state);

 private:
  PluginFile file_;
  decltype(&flor_probe) function_ = nullptr;
  std::uint32_t places_ = 0;
};

}  // namespace flor::detail
