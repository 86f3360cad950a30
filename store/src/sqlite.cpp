#include "sqlite.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <sqlite3.h>

#include <cstring>

namespace flor::store {
namespace {

/// As long as another process may keep the write lock before we give up.
constexpr int kBusyTimeoutMs = 30'000;

[[noreturn]] void throw_sqlite(sqlite3* database, int code, const std::filesystem::path& path) {
  const std::string reason = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const std::string name = path.string();
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Busy(
          fmt::format("the catalog {} is locked by another process since more than {} s: wait for "
                      "it, or end it",
                      name, kBusyTimeoutMs / 1000));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw Damaged(
          fmt::format("the catalog {} is damaged ({}): run `flor fsck`, and restore it from a copy",
                      name, reason));
    case SQLITE_FULL:
      throw Error(
          fmt::format("no space left for the catalog {}: free some, or put the store on "
                      "another disk (--flor_home or FLOR_HOME)",
                      name));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw Error(
          fmt::format("cannot write the catalog {} ({}): choose a store you may write to "
                      "(--flor_home or FLOR_HOME)",
                      name, reason));
    case SQLITE_CANTOPEN:
      throw Error(
          fmt::format("cannot open the catalog {} ({}): check that the directory exists and "
                      "that you may write to it",
                      name, std::strerror(sqlite3_system_errno(database))));
    case SQLITE_IOERR:
      throw Error(fmt::format("cannot read or write the catalog {} ({}: {}): check the disk", name,
                              reason, std::strerror(sqlite3_system_errno(database))));
    default:
      throw Error(fmt::format("the catalog {} refused a statement: {}", name, reason));
  }
}

}  // namespace

Query::~Query() {
  if (!statement_) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_, index, value); }
void Query::bind(int index, double value) { sqlite3_bind_double(statement_, index, value); }
void Query::bind(int index, std::string_view text) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = text.data() ? text.data() : "";
  sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void Query::bind(int index, Bytes blob) {
  if (blob.empty()) {
    sqlite3_bind_zeroblob(statement_, index, 0);
  } else {
    sqlite3_bind_blob64(statement_, index, blob.data(), blob.size(), SQLITE_STATIC);
  }
}
void Query::bind(int index, std::nullptr_t) { sqlite3_bind_null(statement_, index); }

bool Query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw_sqlite(database_, sqlite3_extended_errcode(database_), path_);
}

void Query::run() {
  step();
  sqlite3_reset(statement_);
}

std::int64_t Query::changes() const { return sqlite3_changes64(database_); }
std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Query::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Query::text(int column) const { return std::string(text_view(column)); }

std::string_view Query::text_view(int column) const {
  const void* data = sqlite3_column_text(statement_, column);
  if (!data) return {};
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Bytes Query::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (!data) return {};
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Digest Query::digest(int column) const {
  const Bytes bytes = blob(column);
  Digest digest;
  if (bytes.size() != digest.bytes.size()) {
    throw Damaged(
        fmt::format("the catalog {} holds a digest of {} bytes instead of 16: run `flor fsck`",
                    path_.string(), bytes.size()));
  }
  std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  return digest;
}

int Query::type(int column) const { return sqlite3_column_type(statement_, column); }
bool Query::is_null(int column) const { return type(column) == SQLITE_NULL; }

Connection::Connection(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  // The mutex of Database serialises the calls, so SQLite need not do it a second time.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path_.string();
  switch (mode) {
    case Mode::create:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Mode::existing:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Mode::read_only:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Mode::immutable: {
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      std::string escaped;
      for (const char c : name) {
        if (c == '%' || c == '?' || c == '#') {
          escaped += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          escaped += c;
        }
      }
      name = "file:" + escaped + "?immutable=1";
      break;
    }
  }
  const int code = sqlite3_open_v2(name.c_str(), &database_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closer(database_, sqlite3_close);
    throw_sqlite(database_, code, path_);
  }
  sqlite3_busy_timeout(database_, kBusyTimeoutMs);
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

std::unique_ptr<Query> Connection::prepare(std::string_view sql) {
  auto found = statements_.find(std::string(sql));
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) throw_sqlite(database_, code, path_);
    found = statements_.emplace(std::string(sql), statement).first;
  }
  return std::make_unique<Query>(database_, found->second, path_);
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_sqlite(database_, code, path_);
}

bool Connection::try_execute(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if ((code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED) return false;
  if (code != SQLITE_OK) throw_sqlite(database_, code, path_);
  return true;
}

std::int64_t Connection::last_id() const { return sqlite3_last_insert_rowid(database_); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }

namespace {

/// There is one where an exception ends the process from inside it: see Database::mutex.
void give_up_unfinished(Connection& connection) {
  if (connection.in_transaction()) connection.execute("ROLLBACK");
}

}  // namespace

Transaction::Transaction(Connection& connection) : connection_(connection) {
  give_up_unfinished(connection_);
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // A failed statement may have rolled back by itself; after `commit` there is nothing to undo.
  if (!connection_.in_transaction()) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (const Error&) {
    // The connection is of no use any more, and says so at its next statement.
  }
}

void Transaction::commit() { connection_.execute("COMMIT"); }

ReadTransaction::ReadTransaction(Connection& connection) : connection_(connection) {
  give_up_unfinished(connection_);
  connection_.execute("BEGIN");
}

ReadTransaction::~ReadTransaction() {
  try {
    if (connection_.in_transaction()) connection_.execute("COMMIT");
  } catch (const Error&) {
    // Nothing was written.
  }
}

}  // namespace flor::store
