#include "record/run_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace flor::detail {
namespace {

bool same_argument(const store::Argument& recorded, const std::string& text) {
  if (recorded.value == text) return true;
  if (recorded.is_secret()) return store::masked_value(recorded.name, text) == recorded.value;
  if (recorded.type == "bool") return (recorded.value == "true") == (text == "1" || text == "true");
  if (recorded.type == "text") return false;
  const auto number = [](const std::string& digits) {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  return number(recorded.value) && number(recorded.value) == number(text);
}

}  // namespace

std::vector<ChangedArgument> RunArguments::take(const store::Catalog& catalog,
                                                const store::Run& run, Flags& flags) {
  for (store::Argument& argument : catalog.arguments(run.id)) {
    recorded_[argument.name] = std::move(argument);
  }
  secrets_ = SecretArguments(catalog, run, flags.kwargs);
  const Flags before = flags_of_command(run.start.command.words());
  std::vector<ChangedArgument> changed;
  for (const auto& [name, text] : flags.kwargs) {
    const auto argument = recorded_.find(name);
    const auto kwarg = before.kwargs.find(name);
    std::optional<std::string> recorded;
    if (argument != recorded_.end()) {
      if (!same_argument(argument->second, text)) recorded = argument->second.value;
    } else if (kwarg != before.kwargs.end() && kwarg->second != text &&
               kwarg->second != store::masked_value(name, text)) {
      recorded = kwarg->second;
    }
    if (recorded) changed.push_back({name, *recorded, store::masked_value(name, text)});
  }
  for (const auto& [name, text] : before.kwargs) {
    if (store::is_masked(text)) {
      if (const auto given = secrets_.given(name)) flags.kwargs.emplace(name, *given);
    } else {
      flags.kwargs.emplace(name, text);
    }
  }
  for (const ChangedArgument& argument : changed) recorded_.erase(argument.name);
  if (!flags.every && flags.epsilon == Flags().epsilon) {
    flags.every = before.every;
    flags.epsilon = before.epsilon;
  }
  if (!flags.every_steps) flags.every_steps = before.every_steps;
  if (!flags.every_seconds) flags.every_seconds = before.every_seconds;
  return changed;
}

std::optional<std::string> RunArguments::text(std::string_view name, Fallback fallback,
                                              const Flags& flags) {
  if (const auto recorded = recorded_.find(std::string(name)); recorded != recorded_.end()) {
    used_.insert(recorded->first);
    const store::Argument& argument = recorded->second;
    return argument.is_secret() ? secrets_.value(name, fallback) : argument.value;
  }
  const auto found = flags.kwargs.find(std::string(name));
  if (found == flags.kwargs.end()) {
    return secrets_.was_given(name) ? secrets_.value(name, fallback) : std::nullopt;
  }
  used_.insert(found->first);
  return found->second;
}

std::vector<std::string> RunArguments::unused(std::string_view when, const Flags& flags) const {
  std::vector<std::string> lines;
  for (const auto& [name, value] : flags.kwargs) {
    if (used_.contains(name)) continue;
    lines.push_back(fmt::format("--kwargs {}={}: the program {} an argument '{}'", name,
                                store::masked_value(name, value), when, name));
  }
  return lines;
}

}  // namespace flor::detail
