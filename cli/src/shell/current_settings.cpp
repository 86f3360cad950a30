#include "shell/current_settings.h"

#include <optional>
#include <utility>

namespace flor::cli {
namespace {

std::optional<store::Settings>& held() {
  static std::optional<store::Settings> settings;
  return settings;
}

}  // namespace

const store::Settings& current_settings() {
  if (!held()) held() = store::Settings::read();
  return *held();
}

void set_current_settings(store::Settings settings) { held() = std::move(settings); }

}  // namespace flor::cli
