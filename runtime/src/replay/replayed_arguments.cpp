#include "replay/replayed_arguments.h"

#include "base/notice.h"

#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>

#include <cstdlib>

namespace flor::detail {

namespace {

[[noreturn]] void refuse_kwargs() {
  throw UsageError(
      "--kwargs cannot be combined with a replay, which uses the recorded arguments; to train "
      "with others: --flor NAME --kwargs NAME=VALUE");
}

}  // namespace

void ReplayedArguments::check(const std::map<std::string, std::string>& kwargs) {
  for (const auto& [name, text] : kwargs) {
    if (store::masked_value(name, text) == text) refuse_kwargs();
  }
}

ReplayedArguments::ReplayedArguments(const store::Catalog& catalog, const store::Run& run,
                                     const std::map<std::string, std::string>& kwargs,
                                     const std::map<std::string, std::string>& instead)
    : secrets_(catalog, run, kwargs) {
  for (const store::Argument& argument : catalog.arguments(run.id)) {
    arguments_[argument.name] = argument;
  }
  for (const auto& [name, value] : instead) {
    if (const auto found = arguments_.find(name); found != arguments_.end()) {
      found->second.value = value;
    }
  }
  for (const auto& [name, text] : kwargs) {
    const auto found = arguments_.find(name);
    const bool recorded = found != arguments_.end() && found->second.is_secret();
    if (!recorded && !secrets_.was_given(name)) refuse_kwargs();
    // Processes that this process starts read the value from their environment.
    ::setenv(store::secret_variable(name).c_str(), text.c_str(), 1);
  }
}

std::optional<std::string> ReplayedArguments::value(std::string_view name,
                                                    Fallback fallback) const {
  const auto found = arguments_.find(std::string(name));
  if (found != arguments_.end()) {
    const store::Argument& argument = found->second;
    return argument.is_secret() ? secrets_.value(name, fallback) : argument.value;
  }
  if (secrets_.was_given(name)) return secrets_.value(name, fallback);
  say(Level::warn,
      fmt::format("argument '{}' was not recorded: the program's own value is used", name));
  return std::nullopt;
}

const char* ReplayedArguments::shown(const char* name) const {
  const auto found = arguments_.find(name);
  const bool told = found != arguments_.end() && !found->second.is_secret();
  return told ? found->second.value.c_str() : nullptr;
}

}  // namespace flor::detail
