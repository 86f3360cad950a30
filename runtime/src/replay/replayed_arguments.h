// The arguments of the recorded run, which a replay uses again; it asks the user for secrets.
#pragma once

#include "session/secret_arguments.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// Belongs to the session's thread.
class ReplayedArguments {
 public:
  /// Refuses --kwargs that no record would mask: a replay uses the recorded arguments. Needs no
  /// store, and so comes before one is opened. Throws UsageError.
  static void check(const std::map<std::string, std::string>& kwargs);

  ReplayedArguments() = default;
  /// `kwargs`: those of this process, which only give values of secrets; puts them into the
  /// environment, for processes that this one starts. Throws UsageError for one that the record
  /// does not mask.
  ReplayedArguments(const store::Catalog& catalog, const store::Run& run,
                    const std::map<std::string, std::string>& kwargs);

  /// The recorded value, or that of the secret. Nothing, with a warning, where none was recorded:
  /// the program's own is used. Throws UsageError where a secret has to be given.
  std::optional<std::string> value(std::string_view name, Fallback fallback) const;
  /// The recorded value as a plug-in may see it: null for a secret, and where there is none.
  const char* shown(const char* name) const;

 private:
  std::map<std::string, store::Argument> arguments_;
  SecretArguments secrets_;
};

}  // namespace flor::detail
