#include "database/sqlite.h"

#include "base/system_error.h"
#include "database/values/every_value.h"
#include "database/vfs/page_checksums.h"
#include "database/vfs/unlock_again.h"
#include "file/filesystem.h"
#include "file/home_files.h"
#include "file/mount_locks.h"
#include "file/paths.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

using std::chrono::milliseconds;

/// How long a statement waits for locks of other processes, unless a caller sets another time.
constexpr milliseconds kPatience{30'000};

/// How long the current statement of this thread may still sleep while it waits for a lock. SQLite
/// calls a busy handler for some locks and retries others itself for up to 10 s; both sleep through
/// `sleep_with_patience`, which reduces this time.
struct LockWait {
  milliseconds patience = kPatience;
  std::chrono::microseconds left = kPatience;
  const std::filesystem::path* home = nullptr;  ///< its locks are still to be tested; null: done
};
thread_local LockWait lock_wait;

/// Returns a copy of the path that is never freed, because a thread may still wait with the path of
/// a connection that was closed.
const std::filesystem::path* lasting(const std::filesystem::path& path) {
  static std::mutex mutex;
  static auto& paths = *new std::set<std::filesystem::path>;
  const std::lock_guard lock(mutex);
  return &*paths.insert(path).first;
}

/// Sleeps at most as long as the patience allows, and at most `lock_outage` if the file system
/// refuses locks: SQLite takes such a refusal for a lock held by another process.
int sleep_with_patience(sqlite3_vfs*, int microseconds) {
  if (lock_wait.home && lock_wait.patience - lock_wait.left >= lock_outage) {
    if (!why_locks_fail(*lock_wait.home).empty()) lock_wait.left = {};
    lock_wait.home = nullptr;
  }
  const std::chrono::microseconds asked(microseconds);
  const auto slept = std::clamp(lock_wait.left, std::chrono::microseconds(0), asked);
  lock_wait.left -= slept;
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (slept.count() > 0) system->xSleep(system, static_cast<int>(slept.count()));
  return microseconds;
}

[[noreturn]] void throw_locked(const Naming& naming, const std::string& reason) {
  const std::string& name = naming.name;
  if (const std::string why = why_locks_fail(naming.file.parent_path()); !why.empty()) {
    throw Error(
        fmt::format("{} cannot be locked ({}): its file system refuses locks; see to "
                    "its lock service, or put the store on a local disk (--flor_home or FLOR_HOME)",
                    name, why));
  }
  if (!reason.empty()) {
    throw Busy(fmt::format("{} could not be locked ({}): try again", name, reason));
  }
  throw Busy(
      fmt::format("{} is locked by another process since more than {:g} s: wait for "
                  "it, or end it",
                  name, std::chrono::duration<double>(lock_wait.patience).count()));
}

/// Returns the errno behind a writing error of SQLite; 0 if unknown. SQLite's own record is not
/// used, because it often holds the error of a later call.
int system_code(int code, const std::filesystem::path& path) {
  const int kind = code & 0xFF;
  if (code == SQLITE_IOERR_SHMSIZE || kind == SQLITE_FULL) return ENOSPC;
  return kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN ? error_of_writing(path.parent_path()) : 0;
}

std::string with_system_error(const std::string& reason, int error) {
  return error == 0 ? reason
                    : fmt::format("{}: {}", reason, std::generic_category().message(error));
}

bool is_error_of_locks(int code) {
  switch (code) {
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_UNLOCK:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
      return true;
    default:
      return (code & 0xFF) == SQLITE_PROTOCOL;
  }
}

[[noreturn]] void throw_no_space(const std::string& name, int error) {
  throw SystemError(fmt::format("no space left for {}: free some (flor gc), or put the store on "
                                "another disk (--flor_home or FLOR_HOME)",
                                name),
                    error);
}

/// The longest text or blob, in bytes, of a database that is not trusted: more than any layout has.
constexpr int kLongestDistrusted = 256 << 20;

/// SQLite executes this number of instructions, in less than a millisecond, between two checks of
/// the clock.
constexpr int kOperationsBetweenLooks = 10'000;

[[noreturn]] void throw_sqlite(sqlite3* database, int code, const Naming& naming) {
  const std::string reason = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const std::string& name = naming.name;
  const int error = system_code(code, naming.file);
  if (is_error_of_locks(code)) throw_locked(naming, reason);
  if (error == ENOSPC || error == EDQUOT) throw_no_space(name, error);
  if (error == EROFS) throw_system_error("write", naming.file, error);
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw_locked(naming, {});
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      if (const Paths paths{naming.file.parent_path()};
          naming.file == paths.catalog() || naming.file == paths.queue()) {
        remember_damage(naming.file);
      }
      throw Damaged(fmt::format("{} is damaged ({}): {}", name, reason, naming.remedy));
    case SQLITE_INTERRUPT:
      throw Damaged(fmt::format("{} is damaged (reading it has no end): {}", name, naming.remedy));
    case SQLITE_TOOBIG:
      throw Damaged(
          fmt::format("{} is damaged (a text or a blob in it is longer than it can be): {}", name,
                      naming.remedy));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw Error(
          fmt::format("cannot write {} ({}): choose a store you may write to "
                      "(--flor_home or FLOR_HOME)",
                      name, reason));
    case SQLITE_CANTOPEN:
      throw Error(
          fmt::format("cannot open {} ({}): check that the directory exists and "
                      "that you may write to it",
                      name, with_system_error(reason, error)));
    case SQLITE_IOERR:
      throw Error(
          fmt::format("cannot read or write {} ({}): the disk fails; see the kernel's "
                      "log",
                      name, with_system_error(reason, error)));
    case SQLITE_CONSTRAINT:
      throw StatementRefused(fmt::format("{} refused a statement: {}", name, reason));
    default:
      throw Error(fmt::format("{} refused a statement: {}", name, reason));
  }
}

