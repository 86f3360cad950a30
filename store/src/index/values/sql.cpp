#include "index/values/sql.h"

#include "database/database.h"
#include "database/store_impl.h"
#include "database/values/every_value.h"
#include "index/catalog/labels.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>

namespace flor::store {
namespace {

/// The views that docs/getting-at-the-data.md promises. A NaN, which the tables keep as a blob, is
/// NULL here, so that SQL never counts it as a number.
constexpr const char* kViews = R"sql(
CREATE TEMP VIEW runs AS
  SELECT run.key AS run, experiment.name AS experiment,
         strftime('%Y-%m-%dT%H:%M:%SZ', run.started_us / 1000000, 'unixepoch') AS started,
         strftime('%Y-%m-%dT%H:%M:%SZ', run.finished_us / 1000000, 'unixepoch') AS finished,
         (run.finished_us - run.started_us) / 1e6 AS seconds,
         CASE WHEN run.finished_us IS NULL
              THEN CASE WHEN flor_is_running(run.key) THEN 'running'
                        WHEN EXISTS (SELECT 1 FROM origin WHERE origin.run = run.id AND kind = 2)
                        THEN 'imported' ELSE 'interrupted' END
              WHEN run.failed THEN 'failed' ELSE 'finished' END AS status,
         run.message, run.degraded, run.version, run.repository, run.directory, run.epochs,
         run.checkpoints, run.raw_bytes, run.stored_bytes,
         (SELECT group_concat(name, ' ') FROM label WHERE label.run = coalesce(leader.id, run.id)
          AND kind = 0 AND value <> '') AS tags,
         (SELECT value FROM label WHERE label.run = coalesce(leader.id, run.id) AND kind = 1
          AND value <> '') AS note
  FROM run JOIN experiment ON experiment.id = run.experiment
           LEFT JOIN rank_run ON rank_run.run = run.id
           LEFT JOIN run AS leader ON leader.id = rank_run.leader
  WHERE NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
CREATE TEMP VIEW arguments AS
  SELECT run.key AS run, experiment.name AS experiment, argument.name AS argument,
         CASE argument.type WHEN 'int' THEN CAST(value AS INTEGER)
                            WHEN 'real' THEN CAST(value AS REAL) ELSE value END AS value
  FROM argument JOIN run ON run.id = argument.run
                JOIN experiment ON experiment.id = run.experiment
  WHERE NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
CREATE TEMP VIEW metrics AS
  SELECT run.key AS run, experiment.name AS experiment, metric.name AS metric,
         CASE metric.type WHEN 0 THEN 'boolean' WHEN 1 THEN 'integer' WHEN 2 THEN 'real'
              WHEN 3 THEN 'text' WHEN 4 THEN 'json' WHEN 5 THEN 'tensor' WHEN 6 THEN 'histogram'
              WHEN 7 THEN 'image' ELSE 'table' END AS type,
         count, CASE WHEN typeof(last) = 'blob' THEN NULL ELSE last END AS last,
         minimum, maximum, recorded = 0 AS hindsight
  FROM metric JOIN run ON run.id = metric.run JOIN experiment ON experiment.id = run.experiment
  WHERE count > 0 AND NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
CREATE TEMP VIEW points AS
  SELECT run.key AS run, experiment.name AS experiment, series.name AS metric,
         series.path AS loop, logged.epoch, logged.step, logged.inner, logged.ordinal,
         CASE WHEN typeof(logged.value) = 'blob' THEN NULL ELSE logged.value END AS value,
         CASE WHEN logged.replay = 0 THEN 'recorded' ELSE 'hindsight' END AS origin,
         CASE WHEN logged.replay = 0 THEN 'recorded'
              ELSE CASE answer.verdict WHEN 1 THEN 'verified' WHEN 2 THEN 'proven'
                                       WHEN 4 THEN 'doubtful' ELSE 'unverified' END END AS verdict
  FROM run JOIN experiment ON experiment.id = run.experiment
           JOIN series ON series.run = run.id JOIN every_value AS logged ON logged.series = series.id
           LEFT JOIN answer ON answer.replay = logged.replay AND answer.epoch = logged.epoch
  WHERE logged.type <= 2 AND series.name NOT GLOB 'flor:*'
        AND NOT )sql" FLOR_IS_REMOVED("run.id") R"sql( AND NOT EXISTS
        (SELECT 1 FROM apart WHERE apart.series = series.id AND why = 2);
CREATE TEMP VIEW files AS
  SELECT run.key AS run, experiment.name AS experiment,
         CASE used_file.use WHEN 0 THEN 'input' ELSE 'output' END AS use,
         CASE used_file.kind WHEN 1 THEN 'directory' WHEN 2 THEN 'checkpoint'
              WHEN 3 THEN 'query' ELSE 'file' END AS kind,
         used_file.name, used_file.place, used_file.bytes, used_file.files,
         lower(hex(used_file.digest)) AS digest, used_file.epoch, used_file.source
  FROM used_file JOIN run ON run.id = used_file.run
                 JOIN experiment ON experiment.id = run.experiment
  WHERE NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
CREATE TEMP VIEW machine AS
  SELECT run.key AS run, experiment.name AS experiment, substr(series.name, 14) AS name,
         sample.epoch, sample.step AS seconds, sample.value
  FROM run JOIN experiment ON experiment.id = run.experiment
           JOIN series ON series.run = run.id JOIN every_value AS sample ON sample.series = series.id
  WHERE series.name GLOB 'flor:machine/*' AND NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
CREATE TEMP VIEW logged AS
  SELECT run.key AS run, series.name, series.path, value.epoch, value.step, value.inner,
         value.ordinal, value.replay, value.type, value.value
  FROM run JOIN series ON series.run = run.id JOIN every_value AS value ON value.series = series.id
  WHERE NOT )sql" FLOR_IS_REMOVED("run.id") R"sql(;
)sql";

constexpr int kInstructionsBetweenStops = 5000;

int authorize(void*, int action, const char* first, const char*, const char*, const char*) {
  const std::string_view name = first ? first : "";
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION:
      return SQLITE_OK;
    case SQLITE_PRAGMA: {
      constexpr std::array<std::string_view, 6> kReading = {"table_info", "table_xinfo",
                                                            "table_list", "index_list",
                                                            "index_info", "foreign_key_list"};
      return std::ranges::find(kReading, name) != kReading.end() ? SQLITE_OK : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

void is_running(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto* database = static_cast<const Database*>(sqlite3_user_data(context));
  const auto* key = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  sqlite3_result_int(context, key && is_locked(*database, key) ? 1 : 0);
}

SqlValue value_of(sqlite3_stmt* statement, int column) {
  const auto size = [&] {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string_view(text ? text : "", size());
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
      return std::span<const std::byte>(bytes, size());
    }
    default:
      return nullptr;
  }
}

}  // namespace

struct SqlSession::Impl {
  /// The reader reports anything that is wrong with the catalog.
  explicit Impl(const Database& store)
      : path(store.paths.catalog()), reader(open_for_reading(store.paths)) {
    open(path.text(), SQLITE_OPEN_READONLY);
    if (sqlite3_exec(database, "PRAGMA schema_version", nullptr, nullptr, nullptr) != SQLITE_OK) {
      // A directory that cannot be written, see `open_for_reading`.
      open(uri_of(path.text()), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    }
    sqlite3_busy_timeout(database, 30'000);
    sqlite3_create_function(database, "flor_is_running", 1, SQLITE_UTF8,
                            const_cast<Database*>(&store), is_running, nullptr, nullptr);
    sqlite3_create_module(database, "every_value", &every_value_module(), reader.get());
    if (!has_table(*reader, "label")) {  // an older catalog that cannot be written
      sqlite3_exec(database, "CREATE TEMP TABLE label (run, kind, name, value, said_us)", nullptr,
                   nullptr, nullptr);
    }
    if (sqlite3_exec(database, kViews, nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw Damaged(fmt::format("the catalog {} lacks tables ({}): run `flor fsck`",
                                store.paths.catalog().string(), sqlite3_errmsg(database)));
    }
    // Declares these tables now: the authorizer would take that for a change of the schema.
    sqlite3_exec(database,
                 "SELECT 1 FROM pragma_table_list, pragma_table_info('run') LIMIT 1; SELECT 1 FROM "
                 "every_value WHERE series = 0",
                 nullptr, nullptr, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 100'000'000);
    sqlite3_set_authorizer(database, authorize, nullptr);
  }
  ~Impl() { sqlite3_close(database); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static std::string uri_of(const std::string& name) {
    std::string uri = "file:";
    for (const char c : name) {
      uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", static_cast<unsigned>(c))
                                              : std::string(1, c);
    }
    return uri + "?immutable=1";
  }

  void open(const std::string& name, int flags) {
    sqlite3_close(database);
    database = nullptr;
    const int code =
        sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, own_vfs());
    if (code != SQLITE_OK) {
      throw Error(fmt::format("cannot open the catalog {}: {}", name, sqlite3_errstr(code)));
    }
  }

  [[noreturn]] void fail(int code) const {
    const std::string reason = sqlite3_errmsg(database);
    switch (code & 0xFF) {
      case SQLITE_INTERRUPT:
        throw SqlStopped{};
      case SQLITE_AUTH:
      case SQLITE_READONLY:
        throw UsageError(
            "the catalog can only be read: use SELECT, and for changes the commands of flor");
      case SQLITE_BUSY:
        throw Busy("the catalog is locked by another process: wait for it, or end it");
      case SQLITE_CORRUPT:
      case SQLITE_NOTADB:
        throw Damaged(fmt::format("the catalog is damaged ({}): run `flor fsck`", reason));
      default:
        break;
    }
    const int offset = sqlite3_error_offset(database);
    const std::string place = offset >= 0 ? fmt::format(", column {}", offset + 1) : "";
    throw UsageError(
        fmt::format("SQL{}: {}: `flor sql --tables` shows what there is", place, reason));
  }

  ShortPath path;
  std::unique_ptr<Connection> reader;  ///< reads the content of every_value
  sqlite3* database = nullptr;
};

SqlSession::SqlSession(const Store& store)
    : impl_(std::make_unique<Impl>(*store.impl().database)) {}
SqlSession::~SqlSession() = default;

void SqlSession::run(std::string_view text, const SqlSink& sink,
                     const std::function<bool()>& stop) {
  sqlite3* database = impl_->database;
  const ReadTransaction one_state(*impl_->reader);
  sqlite3_progress_handler(
      database, kInstructionsBetweenStops,
      [](void* asked) { return (*static_cast<const std::function<bool()>*>(asked))() ? 1 : 0; },
      const_cast<std::function<bool()>*>(&stop));
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &raw, &tail);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  if (code != SQLITE_OK) impl_->fail(code);
  if (!raw) throw UsageError("there is no statement: give one, as 'SELECT * FROM runs'");
  const std::string_view rest = text.substr(static_cast<std::size_t>(tail - text.data()));
  if (rest.find_first_not_of(" \t\r\n;") != rest.npos) {
    throw UsageError("there is more than one statement: give one at a time");
  }
  if (sqlite3_stmt_readonly(raw) == 0) impl_->fail(SQLITE_READONLY);
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(raw); ++i) {
    const char* name = sqlite3_column_name(raw, i);
    names.emplace_back(name ? name : "");
  }
  sink.columns(names);
  std::vector<SqlValue> row(names.size());
  while (true) {
    const int result = sqlite3_step(raw);
    if (result == SQLITE_DONE) return;
    if (result != SQLITE_ROW) impl_->fail(result);
    for (int i = 0; i < static_cast<int>(row.size()); ++i) {
      row[static_cast<std::size_t>(i)] = value_of(raw, i);
    }
    if (!sink.row(row)) return;
    if (stop()) throw SqlStopped{};
  }
}

std::vector<SqlTable> sql_tables(SqlSession& session) {
  std::vector<SqlTable> tables;
  const SqlSink sink{[](const auto&) {},
                     [&](std::span<const SqlValue> row) {
                       tables.push_back({std::string(std::get<std::string_view>(row[0])),
                                         std::string(std::get<std::string_view>(row[1]))});
                       return true;
                     }};
  session.run(
      "SELECT list.name, (SELECT group_concat(name, ', ') FROM pragma_table_info(list.name)) "
      "FROM pragma_table_list AS list WHERE list.name NOT LIKE 'sqlite_%' "
      "ORDER BY list.schema = 'main', list.type <> 'view', list.name",
      sink, [] { return false; });
  return tables;
}

}  // namespace flor::store
