#include "database/rows.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace flor::store {
namespace {

using nlohmann::json;

/// Arguments may hold any bytes; those that are not UTF-8 become U+FFFD.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
T parse(std::string_view text) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& error) {
    throw Damaged("the catalog holds a list that is not JSON (" + std::string(text.substr(0, 40)) +
                  "): run `flor fsck`");
  }
}

}  // namespace

std::string to_json(const std::vector<std::string>& list) { return dump(list); }
std::string to_json(const std::map<std::string, std::string>& map) { return dump(map); }
std::vector<std::string> list_from_json(std::string_view text) {
  return parse<std::vector<std::string>>(text);
}
std::map<std::string, std::string> map_from_json(std::string_view text) {
  return parse<std::map<std::string, std::string>>(text);
}

std::int64_t intern(Connection& connection, const char* table, const char* column,
                    std::string_view text) {
  connection(fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES (?1)", table, column), text)->run();
  const auto row = connection(fmt::format("SELECT id FROM {} WHERE {} = ?1", table, column), text);
  row->step();
  return row->integer(0);
}

}  // namespace flor::store
