#include "index/copies/foreign_rows.h"

#include "database/open_file.h"
#include "database/rows.h"
#include "journal/events.h"

#include <flor/store/error.h>

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

/// Upper limit of sizes in bytes.
constexpr std::int64_t kNumberMax = std::int64_t{1} << 52;
/// Upper limit of times in microseconds before and after 1970: the years 1399 and 2540. Honest
/// clocks are wrong, too, and their runs must come back.
constexpr std::int64_t kTimeMax = std::int64_t{1} << 54;
/// Upper limit of steps. It is lower, because steps are added up over all rows.
constexpr std::int64_t kStepsMax = std::int64_t{1} << 40;

/// Upper limit of durations in seconds: 31 years.
constexpr double kSecondsMax = 1e9;
/// Upper limit of factors. The tolerance of a recording is a number that its user chose.
constexpr double kFactorMax = 1e300;
/// Lower limit of durations. They may be slightly negative, as the difference of two measurements.
constexpr double kRealMin = -1;

/// Upper limits, in bytes, of one text, and of all texts of a column that are longer than `kLong`.
/// Ten times the bytes received come on top, because a text that repeats a letter takes almost
/// nothing on the way.
constexpr std::int64_t kTextMax = std::int64_t{2} << 20, kTextsMax = std::int64_t{16} << 20;
constexpr std::int64_t kLong = 4096;
constexpr std::int64_t kPerByte = 10;

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
  if (column.ends_with("_us")) return kTimeMax;
  const bool counts_steps = column == "iterations" || column.ends_with("step");
  return counts_steps ? kStepsMax : kNumberMax;
}

/// Returns the smallest permitted number. Columns in which a value may be absent have -1 then, and
/// numbers of parts outside the main loops are negative.
std::int64_t least_of(std::string_view table, std::string_view column, std::int64_t epochs) {
  if (column.ends_with("_us")) return -kTimeMax;
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
  const auto value = nlohmann::json::parse(text, look, false);
  return !is_deep && value.is_object();
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

struct ForeignColumn {
  std::string name, type;
  bool may_be_null = false;
};

std::vector<ForeignColumn> foreign_columns(Connection& catalog, const std::string& table) {
  std::vector<ForeignColumn> columns;
  const auto rows = catalog(fmt::format("PRAGMA table_info({})", table));
  while (rows->step()) {
    columns.push_back({rows->text(1), rows->text(2), rows->integer(3) == 0});
  }
  return columns;
}

/// True of what cannot be in the column, in SQL; empty where anything can. The file need not keep
/// to the types that its schema says.
std::string test_of_digest(const ForeignColumn& column) {
  if (column.type != "BLOB" || column.name != "digest") return {};
  return fmt::format("(typeof(\"{0}\") <> 'blob' OR length(\"{0}\") <> 16){1}", column.name,
                     column.may_be_null ? fmt::format(" AND \"{}\" NOT NULL", column.name) : "");
}

/// The same of numbers.
std::string test_of_number(const std::string& table, const ForeignColumn& column,
                           std::int64_t epochs) {
  const bool is_integer = column.type == "INTEGER";
  if (!is_integer && column.type != "REAL") return {};
  std::string test = fmt::format("typeof(\"{}\") NOT IN ('{}', '{}')", column.name,
                                 is_integer ? "integer" : "real", column.may_be_null ? "null" : "");
  if (is_integer) {
    test += fmt::format(" OR \"{}\" NOT BETWEEN {} AND {}", column.name,
                        least_of(table, column.name, epochs), most_of(table, column.name, epochs));
  } else if (!column.may_be_null) {
    // The others are what a program logged, which may be infinite, and is null where it is none.
    const bool is_factor = column.name == "epsilon" || column.name == "restore_factor";
    test += fmt::format(" OR \"{}\" NOT BETWEEN {} AND {}", column.name, kRealMin,
                        is_factor ? kFactorMax : kSecondsMax);
  }
  return test;
}

std::string flaw_of_numbers(Connection& catalog, const std::string& table,
                            std::span<const ForeignColumn> columns, std::int64_t epochs) {
  std::string tests;
  for (const ForeignColumn& column : columns) {
    const std::string number = test_of_number(table, column, epochs);
    const std::string digest = test_of_digest(column);
    if (!number.empty()) {
      tests += fmt::format(" WHEN {} THEN '{} is a number that cannot be'", number, column.name);
    }
    if (!digest.empty())
      tests += fmt::format(" WHEN {} THEN '{} is no digest'", digest, column.name);
  }
  if (tests.empty()) return {};
  const auto wrong = catalog(fmt::format(
      "SELECT flaw FROM (SELECT CASE{} END AS flaw FROM {}) WHERE flaw NOT NULL LIMIT 1", tests,
      table));
  if (!wrong->step()) return {};
  return fmt::format("its {}.{}", table, wrong->text_view(0));
}

/// `may_have`: bytes beside those that any text, or all long ones of a column, may have.
std::string flaw_of_texts(Connection& catalog, const std::string& table,
                          std::span<const ForeignColumn> columns, std::int64_t may_have) {
  for (const ForeignColumn& column : columns) {
    if (column.type != "TEXT") continue;
    const auto sizes = catalog(fmt::format(
        "SELECT total(octets), max(type NOT IN ('text', '{1}')) FROM (SELECT length(CAST(\"{0}\" "
        "AS "
        "BLOB)) AS octets, typeof(\"{0}\") AS type FROM {2}) WHERE octets > {3} OR type <> 'text'",
        column.name, column.may_be_null ? "null" : "", table, kLong));
    if (!sizes->step()) continue;
    if (sizes->integer(1) != 0) return fmt::format("its {}.{} is no text", table, column.name);
    if (sizes->real(0) > static_cast<double>(kTextsMax + may_have)) {
      return fmt::format("the texts of its {}.{} are longer than they can be", table, column.name);
    }
  }
  return {};
}

std::string flaw_of_proofs(Connection& catalog) {
  if (!has_table(catalog, "proof")) return {};
  const auto rows = catalog("SELECT event FROM proof");
  try {
    while (rows->step()) (void)decode_event<ProofEvent>(rows->blob(0));
  } catch (const Error&) {
    return "its proofs cannot be read";
  }
  return {};
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

std::string flaw_of_rows(Connection& catalog, std::uint64_t received) {
  std::vector<std::string> tables;
  {
    const auto rows = catalog("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (rows->step()) tables.push_back(rows->text(0));
  }
  std::erase_if(tables, [](const std::string& table) { return table.starts_with("sqlite_"); });
  std::int64_t epochs = kWithoutRows;
  for (const char* table : {"iteration", "execution", "checkpoint", "value"}) {
    epochs += kPerRow * rows_of(catalog, table);
  }
  const auto may_have = kPerByte * static_cast<std::int64_t>(received);
  for (const std::string& table : tables) {
    const std::vector<ForeignColumn> columns = foreign_columns(catalog, table);
    std::string flaw;
    if (table != "label") flaw = flaw_of_numbers(catalog, table, columns, epochs);
    if (flaw.empty()) {
      // A longer text ends the query before there is memory for it.
      const Connection::ShortTexts limit(catalog, kTextMax + may_have);
      flaw = flaw_of_texts(catalog, table, columns, may_have);
    }
    if (!flaw.empty()) return flaw;
  }
  std::string flaw = flaw_of_proofs(catalog);
  find_unreadable_texts(catalog, [&](std::string_view, const std::string& what) { flaw = what; });
  return flaw;
}

}  // namespace flor::store
