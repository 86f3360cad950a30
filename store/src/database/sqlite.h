// SQLite in three small classes: a connection that caches prepared statements, a statement in use,
// and a write transaction. SQLite's errors become Error, Busy or Damaged, with the catalog's path.
#pragma once

#include "database/vfs/short_path.h"
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

/// The name of a database in messages, and the remedy that they suggest if it is damaged.
struct Naming {
  std::string name;                 ///< "the catalog /home/ann/.flor/catalog.db"
  std::string remedy;               ///< "run `flor fsck`"
  std::filesystem::path file = {};  ///< set when the database is opened
};

/// Returns the path of the file that exists if SQLite has found the database damaged:
/// "catalog.damaged" for "catalog.db".
std::filesystem::path damage_mark(std::filesystem::path file);
/// Creates that file, so that the next command rebuilds the database. Never fails.
void remember_damage(const std::filesystem::path& file) noexcept;

/// Returns the name of Flor's SQLite VFS, for sqlite3_open_v2. It is SQLite's default with three
/// changes: its sleep respects how long a statement may wait, it accepts the names of ShortPath,
/// and pages have checksums.
const char* own_vfs();

/// A time limit for each step of a statement; a step that exceeds it is ended.
struct StepBudget {
  std::chrono::milliseconds limit;
  std::optional<std::chrono::steady_clock::time_point>
      end;  ///< end of the current step; set once it has run for a moment
  int running = 0;

  /// Exists while a statement takes a step. A step within another one shares its time.
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

/// A prepared statement that a connection caches. Only one Query uses it at a time.
struct Statement {
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle;
  bool taken = false;
};

/// A statement that is being executed. The destructor resets it, which releases read locks, and
/// returns it to the connection, which must still exist. Bound texts and blobs are not copied and
/// must outlive the execution.
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

  bool step();  ///< true if a row was read
  void run();   ///< for statements without rows; can be called repeatedly
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

/// Thrown when a constraint of the database rejects a row.
class StatementRefused : public Error {
 public:
  using Error::Error;
};

/// Where the changes of a transaction are kept.
enum class Kept {
  here,      ///< only in the database: on disk when `commit` returns
  journals,  ///< also in journals on disk: a power loss may remove it from the database
};

class Connection {
 public:
  enum class Mode { create, existing, read_only, immutable };
  Connection(std::filesystem::path path, Mode mode);
  Connection(std::filesystem::path path, Mode mode, Naming naming);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// From this call on, treats the database as possibly made by an attacker: no view, trigger or
  /// function in its schema is executed, and a step of a statement that takes longer than `limit`
  /// throws Damaged.
  void distrust(std::chrono::milliseconds limit);

  /// While an object of this class lives, reading or writing a text or blob of more than `most`
  /// bytes throws Damaged.
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

  /// Prepares a statement and binds the values to ?1, ?2, ... Queries with the same text share a
  /// prepared statement unless they exist at the same time.
  template <typename... Values>
  std::unique_ptr<Query> operator()(std::string_view sql, const Values&... values) {
    auto query = prepare(sql);
    query->bind_all(values...);
    return query;
  }
  std::unique_ptr<Query> prepare(std::string_view sql);
  /// Runs statements that are used only once.
  void execute(const char* sql);
  /// Runs statements like `execute`, but returns false instead of throwing Busy.
  bool try_execute(const char* sql);
  /// From this call on, each transaction chooses whether it is on disk when its commit returns.
  /// `has_log`: the database has a write-ahead log. Without one every transaction is put on disk,
  /// because a power loss would damage the database.
  void let_transactions_choose(bool has_log) {
    choosing_ = true;
    has_log_ = has_log;
  }
  /// Sets a check that runs before each transaction with `Kept::here`; it may throw to prevent it.
  void before_lasting(std::function<void()> check) { before_lasting_ = std::move(check); }
  void choose(Kept kept);
  /// Sets how long a statement waits for locks of other processes before it throws Busy.
  void set_patience(std::chrono::milliseconds patience);
  std::chrono::milliseconds patience() const { return patience_; }
  /// Sets a function that is called after each rollback, to discard what was cached from the
  /// transaction.
  void on_roll_back(std::function<void()> forget) { rolled_back_ = std::move(forget); }
  void roll_back() noexcept;
  /// Copies the write-ahead log into the database and empties it, unless other processes prevent
  /// that at the moment. Never fails.
  void truncate_log() noexcept;
  /// Registers a module whose table statements can read; `context` is passed to the module.
  void add_module(const char* name, const sqlite3_module& module, void* context);
  std::int64_t last_id() const;
  /// Returns a database as the content of a file; `load` fills a database in memory from such
  /// content.
  std::vector<std::byte> serialize();
  void load(Bytes file);
  /// True if the pages of the file have checksums.
  bool has_checksums() const;
  const std::filesystem::path& path() const { return path_; }
  const Naming& naming() const { return naming_; }
  bool in_transaction() const;

 private:
  [[noreturn]] void fail(int code) const;
  /// Called when a statement begins: it may wait for locks until the patience has passed.
  void expect_locks() const;

  std::filesystem::path path_;
  Naming naming_;
  std::unique_ptr<StepBudget> budget_;
  ShortPath short_path_;
  const std::filesystem::path* home_;  ///< directory of the database
  sqlite3* database_ = nullptr;
  std::chrono::milliseconds patience_{};
  bool choosing_ = false, has_log_ = false;
  std::function<void()> before_lasting_;
  std::optional<bool> durable_;  ///< whether the current or last transaction must be on disk
  std::function<void()> rolled_back_;
  struct HashText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Cached statements by text. A text has as many entries as it had queries at the same time.
  std::unordered_multimap<std::string, Statement, HashText, std::equal_to<>> statements_;
};

/// A write transaction: BEGIN IMMEDIATE ... COMMIT. The destructor rolls back unless `commit` was
/// called.
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

/// A transaction for several reads of one state of the database: BEGIN ... COMMIT.
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
