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

/// How messages call a database, and what the user can do where it is damaged.
struct Naming {
  std::string name;                 ///< "the catalog /home/ann/.flor/catalog.db"
  std::string remedy;               ///< "run `flor fsck`"
  std::filesystem::path file = {};  ///< set when it is opened
};

/// "catalog.damaged" for "catalog.db": exists where SQLite has found the database damaged.
std::filesystem::path damage_mark(std::filesystem::path file);
/// The next command makes the database again. Never fails.
void remember_damage(const std::filesystem::path& file) noexcept;

/// SQLite's own access to files, with a sleep that knows how long a statement may wait, and with
/// the names of ShortPath. The name of it, for sqlite3_open_v2.
const char* own_vfs();

/// Ends a step of a statement that takes longer than it may.
struct StepBudget {
  std::chrono::milliseconds limit;
  std::optional<std::chrono::steady_clock::time_point>
      end;  ///< of the present step, once it is long
  int running = 0;

  /// While it lives, a statement takes a step. Steps within a step share its time.
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

/// A statement that a connection keeps prepared. While a Query has it, no other one gets it.
struct Statement {
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle;
  bool taken = false;
};

/// A statement that is being executed. Reset and given back when it goes out of scope, so that no
/// read lock stays; the connection must still be there.
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
  /// Rows that the last `run` inserted, changed or deleted.
  std::int64_t changes() const;

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view text_view(int column) const;  ///< until the next step
  Bytes blob(int column) const;                  ///< until the next step
  Digest digest(int column) const;               ///< Damaged if it is not 16 bytes
  int type(int column) const;                    ///< SQLITE_INTEGER and so on
  bool is_null(int column) const;

 private:
  sqlite3* database_;
  Statement& taken_;
  sqlite3_stmt* statement_;
  const Naming& naming_;
  StepBudget* budget_;  ///< null: it may take as long as it likes
};

/// A row contradicts those that there are.
class StatementRefused : public Error {
 public:
  using Error::Error;
};

/// Where what a transaction writes is kept.
enum class Kept {
  here,      ///< nowhere else: it is on disk when `commit` returns
  journals,  ///< in journals, which are on disk: a power loss may take it from the database
};

class Connection {
 public:
  enum class Mode { create, existing, read_only, immutable };
  Connection(std::filesystem::path path, Mode mode);
  Connection(std::filesystem::path path, Mode mode, Naming naming);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// From now on the database counts as made by an attacker: no view, trigger or function in its
  /// schema is executed, and each step of a statement ends with Damaged
  /// when it takes longer than `limit`.
  void distrust(std::chrono::milliseconds limit);

  /// Prepares once for all queries of this text that are not alive at the same time, and binds the
  /// values to ?1, ?2, ...
  template <typename... Values>
  std::unique_ptr<Query> operator()(std::string_view sql, const Values&... values) {
    auto query = prepare(sql);
    query->bind_all(values...);
    return query;
  }
  std::unique_ptr<Query> prepare(std::string_view sql);
  /// Runs statements that are used once.
  void execute(const char* sql);
  /// The same, but says with false that another process is in the way instead of throwing Busy.
  bool try_execute(const char* sql);
  /// From now on each transaction says whether it is on disk when its commit returns. `has_log`:
  /// the database has a write-ahead log, without which a power loss would damage what is not.
  void let_transactions_choose(bool has_log) {
    choosing_ = true;
    has_log_ = has_log;
  }
  /// Called before each transaction that alone keeps what it writes; may throw.
  void before_lasting(std::function<void()> check) { before_lasting_ = std::move(check); }
  void choose(Kept kept);
  /// How long a statement waits for the locks of other processes before it throws Busy.
  void set_patience(std::chrono::milliseconds patience);
  /// Called after each transaction that came to nothing: what was remembered of it is wrong.
  void on_roll_back(std::function<void()> forget) { rolled_back_ = std::move(forget); }
  void roll_back() noexcept;
  /// Copies the write-ahead log into the database and empties it, as far as other processes allow
  /// it at once. Never fails.
  void truncate_log() noexcept;
  /// Statements may read a table that the module makes; `context` is its first argument.
  void add_module(const char* name, const sqlite3_module& module, void* context);
  std::int64_t last_id() const;
  /// The database as a file has it, and the reverse: for one in memory.
  std::vector<std::byte> serialize();
  void load(Bytes file);
  const std::filesystem::path& path() const { return path_; }
  const Naming& naming() const { return naming_; }
  bool in_transaction() const;

 private:
  [[noreturn]] void fail(int code) const;
  /// A statement begins: it may wait as long as the patience says.
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
  std::optional<bool> durable_;  ///< as the present transaction, or the last one, has chosen
  std::function<void()> rolled_back_;
  struct HashText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// By text: as many of one as there were queries of it at the same time.
  std::unordered_multimap<std::string, Statement, HashText, std::equal_to<>> statements_;
};

/// BEGIN IMMEDIATE ... COMMIT. Without `commit` it is rolled back.
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
