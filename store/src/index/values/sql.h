// Questions to the catalog in SQL, for which there is no command, without a way to change anything.
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

/// NULL, a number, a text, or a blob; the latter two until the next row.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string_view,
                              std::span<const std::byte>>;

/// Receives the rows.
struct SqlSink {
  std::function<void(const std::vector<std::string>&)> columns;  ///< their names; once, first
  std::function<bool(std::span<const SqlValue>)> row;            ///< false: wants no more
};

/// Thrown by `run` if `stop` ended it.
struct SqlStopped {};

/// A separate connection that can only read: statements that change anything, attach other
/// databases, load extensions or set pragmas are refused before they begin. It has the tables of
/// docs/internals/format.md and the views of docs/getting-at-the-data.md (`runs`, `arguments`,
/// `metrics`, `points`, `logged`). Not thread-safe.
class SqlSession {
 public:
  /// Throws as `Store::open` for reading does.
  explicit SqlSession(const Store& store);
  ~SqlSession();
  SqlSession(const SqlSession&) = delete;
  SqlSession& operator=(const SqlSession&) = delete;

  /// Executes one statement. Asks `stop` every few thousand of SQLite's instructions, which take
  /// far less than a millisecond. Throws UsageError if the statement is wrong or would do more
  /// than read, Busy or Damaged if the catalog is; exceptions of the sink pass through.
  void run(std::string_view statement, const SqlSink& sink, const std::function<bool()>& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A table or a view, and its columns with a comma between them.
struct SqlTable {
  std::string name, columns;
};
/// The views first.
std::vector<SqlTable> sql_tables(SqlSession& session);

}  // namespace flor::store
