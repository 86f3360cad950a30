// Arguments and threads that a replay takes instead of the recorded ones.
#pragma once

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

struct Instead {
  std::optional<int> threads;
  std::map<std::string, std::string> arguments;  ///< by name

  /// As "device=cpu workers=0"; empty without arguments.
  std::string shown_arguments() const;
  bool operator==(const Instead&) const = default;
};

/// Whether another value of an argument with this name only changes where or how fast a program
/// computes. `more` are further such names, separated by commas, as in the setting `overridable`.
bool is_overridable(std::string_view name, std::string_view more);

/// Throws UsageError for an argument that the run did not record, that is a secret or is given one,
/// or that is not overridable.
void check_overrides(const store::Catalog& catalog, const store::Run& run, const Instead& instead,
                     std::string_view more);

}  // namespace flor::detail
