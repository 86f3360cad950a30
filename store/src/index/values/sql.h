// SQL queries by users on the catalog, which cannot change anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flor::store {

class Store;

/// NULL, a number, a text or a blob. Texts and blobs are valid until the next row.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string_view,
                              std::span<const std::byte>>;

/// Receives the result of a query.
struct SqlSink {
  std::function<void(const std::vector<std::string>&)> columns;  ///< names; called once, first
  std::function<bool(std::span<const SqlValue>)> row;            ///< returns false to end the query
};

/// Thrown by `run` if `stop` ended the query.
struct SqlStopped {};

/// A separate connection that can only read. Statements that would change anything, attach other
/// databases, load extensions or set pragmas are refused before they begin. It has the tables of
/// docs/internals/format.md and the views of docs/getting-at-the-data.md (`runs`, `arguments`,
/// `metrics`, `points`, `logged`). Not thread-safe.
class SqlSession {
 public:
  /// Throws like `Store::open` in mode `read_only`.
  explicit SqlSession(const Store& store);
  ~SqlSession();
  SqlSession(const SqlSession&) = delete;
  SqlSession& operator=(const SqlSession&) = delete;

  /// Executes one statement. Calls `stop` every few thousand of SQLite's instructions, thus more
  /// than once per millisecond, and ends if it returns true. Throws UsageError if the statement is
  /// wrong or not read-only, Busy or Damaged because of the catalog, and what the sink throws.
  void run(std::string_view statement, const SqlSink& sink, const std::function<bool()>& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A table or view, and the names of its columns separated by commas.
struct SqlTable {
  std::string name, columns;
};
/// Returns views first, then tables.
std::vector<SqlTable> sql_tables(SqlSession& session);

}  // namespace flor::store
