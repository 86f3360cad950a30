#include "protocol/build_recipe.h"

#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::detail {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct TextField {
  const char* name;
  std::string BuildRecipe::*member;
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
  OrderedJson json;
  for (const TextField& field : kTexts) json[field.name] = this->*field.member;
  OrderedJson variables = OrderedJson::array();
  for (const CacheVariable& variable : cache) {
    variables.push_back(OrderedJson::array({variable.name, variable.type, variable.value}));
  }
  json["cache"] = std::move(variables);
  json["environment"] = environment;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

BuildRecipe BuildRecipe::decode(std::string_view text) {
  BuildRecipe recipe;
  try {
    const OrderedJson json = OrderedJson::parse(text);
    for (const TextField& field : kTexts) recipe.*field.member = json.value(field.name, "");
    for (const OrderedJson& variable : json.value("cache", OrderedJson::array())) {
      recipe.cache.push_back({variable.at(0), variable.at(1), variable.at(2)});
    }
    recipe.environment = json.value("environment", std::map<std::string, std::string>());
  } catch (const OrderedJson::exception&) {
    throw Error(
        fmt::format("what is recorded about its build is no recipe of flor_instrument ({}): "
                    "say how it is built with --build COMMAND",
                    store::printable(text.substr(0, 40))));
  }
  return recipe;
}

}  // namespace flor::detail
