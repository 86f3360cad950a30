// Copies rows of a table between catalogs: those columns that both have.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store {

/// Converts an id of the original to the corresponding id of the copy.
using Renumber = std::function<std::int64_t(std::int64_t)>;

/// Returns the names of the columns; none if there is no such table.
std::vector<std::string> columns_of(Connection& connection, std::string_view table);

/// Binds the content of a column, of any type, to a parameter.
void bind(Query& query, int index, const Query& row, int column);

class TableCopy {
 public:
  TableCopy(Connection& from, Connection& to, std::string table)
      : TableCopy(from, to, table, table) {}
  /// For a table that has another name in the copy.
  TableCopy(Connection& from, Connection& to, std::string table, std::string target)
      : from_(from), to_(to), table_(std::move(table)), target_(std::move(target)) {}

  TableCopy& without(std::string column) {
    left_out_.insert(std::move(column));
    return *this;
  }
  TableCopy& renumber(std::string column, Renumber change) {
    changes_[std::move(column)] = std::move(change);
    return *this;
  }
  TableCopy& set(std::string column, std::int64_t value) {
    return renumber(std::move(column), [value](std::int64_t) { return value; });
  }
  /// Sets a function that is called after each copied row, with its old and new id.
  TableCopy& then(std::function<void(std::int64_t, std::int64_t)> seen) {
    seen_ = std::move(seen);
    return *this;
  }

  /// Copies the rows whose `column` is `value`, in the order given by the SQL expression `order`.
  void copy(std::string_view column, std::int64_t value, std::string_view order);

 private:
  Connection& from_;
  Connection& to_;
  std::string table_, target_;
  std::set<std::string> left_out_;
  std::map<std::string, Renumber> changes_;
  std::function<void(std::int64_t, std::int64_t)> seen_;
};

}  // namespace flor::store
