// The arguments of a recording: those that are given, and those of the run that it continues.
#pragma once

#include "protocol/flags.h"
#include "resume/changes.h"
#include "session/secret_arguments.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Answers the calls of flor::arg while a run is recorded. To be used by the training thread.
class RunArguments {
 public:
  /// Takes over the arguments of an earlier run, except those to which --kwargs gives another
  /// value; these are returned. All arguments of its first start stay in force, even if the program
  /// has not read them yet: they are added to `flags.kwargs`. Its rules for checkpoints are added
  /// to `flags` where those have none.
  std::vector<ChangedArgument> take(const store::Catalog& catalog, const store::Run& run,
                                    Flags& flags);
  /// Returns the recorded value, or else the given one. Returns nothing if the program's own value
  /// is to be used.
  std::optional<std::string> text(std::string_view name, Fallback fallback, const Flags& flags);
  /// A line for each of --kwargs that the program did not ask for. `when` is, for example, "never
  /// asked for".
  std::vector<std::string> unused(std::string_view when, const Flags& flags) const;

 private:
  std::map<std::string, store::Argument> recorded_;  // of the earlier run
  SecretArguments secrets_;                          // of the earlier run
  std::set<std::string> used_;
};

}  // namespace flor::detail
