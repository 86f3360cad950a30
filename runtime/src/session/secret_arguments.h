// Arguments of a run that its record holds masked: a replay or resume asks for them again.
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

/// Throws UsageError for --kwargs that are masked, as in a command line that was copied from a
/// record: a run that begins has no other source for the value.
void refuse_masked(const std::map<std::string, std::string>& kwargs);
/// The same of the program's own words, which may mean something else: a line for each.
void warn_of_masked(const std::vector<std::string>& arguments);

class SecretArguments {
 public:
  SecretArguments() = default;
  /// `given`: --kwargs of this process.
  SecretArguments(const store::Catalog& catalog, const store::Run& run,
                  std::map<std::string, std::string> given);

  /// The value of an argument whose recorded one is masked; nothing: the program's own is the one.
  /// Throws UsageError where it has to be given.
  std::optional<std::string> value(std::string_view name, Fallback fallback) const;
  /// The recording was given a masked value for the name, which it may have ended too early to use.
  bool was_given(std::string_view name) const { return asked_for_.contains(std::string(name)); }
  /// The value that was given for a name, by --kwargs or in the environment.
  std::optional<std::string> given(std::string_view name) const;

 private:
  std::string run_;
  std::set<std::string> asked_for_;  ///< names that --kwargs gave when the run was recorded
  std::map<std::string, std::string> given_;
};

}  // namespace flor::detail
