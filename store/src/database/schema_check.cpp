// Compares the schema of a database with that of a catalog, by the SQL of each table and index.
#include "database/schema.h"
#include "database/sqlite.h"

#include <fmt/core.h>

#include <map>
#include <utility>

namespace flor::store {
namespace {

/// Keyed by "table chunk" or "index chunk_by_pack": the table that it belongs to, and its SQL.
using Schema = std::map<std::string, std::pair<std::string, std::string>>;

/// Reads at most `most` entries of `sqlite_schema`. `views`: include views.
Schema read_schema(Connection& connection, std::size_t most, bool views) {
  Schema schema;
  const auto rows = connection("SELECT type, name, tbl_name, sql FROM sqlite_schema");
  while (schema.size() < most && rows->step()) {
    if (!views && rows->text_view(0) == "view") continue;
    schema.insert_or_assign(fmt::format("{} {}", rows->text_view(0), rows->text_view(1)),
                            std::pair(rows->text(2), rows->text(3)));
  }
  return schema;
}

Schema schema_of(const std::string& sql) {
  Connection connection(":memory:", Connection::Mode::create);
  connection.execute(sql.c_str());
  return read_schema(connection, SIZE_MAX, false);
}

}  // namespace

std::string create_statement(const LaterTable& table) {
  return fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) {};", table.name, table.columns,
                     table.options);
}

std::string foreign_schema(Connection& connection, std::span<const LaterTable> further) {
  const Schema needed = schema_of(kSchema);
  std::string sql = kSchema;
  for (const auto& tables : {kLaterTables, kQueueTables, further}) {
    for (const LaterTable& table : tables) sql += create_statement(table) + table.indexes;
  }
  const Schema allowed = schema_of(sql);
  const Schema there = read_schema(connection, allowed.size() + 1, true);
  for (const auto& [name, entry] : there) {
    const auto known = allowed.find(name);
    if (known == allowed.end()) return fmt::format("it has the {}, which no catalog has", name);
    if (known->second != entry) return fmt::format("its {} is not that of a catalog", name);
  }
  for (const auto& [name, entry] : needed) {
    if (!there.contains(name)) return fmt::format("it lacks the {}", name);
  }
  return {};
}

}  // namespace flor::store
