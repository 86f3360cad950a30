// All rows of a catalog, for a look at what has changed in it.
#pragma once

#include "database/sqlite.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flor::remote {

struct CatalogColumn {
  std::string name, type;
};

inline std::vector<std::string> catalog_tables(store::Connection& catalog) {
  std::vector<std::string> tables;
  const auto rows = catalog(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY "
      "name");
  while (rows->step()) tables.push_back(rows->text(0));
  return tables;
}

inline std::vector<CatalogColumn> catalog_columns(store::Connection& catalog,
                                                  const std::string& table) {
  std::vector<CatalogColumn> columns;
  const auto rows = catalog(fmt::format("SELECT name, type FROM pragma_table_info('{}')", table));
  while (rows->step()) columns.push_back({rows->text(0), rows->text(1)});
  return columns;
}

/// Lines, in an order of their own: a row each, as SQL writes it.
inline std::string catalog_rows(store::Connection& catalog, const std::string& table,
                                const std::string& where = "1") {
  std::string columns, lines;
  for (const CatalogColumn& column : catalog_columns(catalog, table)) {
    columns += fmt::format("{}quote(\"{}\")", columns.empty() ? "" : " || ',' || ", column.name);
  }
  const auto rows =
      catalog(fmt::format("SELECT {} FROM {} WHERE {} ORDER BY 1", columns, table, where));
  while (rows->step()) lines += rows->text(0) + "\n";
  return lines;
}

}  // namespace flor::remote