Naming own_naming(const std::filesystem::path& path) {
  return {"the catalog " + path.string(), "run the command again, which makes it anew", path};
}

int look_at_clock(void* data) {
  StepBudget& budget = *static_cast<StepBudget*>(data);
  const auto now = std::chrono::steady_clock::now();
  if (!budget.end) budget.end = now + budget.limit;
  return now > *budget.end ? 1 : 0;
}

}  // namespace

std::filesystem::path damage_mark(std::filesystem::path file) {
  return std::move(file.replace_extension(".damaged"));
}

void remember_damage(const std::filesystem::path& file) noexcept {
  const int mark = open_in_home(damage_mark(file), O_WRONLY | O_CREAT);
  if (mark >= 0) ::close(mark);
}

const char* own_vfs() {
  static const char* const name = [] {
    unlock_again(*sqlite3_vfs_find(nullptr));
    static sqlite3_vfs vfs = *sqlite3_vfs_find(nullptr);
    vfs.pNext = nullptr;
    vfs.zName = "flor";
    vfs.xSleep = sleep_with_patience;
    vfs.xFullPathname = full_name_of_short_path;
    check_pages(vfs, *sqlite3_vfs_find(nullptr));
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : nullptr;
  }();
  return name;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Query::Query(sqlite3* database, Statement& statement, const Naming& naming, StepBudget* budget)
    : database_(database),
      taken_(statement),
      statement_(statement.handle.get()),
      naming_(naming),
      budget_(budget) {
  taken_.taken = true;
}

Query::~Query() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  taken_.taken = false;
}

void Query::bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_, index, value); }
void Query::bind(int index, double value) { sqlite3_bind_double(statement_, index, value); }
void Query::bind(int index, std::string_view text) {
  // A null pointer would be bound as NULL instead of an empty text.
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
  const StepBudget::Step running(budget_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw_sqlite(database_, sqlite3_extended_errcode(database_), naming_);
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
    throw Damaged(fmt::format("{} holds a digest of {} bytes instead of 16: {}", naming_.name,
                              bytes.size(), naming_.remedy));
  }
  std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  return digest;
}

int Query::type(int column) const { return sqlite3_column_type(statement_, column); }
bool Query::is_null(int column) const { return type(column) == SQLITE_NULL; }

Connection::Connection(std::filesystem::path path, Mode mode)
    : Connection(path, mode, own_naming(path)) {}

Connection::Connection(std::filesystem::path path, Mode mode, Naming naming)
    : path_(std::move(path)),
      naming_(std::move(naming)),
      short_path_(path_),
      home_(lasting(path_.parent_path())) {
  naming_.file = path_;
  if (std::error_code error;
      std::filesystem::exists(path_, error) && !std::filesystem::is_regular_file(path_, error)) {
    throw Error(fmt::format("{} is no regular file: move it away", naming_.name));
  }
  // The mutex of Database already serializes calls, so SQLite need not.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = short_path_.text();
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
  const int code = sqlite3_open_v2(name.c_str(), &database_, flags, own_vfs());
  if (code != SQLITE_OK) {
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closer(database_, sqlite3_close);
    throw_sqlite(database_, code, naming_);
  }
  set_patience(kPatience);
  if ((flags & SQLITE_OPEN_READWRITE) != 0 && name != ":memory:") {
    make_room_for_checksums(database_);
  }
  add_every_value(*this);
}

void Connection::set_patience(milliseconds longest) {
  patience_ = longest;
  sqlite3_busy_timeout(database_, static_cast<int>(longest.count()));
}

void Connection::expect_locks() const { lock_wait = {patience_, patience_, home_}; }

void Connection::truncate_log() noexcept {
  const milliseconds before = patience_;
  set_patience(milliseconds(0));
  expect_locks();
  sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  set_patience(before);
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(database_);
}

