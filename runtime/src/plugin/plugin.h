// A plug-in (flor/plugin/probe.h) that is loaded into this process, and called with the state.
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
  /// The recorded value of an argument; null if there is none.
  std::function<const char*(const char* name)> argument;
};

/// A plug-in that is loaded into this process. To be used by the session's thread. The plug-in
/// stays loaded until the process ends.
class Plugin {
 public:
  /// Throws UsageError if the plug-in does not fit this program. None of its code has been executed
  /// then, except when loading itself fails.
  explicit Plugin(PluginFile file);

  const PluginFile& file() const { return file_; }
  bool wants(ProbeAt at) const { return (places_ & static_cast<std::uint32_t>(at)) != 0; }

  /// Calls the plug-in, then restores the random generators and the number of threads. Turns every
  /// exception of the plug-in into an Error that names the place.
  void call(const ProbedRun& run, const ProbePlace& place, ProbedState& state);

 private:
  PluginFile file_;
  decltype(&flor_probe) function_ = nullptr;
  std::uint32_t places_ = 0;
};

}  // namespace flor::detail
