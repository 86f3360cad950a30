#include "build_recipe.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::detail {
namespace {

using Json = nlohmann::ordered_json;

struct TextField {
  const char* name;
  std::string BuildRecipe::* member;
};
constexpr TextField kTexts[] = {
    {"target", &BuildRecipe::target},
    {"source_directory", &BuildRecipe::source_directory},
    {"build_directory", &BuildRecipe::build_directory},
    {"program", &BuildRecipe::program},
    {"generator", &BuildRecipe::generator},
    {"configuration", &BuildRecipe::configuration},
    {"compiler", &BuildRecipe::compiler},
    {"flags", &BuildRecipe::flags},
    {"sources", &BuildRecipe::sources},
};

}  // namespace

std::string BuildRecipe::encode() const {
  Json json;
  for (const TextField& field : kTexts) json[field.name] = this->*field.member;
  Json variables = Json::array();
  for (const CacheVariable& variable : cache) {
    variables.push_back(Json::array({variable.name, variable.type, variable.value}));
  }
  json["cache"] = std::move(variables);
  json["environment"] = environment;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

BuildRecipe BuildRecipe::decode(std::string_view text) {
  BuildRecipe recipe;
  try {
    const Json json = Json::parse(text);
    for (const TextField& field : kTexts) recipe.*field.member = json.value(field.name, "");
    for (const Json& variable : json.value("cache", Json::array())) {
      recipe.cache.push_back({variable.at(0), variable.at(1), variable.at(2)});
    }
    recipe.environment = json.value("environment", std::map<std::string, std::string>());
  } catch (const Json::exception& error) {
    throw Error(fmt::format("what is recorded about the build cannot be read: {}", error.what()));
  }
  return recipe;
}

}  // namespace flor::detail
