// flor config: shows the settings and where they come from.
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "shell/context.h"
#include "shell/current_settings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class Config final : public Command {
 public:
  std::string_view name() const override { return "config"; }
  std::string_view summary() const override { return "show settings and where they come from"; }
  std::string_view lesson() const override {
    return R"(Settings are read by programs that record and replay and by this command, from lines NAME = VALUE
in ~/.config/flor/config (or $XDG_CONFIG_HOME/flor/config), then in the file config of the store,
then from the environment, then from flags; what comes later wins. A line that is no setting is an
error of every command, which names the file and the line.

Examples:
  flor config                 each setting, its value, and where it comes from
  flor config --home /data    as they are with this store
)";
  }
  void setup(Syntax&) override {}
  int run(Context& context) override;
};

std::string origin_of(const store::Setting& setting) {
  const std::string_view kind = to_string(setting.origin);
  return setting.where.empty() ? std::string(kind) : fmt::format("{}: {}", kind, setting.where);
}

int Config::run(Context& context) {
  if (context.json()) {
    Json result = document("config");
    Json list = Json::array();
    for (const store::Setting& setting : current_settings().all()) {
      list.push_back({{"name", setting.name},
                      {"value", setting.value},
                      {"origin", std::string(to_string(setting.origin))},
                      {"where", json_text(setting.where)}});
    }
    result["settings"] = std::move(list);
    result["user_file"] = json_text(store::user_settings_file().string());
    result["store_file"] =
        json_text(store::store_settings_file(current_settings().get("home").value).string());
    print(context.out(), result);
    return 0;
  }
  Table table({{"setting"}, {"value"}, {"from"}, {.title = "means", .shrinks = true}});
  for (const store::Setting& setting : current_settings().all()) {
    table.add(setting.name, Tone::strong);
    table.add(setting.value);
    table.add(origin_of(setting));
    table.add(setting.help);
  }
  table.print(context.out(), context.style());
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_config() { return std::make_unique<Config>(); }

}  // namespace flor::cli
