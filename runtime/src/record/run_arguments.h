// Arguments of a recording: those given now, and those of the run that it continues.
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

/// The answers of flor::arg while a run is recorded. Belongs to the thread of the training.
class RunArguments {
 public:
  /// Takes the arguments of an earlier run, but for those that --kwargs gives otherwise now: these
  /// are returned. The arguments of its first start stay in force, also those the program had not
  /// read yet: they are added to `flags.kwargs`, and its rules for checkpoints to `flags` where
  /// those have none.
  std::vector<ChangedArgument> take(const store::Catalog& catalog, const store::Run& run,
                                    Flags& flags);
  /// The value that was recorded, or else given; nothing: the program's own is the one.
  std::optional<std::string> text(std::string_view name, Fallback fallback, const Flags& flags);
  /// A line for each of --kwargs that the program has not asked for. `when`: "never asked for".
  std::vector<std::string> unused(std::string_view when, const Flags& flags) const;

 private:
  std::map<std::string, store::Argument> recorded_;  // of the earlier run
  SecretArguments secrets_;                          // of the earlier run
  std::set<std::string> used_;
};

}  // namespace flor::detail
