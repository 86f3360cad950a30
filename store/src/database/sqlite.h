// SQLite in three small classes: a connection that caches its statements, a statement in use, and a
// write transaction. Errors become flor::Error, Busy or Damaged with the catalog's path in them.
#pragma once

#include "database/short_path.h"
#include "file/paths.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_module;
struct sqlite3_stmt;

namespace flor::store {

using Bytes = std::span<const std::byte>;

/// The name of a database in messages, and the remedy for the user if it is damaged.
struct Naming {
  std::string name;                 ///< "the catalog /home/ann/.flor/catalog.db"
  std::string remedy;               ///< "run `flor fsck`"
  std::filesystem::path file = {};  ///< set when the database is opened
};

/// "catalog.damaged" for "catalog.db": exists if SQLite has found the database damaged.
std::filesystem::path damage_mark(std::filesystem::path file);
/// Makes the next command rebuild the database. Never fails.
void remember_damage(const std::filesystem::path& file) noexcept;

/// The name, for sqlite3_open_v2, of SQLite's own access to files with two changes: its sleep knows
/// how long a statement may wait, and it accepts the names of ShortPath.
const char* own_vfs();

/// Ends a step of a statement that exceeds the limit.
struct StepBudget {
  std::chrono::milliseconds limit;
  std::optional<std::chrono::steady_clock::time_point>
      end;  ///< of the present step, once that has run for a moment
  int running = 0;

  /// Lives while a statement takes a step. Steps within a step share its time.
  class Step {
   public:
    explicit Step(StepBudget* budget) : budget_(budget) {
      if (budget_ && budget_->running++ == 0) budget_->end.reset();
    }
    ~Step() {
      if (budget_) --budget_->running;
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    StepBudget* budget_;
  };
};

/// A statement that a connection keeps prepared. Only one Query has it at a time.
struct Statement {
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle;
  bool taken = false;
};

/// A statement that is being executed. The destructor resets and returns it, so that no read lock
/// stays; the connection must still exist.
/// Text and blobs are bound without a copy: they must outlive the execution.
class Query {
 public:
  Query(sqlite3* database, Statement& statement, const Naming& naming, StepBudget* budget);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  void bind(int index, std::int64_t value);
  void bind(int index, int value) { bind(index, std::int64_t{value}); }
  void bind(int index, bool value) { bind(index, std::int64_t{value}); }
  void bind(int index, double value);  ///< not NaN, which SQLite would turn into NULL
  void bind(int index, std::string_view text);
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, Bytes blob);
  void bind(int index, std::nullptr_t);
  void bind(int index, const Digest& digest) {
    bind(index, std::as_bytes(std::span(digest.bytes)));
  }
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind(index, nullptr);
  }
  template <typename... Values>
  void bind_all([[maybe_unused]] const Values&... values) {
    [[maybe_unused]] int index = 0;
    (bind(++index, values), ...);
  }

  bool step();  ///< true if there is a row
  void run();   ///< for statements without rows; makes it ready to be run again
  /// Number of rows that the last `run` inserted, changed or deleted.
  std::int64_t changes() const;

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view text_view(int column) const;  ///< valid until the next step
  Bytes blob(int column) const;                  ///< valid until the next step
  Digest digest(int column) const;               ///< throws Damaged if it is not 16 bytes
  int type(int column) const;                    ///< SQLITE_INTEGER and so on
  bool is_null(int column) const;

 private:
  sqlite3* database_;
  Statement& taken_;
  sqlite3_stmt* statement_;
  const Naming& naming_;
  StepBudget* budget_;  ///< null: no limit
};

/// Thrown when a row contradicts existing ones.
class StatementRefused : public Error {
 public:
  using Error::Error;
};

/// The places that keep what a transaction writes.
enum class Kept {
  here,      ///< only in the database: it is on disk when `commit` returns
  journals,  ///< in journals on disk, too: a power loss may remove it from the database
};

