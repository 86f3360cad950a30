// Flor's settings, which hold for all programs and commands, and where each value comes from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Where a setting's value comes from, in increasing precedence.
enum class SettingOrigin { standard, user_file, store_file, environment, flag };
std::string_view to_string(SettingOrigin origin);  ///< "default", "file", "environment", "flag"

struct Setting {
  std::string name, value;
  SettingOrigin origin = SettingOrigin::standard;
  std::string
      where;  ///< "/home/ada/.config/flor/config, line 3", "FLOR_HOME", "--home"; may be empty
  std::string help;  ///< its meaning, and the possible values
};

/// A command-line flag that sets a setting: name of the setting, flag, value, as {"home", "--home",
/// "/data/flor"}.
struct GivenFlag {
  std::string name, flag, value;
};

/// The settings in effect for this process. Settings files have lines `name = value`; a `#` at the
/// beginning of a line or after a space begins a comment.
class Settings {
 public:
  /// Reads the settings files of the user and of the store, if they exist. Throws UsageError with
  /// file and line for an unknown setting or value.
  static Settings read(const std::vector<GivenFlag>& flags = {});

  const std::vector<Setting>& all() const { return settings_; }
  /// `name` is home, color, log, epsilon, output, machine, secrets, overridable or
  /// rank_timeout.
  const Setting& get(std::string_view name) const;

 private:
  Setting& find(std::string_view name);
  void set(std::string_view name, std::string value, SettingOrigin origin, std::string where);
  void read_file(const std::filesystem::path& path, SettingOrigin origin);

  std::vector<Setting> settings_;
};

/// Returns $XDG_CONFIG_HOME/flor/config, else ~/.config/flor/config; empty if the home directory is
/// unknown.
std::filesystem::path user_settings_file();
/// Returns the settings file of a store: $FLOR_HOME/config.
std::filesystem::path store_settings_file(const std::filesystem::path& home);

}  // namespace flor::store
