// The tables of the catalog, as docs/internals/format.md describes them, and the version of the
// store's format.
#pragma once

#include <span>
#include <string>

namespace flor::store {

/// Version of the format of catalog and packs. A store with a higher version is refused.
inline constexpr int kFormat = 2;

/// SQLite's application_id: "FLOR".
inline constexpr int kApplicationId = 0x464C4F52;
/// SQLite's application_id of a queue: "FLOQ".
inline constexpr int kQueueApplicationId = 0x464C4F51;

/// SQL that creates the tables of this format in an empty database.
extern const char* const kSchema;

/// A table that was added without a new format version. A store that lacks it gets it when it is
/// opened for writing; a reader that may not write sees it empty.
struct LaterTable {
  const char* name;
  const char* columns;  ///< everything between the parentheses of CREATE TABLE
  const char* options;
  const char* indexes = "";  ///< SQL statements that create its indexes
};
extern const std::span<const LaterTable> kLaterTables;
/// The tables of a queue. Old catalogs have them as well.
extern const std::span<const LaterTable> kQueueTables;

/// The kind of a SQLite file in a home: catalog or queue.
struct DatabaseForm {
  const char* name;  ///< for messages
  int application;   ///< SQLite's application_id
  const char* schema;
  std::span<const LaterTable> later;
  const char* needed;  ///< a table without which the file counts as damaged
  const char* searched = "";  ///< SQL statements that create indexes for queries over all runs
};
extern const DatabaseForm kCatalogForm, kQueueForm;
/// The catalog of a single run in an object store. It lacks the indexes for queries over all runs.
extern const DatabaseForm kRunCatalogForm;

/// Returns "CREATE TABLE IF NOT EXISTS ...;", without the indexes.
std::string create_statement(const LaterTable& table);

class Connection;

/// Returns a description of the first difference between a database's schema and that of a catalog
/// of this or an older Flor: anything other than the expected tables and indexes with the expected
/// SQL. Empty if there is none. Executes nothing from the schema. `further`: additional tables that
/// are allowed.
std::string foreign_schema(Connection& connection, std::span<const LaterTable> further);

}  // namespace flor::store
