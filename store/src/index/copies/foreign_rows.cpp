#include "index/copies/foreign_rows.h"

#include "database/open_file.h"
#include "database/rows.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace flor::store {
namespace {

constexpr FormedText kTexts[] = {
    {"run", "command", TextForm::list, "its command", "SELECT key, command FROM run"},
    {"environment", "json", TextForm::map, "its environment",
     "SELECT key, json FROM run JOIN environment ON environment.id = run.environment"},
    {"recipe", "json", TextForm::object, "the recipe of its program",
     "SELECT key, json FROM build JOIN recipe ON recipe.id = build.recipe JOIN run ON run.id = "
     "build.run"},
    {"resumption", "command", TextForm::list, "the command of a resumption",
     "SELECT key, resumption.command FROM resumption JOIN run ON run.id = resumption.run"},
    {"replay", "command", TextForm::list, "the command of a replay",
     "SELECT key, replay.command FROM replay JOIN run ON run.id = replay.run"},
};

/// Upper limit of sizes in bytes, and of times in microseconds (the year 2112).
constexpr std::int64_t kNumberMax = std::int64_t{1} << 52;
/// Upper limit of steps. It is lower, because steps are added up over all rows.
constexpr std::int64_t kStepsMax = std::int64_t{1} << 40;

/// Epochs, ranks and the like may exceed the number of rows by this: gaps leave no rows.
constexpr std::int64_t kWithoutRows = 100'000;
constexpr std::int64_t kPerRow = 10;

/// Columns of any table that contain the number, or a count, of epochs, loops, ranks or parts.
constexpr std::array<std::string_view, 14> kCounted = {
    "epoch", "epochs", "first_epoch", "last_epoch", "iteration", "main_loop", "first",
    "last",  "rank",   "world",       "segment",    "segments",  "part",      "ordinal"};

/// Returns the greatest permitted number in the column, if epochs go up to `epochs`.
std::int64_t most_of(std::string_view table, std::string_view column, std::int64_t epochs) {
  const bool counts_epochs = std::ranges::find(kCounted, column) != kCounted.end() ||
                             (table == "main_loop" && column == "iterations");
  if (counts_epochs) return epochs;
  const bool counts_steps = column == "iterations" || column.ends_with("step");
  return counts_steps ? kStepsMax : kNumberMax;
}

/// Returns the smallest permitted number. Columns in which a value may be absent have -1 then, and
/// numbers of parts outside the main loops are negative.
std::int64_t least_of(std::string_view table, std::string_view column, std::int64_t epochs) {
  if (table == "run" || table == "main_loop" || table == "iteration") return 0;
  const bool has_parts = table.ends_with("answer") || column == "part";
  return has_parts ? -epochs : -1;
}

bool is_object(std::string_view text) {
  constexpr int kDepthMax = 100;
  bool is_deep = false;
  const auto look = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    is_deep = is_deep || depth > kDepthMax;
    return !is_deep;
  };
  const auto json = nlohmann::json::parse(text, look, false);
  return !is_deep && json.is_object();
}

bool has_form(TextForm form, std::string_view text) {
  switch (form) {
    case TextForm::list:
      return list_from_json(text).has_value();
    case TextForm::map:
      return map_from_json(text).has_value();
    case TextForm::object:
      return is_object(text);
  }
  return false;
}

std::int64_t rows_of(Connection& catalog, const char* table) {
  const auto row = catalog(fmt::format("SELECT count(*) FROM {}", table));
  return row->step() ? row->integer(0) : 0;
}

std::string flaw_of_numbers(Connection& catalog, const std::string& table, std::int64_t epochs) {
  std::string tests;
  const auto columns = catalog(fmt::format("PRAGMA table_info({})", table));
  while (columns->step()) {
    if (columns->text_view(2) != "INTEGER") continue;
    const std::string column = columns->text(1);
    tests += fmt::format(" WHEN {0} NOT BETWEEN {1} AND {2} THEN '{0}'", column,
                         least_of(table, column, epochs), most_of(table, column, epochs));
  }
  if (tests.empty()) return {};
  const auto wrong = catalog(fmt::format(
      "SELECT flaw FROM (SELECT CASE{} END AS flaw FROM {}) WHERE flaw NOT NULL LIMIT 1", tests,
      table));
  if (!wrong->step()) return {};
  return fmt::format("its {}.{} is a number that cannot be", table, wrong->text_view(0));
}

}  // namespace

std::span<const FormedText> formed_texts() { return kTexts; }

void find_unreadable_texts(
    Connection& catalog,
    const std::function<void(std::string_view key, const std::string& flaw)>& found) {
  for (const FormedText& text : kTexts) {
    if (!has_table(catalog, text.table)) continue;
    const auto rows = catalog(text.sql);
    while (rows->step()) {
      if (has_form(text.form, rows->text_view(1))) continue;
      found(rows->text_view(0), unreadable(text.what, rows->text_view(1)));
    }
  }
}

std::string flaw_of_rows(Connection& catalog) {
  std::string flaw;
  find_unreadable_texts(catalog, [&](std::string_view, const std::string& what) { flaw = what; });
  if (!flaw.empty()) return flaw;
  std::vector<std::string> tables;
  {
    const auto rows = catalog("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (rows->step()) tables.push_back(rows->text(0));
  }
  std::int64_t epochs = kWithoutRows;
  for (const char* table : {"iteration", "execution", "checkpoint", "value"}) {
    epochs += kPerRow * rows_of(catalog, table);
  }
  for (const std::string& table : tables) {
    if (table == "label" || table.starts_with("sqlite_")) continue;
    flaw = flaw_of_numbers(catalog, table, epochs);
    if (!flaw.empty()) return flaw;
  }
  return {};
}

}  // namespace flor::store
