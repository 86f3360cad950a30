#include "session/secret_arguments.h"

#include "base/notice.h"
#include "protocol/flags.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <cstdlib>

namespace flor::detail {

void refuse_masked(const std::map<std::string, std::string>& kwargs) {
  for (const auto& [name, value] : kwargs) {
    if (!store::is_masked(value)) continue;
    throw UsageError(fmt::format(
        "--kwargs {}={}: records have {} in the place of secrets, and the program would use it as "
        "the value: give the value itself, --kwargs {}=VALUE",
        name, value, store::kMasked, name));
  }
}

void warn_of_masked(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!store::is_masked(arguments[i])) continue;
    const bool named = i > 0 && arguments[i - 1].starts_with('-');
    say(Level::warn,
        fmt::format("the program is given {}{}: records have {} in the place of secrets; if this "
                    "was copied from one, begin again with the value itself",
                    named ? arguments[i - 1] + " " : "", arguments[i], store::kMasked));
  }
}

SecretArguments::SecretArguments(const store::Catalog& catalog, const store::Run& run,
                                 std::map<std::string, std::string> given)
    : run_(run.key.substr(0, 8)), given_(std::move(given)) {
  const auto note = [this](const store::RecordedCommand& command) {
    for (const auto& [name, text] : flags_of_command(command.words()).kwargs) {
      if (store::is_masked(text)) asked_for_.insert(name);
    }
  };
  note(run.start.command);
  for (const store::Resumption& later : catalog.resumptions(run.id)) note(later.command);
}

std::optional<std::string> SecretArguments::given(std::string_view name) const {
  const auto found = given_.find(std::string(name));
  if (found != given_.end() && !store::is_masked(found->second)) return found->second;
  const char* value = std::getenv(store::secret_variable(name).c_str());
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> SecretArguments::value(std::string_view name, Fallback fallback) const {
  if (auto text = given(name)) return text;
  // The program has found the value without Flor before, and will again.
  if (fallback == Fallback::value && !was_given(name)) return std::nullopt;
  throw UsageError(fmt::format(
      "argument '{}' of run {} is a secret, which no record keeps: give it again, by "
      "--kwargs {}=VALUE or in the environment, {}=VALUE",
      name, run_, name, store::secret_variable(name)));
}

}  // namespace flor::detail
