#include "database/rows.h"

#include "base/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace flor::store {
namespace {

using nlohmann::json;

/// Bytes that are not UTF-8 (arguments may contain any) become U+FFFD.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
std::optional<T> parse(std::string_view text) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string to_json(const std::vector<std::string>& list) { return dump(list); }
std::string to_json(const std::map<std::string, std::string>& map) { return dump(map); }
std::optional<std::vector<std::string>> list_from_json(std::string_view text) {
  return parse<std::vector<std::string>>(text);
}
std::optional<std::map<std::string, std::string>> map_from_json(std::string_view text) {
  return parse<std::map<std::string, std::string>>(text);
}
std::string unreadable(std::string_view what, std::string_view text) {
  constexpr std::size_t kShown = 40;
  return fmt::format("{} cannot be read ({}{})", what, printable(text.substr(0, kShown)),
                     text.size() > kShown ? "..." : "");
}

std::int64_t intern(Connection& connection, const char* table, const char* column,
                    std::string_view text) {
  connection(fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES (?1)", table, column), text)->run();
  const auto row = connection(fmt::format("SELECT id FROM {} WHERE {} = ?1", table, column), text);
  row->step();
  return row->integer(0);
}

void put_origin(Connection& connection, std::int64_t run, const RunOrigin& origin) {
  if (origin.recorded_here()) return;
  connection("INSERT OR REPLACE INTO origin (run, kind, place, since_us) VALUES (?1, ?2, ?3, ?4)",
             run, static_cast<std::int64_t>(origin.kind), origin.from, origin.since_us)
      ->run();
}

void remember_name(Connection& connection, std::int64_t run) {
  connection(
      "INSERT OR REPLACE INTO repository (root, experiment, used_us) SELECT repository, "
      "experiment.name, started_us FROM run JOIN experiment ON experiment.id = run.experiment "
      "WHERE "
      "run.id = ?1 AND run.id NOT IN (SELECT run FROM origin) AND run.id NOT IN (SELECT run FROM "
      "rank_run WHERE rank > 0)",
      run)
      ->run();
}

std::optional<std::string> repository_named_by(Connection& connection, std::int64_t run) {
  const auto row = connection(
      "SELECT root FROM repository JOIN run ON root = repository AND used_us = started_us WHERE "
      "run.id = ?1",
      run);
  if (!row->step()) return std::nullopt;
  return row->text(0);
}

void name_again(Connection& connection, const std::string& root) {
  connection("DELETE FROM repository WHERE root = ?1", root)->run();
  const auto row = connection(
      "SELECT id FROM run WHERE repository = ?1 AND id NOT IN (SELECT run FROM origin) AND id NOT "
      "IN (SELECT run FROM rank_run WHERE rank > 0) ORDER BY started_us DESC, id DESC LIMIT 1",
      root);
  if (row->step()) remember_name(connection, row->integer(0));
}

}  // namespace flor::store
