#include "index/copies/table_copy.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>

namespace flor::store {

std::vector<std::string> columns_of(Connection& connection, std::string_view table) {
  std::vector<std::string> columns;
  const auto rows = connection(fmt::format("PRAGMA table_info({})", table));
  while (rows->step()) columns.push_back(rows->text(1));
  return columns;
}

void bind(Query& query, int index, const Query& row, int column) {
  switch (row.type(column)) {
    case SQLITE_INTEGER:
      return query.bind(index, row.integer(column));
    case SQLITE_FLOAT:
      return query.bind(index, row.real(column));
    case SQLITE_TEXT:
      return query.bind(index, row.text_view(column));
    case SQLITE_BLOB:
      return query.bind(index, row.blob(column));
    default:
      return query.bind(index, nullptr);
  }
}

void TableCopy::copy(std::string_view column, std::int64_t value, std::string_view order) {
  const std::vector<std::string> there = columns_of(to_, target_);
  std::vector<std::string> columns;
  for (std::string& name : columns_of(from_, table_)) {
    const bool known = std::find(there.begin(), there.end(), name) != there.end();
    if (known && !left_out_.contains(name)) columns.push_back(std::move(name));
  }
  if (columns.empty()) return;  // one side lacks this later table
  std::string names, places;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names += (i ? ", " : "") + columns[i];
    places += fmt::format("{}?{}", i ? ", " : "", i + 1);
  }
  const std::string id = seen_ ? ", id" : "";
  const auto rows = from_(fmt::format("SELECT {}{} FROM {} WHERE {} = ?1 ORDER BY {}", names, id,
                                      table_, column, order),
                          value);
  const std::string sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", target_, names, places);
  while (rows->step()) {
    const auto insert = to_(sql);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const int at = static_cast<int>(i);
      const auto change = changes_.find(columns[i]);
      if (change == changes_.end() || rows->is_null(at)) {
        bind(*insert, at + 1, *rows, at);
      } else {
        insert->bind(at + 1, change->second(rows->integer(at)));
      }
    }
    insert->run();
    if (seen_) seen_(rows->integer(static_cast<int>(columns.size())), to_.last_id());
  }
}

}  // namespace flor::store
