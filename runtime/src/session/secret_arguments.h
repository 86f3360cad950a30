// Secret arguments, which a record holds masked. A replay or resume needs their values again.
#pragma once

#include <flor/arg.h>
#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Throws UsageError for --kwargs with a masked value, as in a command line copied from a record. A
/// new run has no other source for the value.
void refuse_masked(const std::map<std::string, std::string>& kwargs);
/// Lines that warn of masked values among the program's own arguments, which may mean something
/// else there.
void warn_of_masked(const std::vector<std::string>& arguments);

class SecretArguments {
 public:
  SecretArguments() = default;
  /// `given` are the --kwargs of this process.
  SecretArguments(const store::Catalog& catalog, const store::Run& run,
                  std::map<std::string, std::string> given);

  /// Returns the value of an argument that is masked in the record. Returns nothing if the
  /// program's own value is used. Throws UsageError if the value has to be given.
  std::optional<std::string> value(std::string_view name, Fallback fallback) const;
  /// Whether the recording was given a masked value for the name, even if it ended before using it.
  bool was_given(std::string_view name) const { return asked_for_.contains(std::string(name)); }
  /// The value that was given for a name, by --kwargs or in the environment.
  std::optional<std::string> given(std::string_view name) const;

 private:
  std::string run_;
  std::set<std::string> asked_for_;  ///< names that --kwargs gave in the recording
  std::map<std::string, std::string> given_;
};

}  // namespace flor::detail
