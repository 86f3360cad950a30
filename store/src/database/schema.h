// The tables of the catalog, as docs/internals/format.md describes them, and the version of the
// whole format.
#pragma once

#include <span>
#include <string>

namespace flor::store {

/// Version of the catalog and the packs together. A store with a higher one is refused.
inline constexpr int kFormat = 2;

/// SQLite's application_id: "FLOR".
inline constexpr int kApplicationId = 0x464C4F52;
/// The same for a queue: "FLOQ".
inline constexpr int kQueueApplicationId = 0x464C4F51;

/// Creates the tables of this format in an empty database.
extern const char* const kSchema;

/// Tables that came later without a new format: a store that lacks them gets them when it is opened
/// for writing; a reader that may not write sees them empty.
struct LaterTable {
  const char* name;
  const char* columns;  ///< everything between the parentheses of CREATE TABLE
  const char* options;
  const char* indexes = "";  ///< statements that create them
};
extern const std::span<const LaterTable> kLaterTables;
/// The tables of a queue. Older catalogs have them, too.
extern const std::span<const LaterTable> kQueueTables;

/// The kind of a SQLite file in a home: catalog or queue.
struct DatabaseForm {
  const char* name;  ///< in messages
  int application;   ///< SQLite's application_id
  const char* schema;
  std::span<const LaterTable> later;
  const char* needed;  ///< a table without which the file counts as damaged
  const char* searched = "";  ///< statements that create indexes for questions about all runs
};
extern const DatabaseForm kCatalogForm, kQueueForm;
/// The catalog of a single run in an object store: without indexes for questions about all runs.
extern const DatabaseForm kRunCatalogForm;

/// "CREATE TABLE IF NOT EXISTS ...;", without the indexes.
std::string create_statement(const LaterTable& table);

class Connection;

/// Names a difference between the schema of a database and that of a catalog of this or an older
/// Flor: anything but the expected tables and indexes with the expected SQL. Empty without one.
/// Executes nothing in the schema. `further`: more tables that it may have.
std::string foreign_schema(Connection& connection, std::span<const LaterTable> further);

}  // namespace flor::store