class Connection {
 public:
  enum class Mode { create, existing, read_only, immutable };
  Connection(std::filesystem::path path, Mode mode);
  Connection(std::filesystem::path path, Mode mode, Naming naming);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Treats the database as made by an attacker from now on: no view, trigger or function in its
  /// schema is executed, and a step of a statement that takes longer than `limit` throws Damaged.
  void distrust(std::chrono::milliseconds limit);

  /// While it lives, reading or writing a text or blob of more than `most` bytes throws Damaged.
  class ShortTexts {
   public:
    ShortTexts(Connection& connection, std::int64_t most);
    ~ShortTexts();
    ShortTexts(const ShortTexts&) = delete;
    ShortTexts& operator=(const ShortTexts&) = delete;

   private:
    Connection& connection_;
    int before_;
  };

  /// Binds the values to ?1, ?2, ... of a statement. Queries of the same text that do not live at
  /// the same time share one prepared statement.
  template <typename... Values>
  std::unique_ptr<Query> operator()(std::string_view sql, const Values&... values) {
    auto query = prepare(sql);
    query->bind_all(values...);
    return query;
  }
  std::unique_ptr<Query> prepare(std::string_view sql);
  /// Runs statements that are used once.
  void execute(const char* sql);
  /// The same, but returns false where `execute` throws Busy: another process is in the way.
  bool try_execute(const char* sql);
  /// Lets each transaction choose from now on whether it is on disk when its commit returns.
  /// `has_log`: the database has a write-ahead log; without one, all must be on disk, because a
  /// power loss would damage the database.
  void let_transactions_choose(bool has_log) {
    choosing_ = true;
    has_log_ = has_log;
  }
  /// Sets a check that runs before each transaction with `Kept::here`; it may throw.
  void before_lasting(std::function<void()> check) { before_lasting_ = std::move(check); }
  void choose(Kept kept);
  /// Sets how long a statement waits for the locks of other processes before it throws Busy.
  void set_patience(std::chrono::milliseconds patience);
  std::chrono::milliseconds patience() const { return patience_; }
  /// Sets a function that is called after each rollback, to forget what was remembered from it.
  void on_roll_back(std::function<void()> forget) { rolled_back_ = std::move(forget); }
  void roll_back() noexcept;
  /// Copies the write-ahead log into the database and empties it, as far as other processes allow
  /// that without waiting. Never fails.
  void truncate_log() noexcept;
  /// Lets statements read a table that the module provides; `context` is its first argument.
  void add_module(const char* name, const sqlite3_module& module, void* context);
  std::int64_t last_id() const;
  /// The database in the form of a file, and the reverse, for a database in memory.
  std::vector<std::byte> serialize();
  void load(Bytes file);
  const std::filesystem::path& path() const { return path_; }
  const Naming& naming() const { return naming_; }
  bool in_transaction() const;

 private:
  [[noreturn]] void fail(int code) const;
  /// Begins a statement, which may wait for locks as long as the patience allows.
  void expect_locks() const;

  std::filesystem::path path_;
  Naming naming_;
  std::unique_ptr<StepBudget> budget_;
  ShortPath short_path_;
  const std::filesystem::path* home_;  ///< its directory
  sqlite3* database_ = nullptr;
  std::chrono::milliseconds patience_{};
  bool choosing_ = false, has_log_ = false;
  std::function<void()> before_lasting_;
  std::optional<bool> durable_;  ///< choice of the present or last transaction
  std::function<void()> rolled_back_;
  struct HashText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Statements by text: as many of one text as there were queries of it at the same time.
  std::unordered_multimap<std::string, Statement, HashText, std::equal_to<>> statements_;
};

/// BEGIN IMMEDIATE ... COMMIT. Rolls back without `commit`.
class Transaction {
 public:
  explicit Transaction(Connection& connection, Kept kept = Kept::here);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool committed_ = false;
};

/// BEGIN ... COMMIT for several reads of one state.
class ReadTransaction {
 public:
  explicit ReadTransaction(Connection& connection);
  ~ReadTransaction();
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Connection& connection_;
};

}  // namespace flor::store
