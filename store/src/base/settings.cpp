#include "base/settings.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) &&
         value >= 0;
}

struct Known {
  const char* name;
  const char* standard;
  const char* variable;  ///< environment variable; null: none
  const char* help;
  const char* expected;
  bool (*fits)(std::string_view value);
};

constexpr auto is_one_of = [](std::string_view value, const auto& words) {
  return std::ranges::find(words, value) != std::end(words);
};

constexpr std::array kKnown{
    Known{"home", "~/.flor", "FLOR_HOME", "the store", "a directory",
          [](std::string_view value) { return !value.empty(); }},
    Known{"color", "auto", nullptr, "colours of the flor command", "auto, always or never",
          [](std::string_view value) {
            return is_one_of(value, std::array<std::string_view, 3>{"auto", "always", "never"});
          }},
    Known{"log", "warn", "FLOR_LOG", "what programs tell on standard error",
          "off, error, warn, info or debug",
          [](std::string_view value) {
            return is_one_of(
                value, std::array<std::string_view, 5>{"off", "error", "warn", "info", "debug"});
          }},
    Known{"epsilon", "1/15", nullptr, "the share of the computing that recording may take",
          "a number of at least 0, as 0.05",
          [](std::string_view value) { return is_number(value); }},
    Known{"output", "16", "FLOR_OUTPUT", "how much is kept of what a run prints",
          "a whole number of MiB, or none",
          [](std::string_view value) {
            return value == "none" ||
                   (!value.empty() && value.size() < 10 &&
                    value.find_first_not_of("0123456789") == value.npos);
          }},
    Known{"machine", "10", "FLOR_MACHINE", "seconds between two samples of the machine",
          "a number of at least 1, or none",
          [](std::string_view value) {
            return value == "none" || (is_number(value) && std::stod(std::string(value)) >= 1);
          }},
    Known{"secrets", "", "FLOR_SECRETS", "options and arguments that are masked in records, too",
          "names, separated by commas", [](std::string_view) { return true; }},
    Known{"overridable", "", "FLOR_OVERRIDABLE", "further arguments that a replay may override",
          "names, separated by commas", [](std::string_view) { return true; }},
    Known{"rank_timeout", "120", "FLOR_RANK_TIMEOUT", "seconds for which ranks wait for each other",
          "a number of seconds", [](std::string_view value) { return is_number(value); }},
};

const Known& known(std::string_view name) {
  return *std::ranges::find(kKnown, name,
                            [](const Known& each) { return std::string_view(each.name); });
}

std::optional<fs::path> user_home() {
  const char* home = std::getenv("HOME");
  if (!home || !*home) {
    const passwd* user = ::getpwuid(::getuid());
    home = user ? user->pw_dir : nullptr;
  }
  return home && *home ? std::optional<fs::path>(home) : std::nullopt;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

/// Returns the line without a comment (see Settings).
std::string content_of(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool begins = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t';
    if (line[at] == '#' && begins) return trimmed(line.substr(0, at));
  }
  return trimmed(line);
}

std::string with_user_home(const std::string& path) {
  const auto home = user_home();
  if (!home || !(path == "~" || path.starts_with("~/"))) return path;
  return (*home / path.substr(std::min<std::size_t>(path.size(), 2))).string();
}

}  // namespace

std::string_view to_string(SettingOrigin origin) {
  switch (origin) {
    case SettingOrigin::standard:
      return "default";
    case SettingOrigin::user_file:
    case SettingOrigin::store_file:
      return "file";
    case SettingOrigin::environment:
      return "environment";
    case SettingOrigin::flag:
      return "flag";
  }
  return "unknown";
}

fs::path user_settings_file() {
  const char* directory = std::getenv("XDG_CONFIG_HOME");
  if (directory && *directory) return fs::path(directory) / "flor" / "config";
  const auto home = user_home();
  return home ? *home / ".config" / "flor" / "config" : fs::path();
}

fs::path store_settings_file(const fs::path& home) { return home / "config"; }

Settings Settings::read(const std::vector<GivenFlag>& flags) {
  Settings settings;
  for (const Known& each : kKnown) {
    settings.settings_.push_back({.name = each.name,
                                  .value = each.standard,
                                  .origin = SettingOrigin::standard,
                                  .where = {},
                                  .help = fmt::format("{}: {}", each.help, each.expected)});
  }
  settings.read_file(user_settings_file(), SettingOrigin::user_file);
  const auto from_environment = [&](const Known& each) {
    const char* value = each.variable ? std::getenv(each.variable) : nullptr;
    // Invalid values of environment variables are ignored, as programs do with variables in
    // general.
    if (value && *value && (each.fits(value))) {
      settings.set(each.name, value, SettingOrigin::environment, each.variable);
    }
  };
  const auto from_flags = [&](std::string_view name) {
    for (const GivenFlag& flag : flags) {
      if (flag.name != name || flag.value.empty()) continue;
      settings.set(name, flag.value, SettingOrigin::flag, flag.flag);
    }
  };
  from_environment(known("home"));
  from_flags("home");
  Setting& home = settings.find("home");
  home.value = with_user_home(home.value);
  settings.read_file(store_settings_file(home.value), SettingOrigin::store_file);
  for (const Known& each : kKnown) {
    if (each.name == std::string_view("home")) continue;
    from_environment(each);
    from_flags(each.name);
  }
  return settings;
}

const Setting& Settings::get(std::string_view name) const {
  return *std::ranges::find(settings_, name, &Setting::name);
}

Setting& Settings::find(std::string_view name) {
  return *std::ranges::find(settings_, name, &Setting::name);
}

void Settings::set(std::string_view name, std::string value, SettingOrigin origin,
                   std::string where) {
  Setting& setting = find(name);
  setting.value = std::move(value);
  setting.origin = origin;
  setting.where = std::move(where);
}

void Settings::read_file(const fs::path& path, SettingOrigin origin) {
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string content = content_of(line);
    if (content.empty()) continue;
    const std::string where = fmt::format("{}, line {}", path.string(), number);
    const std::size_t equals = content.find('=');
    if (equals == content.npos) {
      throw UsageError(fmt::format("{}: '{}' is no setting: write NAME = VALUE", where, content));
    }
    const std::string name = trimmed(content.substr(0, equals));
    std::string value = trimmed(content.substr(equals + 1));
    if (std::ranges::find(settings_, name, &Setting::name) == settings_.end()) {
      std::vector<std::string_view> names;
      for (const Known& each : kKnown) names.emplace_back(each.name);
      throw UsageError(fmt::format("{}: there is no setting '{}'; settings are {}", where, name,
                                   fmt::join(names, ", ")));
    }
    if (origin == SettingOrigin::store_file && name == "home") {
      throw UsageError(fmt::format("{}: a store cannot say where it is: set home in {}", where,
                                   user_settings_file().string()));
    }
    if (!known(name).fits(value)) {
      throw UsageError(
          fmt::format("{}: {} = {}: expected {}", where, name, value, known(name).expected));
    }
    set(name, std::move(value), origin, where);
  }
}

}  // namespace flor::store
