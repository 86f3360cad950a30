// The arguments of the recorded run, which a replay uses again; it asks the user for secrets.
#include "base/notice.h"
#include "replay/replayer.h"

#include <flor/store/error.h>

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

/// Checked before anything is opened: only arguments that a record would mask may be given again.
void Replayer::check_kwargs() const {
  for (const auto& [name, text] : flags_.kwargs) {
    if (store::masked_value(name, text) == text) refuse_kwargs();
  }
}

void Replayer::take_arguments() {
  for (const store::Argument& argument : store_->catalog().arguments(run_.id)) {
    arguments_[argument.name] = argument;
  }
  for (const auto& [name, text] : flags_.kwargs) {
    const auto found = arguments_.find(name);
    const bool recorded = found != arguments_.end() && found->second.is_secret();
    if (!recorded && !secrets_.was_given(name)) refuse_kwargs();
    ::setenv(store::secret_variable(name).c_str(), text.c_str(), 1);  // for those that it starts
  }
}

/// The program's own arguments, as a record has them.
std::vector<std::string> Replayer::recorded_arguments() const {
  return own_arguments(store::RecordedCommand(flags_.command).words());
}

std::optional<std::string> Replayer::argument_text(std::string_view name, Fallback fallback) {
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

void Replayer::note_argument(const store::Argument&) {}

}  // namespace flor::detail