void Connection::distrust(std::chrono::milliseconds limit) {
  for (const int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                        SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
                        SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_WRITABLE_SCHEMA}) {
    sqlite3_db_config(database_, off, 0, nullptr);
  }
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr std::pair<int, int> kLimits[] = {
      {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_LENGTH, kLongestDistrusted},
      {SQLITE_LIMIT_SQL_LENGTH, 1 << 20}, {SQLITE_LIMIT_EXPR_DEPTH, 100},
      {SQLITE_LIMIT_COLUMN, 100},         {SQLITE_LIMIT_COMPOUND_SELECT, 10},
      {SQLITE_LIMIT_WORKER_THREADS, 0},   {SQLITE_LIMIT_TRIGGER_DEPTH, 1}};
  for (const auto& [what, most] : kLimits) sqlite3_limit(database_, what, most);
  budget_ = std::make_unique<StepBudget>(StepBudget{limit, {}, 0});
  sqlite3_progress_handler(database_, kOperationsBetweenLooks, look_at_clock, budget_.get());
  execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
}

Connection::ShortTexts::ShortTexts(Connection& connection, std::int64_t most)
    : connection_(connection) {
  const auto bytes = static_cast<int>(std::min<std::int64_t>(most, kLongestDistrusted));
  before_ = sqlite3_limit(connection.database_, SQLITE_LIMIT_LENGTH, bytes);
}
Connection::ShortTexts::~ShortTexts() {
  sqlite3_limit(connection_.database_, SQLITE_LIMIT_LENGTH, before_);
}

void Connection::fail(int code) const { throw_sqlite(database_, code, naming_); }

std::unique_ptr<Query> Connection::prepare(std::string_view sql) {
  expect_locks();
  auto [at, end] = statements_.equal_range(sql);
  while (at != end && at->second.taken) ++at;
  if (at == end) {
    const StepBudget::Step running(budget_.get());
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    Statement made;
    made.handle.reset(statement);
    if (code != SQLITE_OK) fail(code);
    at = statements_.emplace(std::string(sql), std::move(made));
  }
  return std::make_unique<Query>(database_, at->second, naming_, budget_.get());
}

void Connection::choose(Kept kept) {
  if (kept == Kept::here && before_lasting_) before_lasting_();
  const bool durable = kept == Kept::here || !has_log_;
  if (!choosing_ || durable == durable_) return;
  execute(durable ? "PRAGMA synchronous=EXTRA" : "PRAGMA synchronous=NORMAL");
  durable_ = durable;
}

void Connection::execute(const char* sql) {
  expect_locks();
  const StepBudget::Step running(budget_.get());
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

bool Connection::try_execute(const char* sql) {
  expect_locks();
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if ((code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED) return false;
  if (code != SQLITE_OK) fail(code);
  return true;
}

std::vector<std::byte> Connection::serialize() {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(database_, "main", &size, 0), sqlite3_free);
  if (!bytes) fail(SQLITE_NOMEM);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.get());
  return {begin, begin + size};
}

void Connection::load(Bytes file) {
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(file.size()));
  if (!bytes) fail(SQLITE_NOMEM);
  std::memcpy(bytes, file.data(), file.size());
  const auto size = static_cast<sqlite3_int64>(file.size());
  const int code =
      sqlite3_deserialize(database_, "main", bytes, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) fail(code);
}

bool Connection::has_checksums() const { return store::has_checksums(database_); }

void Connection::add_module(const char* name, const sqlite3_module& module, void* context) {
  const int code = sqlite3_create_module(database_, name, &module, context);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::last_id() const { return sqlite3_last_insert_rowid(database_); }
void Connection::roll_back() noexcept {
  // A failed statement may have rolled back already. If the rollback fails, the connection is
  // unusable, and its next statement fails as well.
  if (in_transaction()) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  if (rolled_back_) rolled_back_();
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }

namespace {

/// Rolls back a transaction that an uncaught exception has left open while it ends the process: see
/// OpenFile::mutex.
void give_up_unfinished(Connection& connection) {
  if (connection.in_transaction()) connection.roll_back();
}

}  // namespace

Transaction::Transaction(Connection& connection, Kept kept) : connection_(connection) {
  give_up_unfinished(connection_);
  connection_.choose(kept);
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!committed_) connection_.roll_back();
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  committed_ = true;
}

ReadTransaction::ReadTransaction(Connection& connection) : connection_(connection) {
  give_up_unfinished(connection_);
  connection_.execute("BEGIN");
}

ReadTransaction::~ReadTransaction() {
  try {
    if (connection_.in_transaction()) connection_.execute("COMMIT");
  } catch (const Error&) {
    // Nothing was written, so nothing needs to be undone.
  }
}

}  // namespace flor::store
