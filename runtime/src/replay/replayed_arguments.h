// The arguments of the recorded run, which a replay uses again, but for those that it is given
// instead. The values of secrets are not recorded, and must be given.
#pragma once

#include "session/secret_arguments.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// Answers the calls of flor::arg in a replay. To be used by the session's thread.
class ReplayedArguments {
 public:
  /// Refuses --kwargs whose values a record would not mask, since a replay uses the recorded
  /// values. Needs no store, so it is called before one is opened. Throws UsageError.
  static void check(const std::map<std::string, std::string>& kwargs);

  ReplayedArguments() = default;
  /// `kwargs` are those of this process, which only give the values of secrets. Also puts them into
  /// the environment, for processes that this process starts. Throws UsageError for one that the
  /// record does not mask. `instead` replace recorded values, see check_overrides.
  ReplayedArguments(const store::Catalog& catalog, const store::Run& run,
                    const std::map<std::string, std::string>& kwargs,
                    const std::map<std::string, std::string>& instead);

  /// The recorded value, its replacement, or the given value of a secret. Nothing, with a warning,
  /// if none was recorded: the program's own value is then used. Throws UsageError if a secret has
  /// to be given.
  std::optional<std::string> value(std::string_view name, Fallback fallback) const;
  /// The recorded value as a plug-in may see it: null for a secret, and if there is none.
  const char* shown(const char* name) const;

 private:
  std::map<std::string, store::Argument> arguments_;
  SecretArguments secrets_;
};

}  // namespace flor::detail
