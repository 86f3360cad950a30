#include "database/values/every_value.h"

#include "database/values/scalar.h"
#include "database/values/series_blocks.h"

#include <flor/store/error.h>

#include <sqlite3.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::store {
namespace {

enum Column { series, epoch, step, inner, ordinal, replay, type, value };

constexpr const char* kColumns =
    "CREATE TABLE every_value (series INTEGER, epoch INTEGER, step INTEGER, inner TEXT, ordinal "
    "INTEGER, replay INTEGER, type INTEGER, value)";

/// Columns that a query constrains to one value (bit mask).
enum Given : int { of_series = 1, of_epoch = 2 };

struct Table : sqlite3_vtab {
  Connection* connection = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  Connection* connection = nullptr;
  std::vector<std::int64_t> waiting;  ///< ids of series still to be read, the next one last
  std::int64_t series = 0;
  std::int64_t first_epoch = INT64_MIN, last_epoch = INT64_MAX;
  std::optional<SeriesReader> reader;
  SeriesValue at;
  bool is_done = true;
  std::int64_t row = 0;

  void advance() {
    ++row;
    while (true) {
      if (reader && reader->next(at)) return;
      reader.reset();
      if (waiting.empty()) break;
      series = waiting.back();
      waiting.pop_back();
      reader.emplace(*connection, series, first_epoch, last_epoch);
    }
    is_done = true;
  }
};

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor); }

/// Calls `work` and turns exceptions into error codes, because none may pass through SQLite's C
/// code.
template <typename Work>
int guarded(sqlite3_vtab* table, const Work& work) {
  try {
    work();
    return SQLITE_OK;
  } catch (const Damaged& error) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", error.what());
    return SQLITE_CORRUPT;
  } catch (const Busy&) {
    return SQLITE_BUSY;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", error.what());
    return SQLITE_ERROR;
  }
}

int connect(sqlite3* database, void* connection, int, const char* const*, sqlite3_vtab** made,
            char**) {
  if (const int code = sqlite3_declare_vtab(database, kColumns); code != SQLITE_OK) return code;
  // The module is harmless: it reads only tables that the statement could read itself.
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  auto table = std::make_unique<Table>();
  table->connection = static_cast<Connection*>(connection);
  *made = table.release();
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

/// True if the requested order is the one in which the rows of a series are returned anyway.
bool is_ordered(const sqlite3_index_info& info) {
  static constexpr Column kOrder[] = {epoch, step, inner, ordinal};
  int expected = 0;
  for (int i = 0; i < info.nOrderBy; ++i) {
    const auto& term = info.aOrderBy[i];
    if (term.desc || (term.iColumn != series && expected == 4)) return false;
    if (term.iColumn == series) continue;
    if (term.iColumn != kOrder[expected++]) return false;
  }
  return true;
}

int choose(sqlite3_vtab*, sqlite3_index_info* info) {
  constexpr double kOfEpoch = 100, kOfSeries = 10'000, kOfAll = 1e10;
  int given = 0, next = 0;
  const auto take = [&](Column column, Given what) {
    for (int i = 0; i < info->nConstraint; ++i) {
      const auto& one = info->aConstraint[i];
      if (!one.usable || one.iColumn != column || one.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
      info->aConstraintUsage[i].argvIndex = ++next;
      given |= what;
      return;
    }
  };
  take(series, of_series);
  take(epoch, of_epoch);
  info->idxNum = given;
  info->estimatedCost = !(given & of_series) ? kOfAll : given & of_epoch ? kOfEpoch : kOfSeries;
  info->estimatedRows = static_cast<sqlite3_int64>(info->estimatedCost);
  info->orderByConsumed = (given & of_series) && is_ordered(*info);
  return SQLITE_OK;
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
  auto cursor = std::make_unique<Cursor>();
  cursor->connection = static_cast<Table*>(table)->connection;
  *made = cursor.release();
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

/// Returns the integer that equals the argument; nullopt if there is none.
std::optional<std::int64_t> integer_of(sqlite3_value* argument) {
  switch (sqlite3_value_numeric_type(argument)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(argument);
    case SQLITE_FLOAT: {
      constexpr double kEnd = 9223372036854775808.0;  // 2^63
      const double real = sqlite3_value_double(argument);
      if (!(real >= -kEnd && real < kEnd) || real != std::floor(real)) return std::nullopt;
      return static_cast<std::int64_t>(real);
    }
    default:
      return std::nullopt;
  }
}

int filter(sqlite3_vtab_cursor* of, int given, const char*, int, sqlite3_value** arguments) {
  return guarded(of->pVtab, [&] {
    Cursor& cursor = cursor_of(of);
    cursor.reader.reset();
    cursor.waiting.clear();
    cursor.row = 0;
    cursor.is_done = false;
    cursor.first_epoch = INT64_MIN;
    cursor.last_epoch = INT64_MAX;
    if (given & of_series) {
      const auto asked = integer_of(*arguments++);
      if (asked) cursor.waiting.push_back(*asked);
    } else {
      const auto rows = (*cursor.connection)("SELECT id FROM series ORDER BY id DESC");
      while (rows->step()) cursor.waiting.push_back(rows->integer(0));
    }
    if (given & of_epoch) {
      const auto asked = integer_of(*arguments);
      if (!asked) cursor.waiting.clear();
      cursor.first_epoch = cursor.last_epoch = asked.value_or(0);
    }
    cursor.advance();
  });
}

int advance(sqlite3_vtab_cursor* cursor) {
  return guarded(cursor->pVtab, [&] { cursor_of(cursor).advance(); });
}

int is_at_end(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).is_done; }

void put_scalar(sqlite3_context* to, const Scalar& scalar) {
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    return sqlite3_result_int64(to, *integer);
  }
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    return sqlite3_result_text64(to, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  const double real = std::get<double>(scalar);
  if (!std::isnan(real)) return sqlite3_result_double(to, real);
  const auto bytes = bytes_of_nan(real);
  sqlite3_result_blob(to, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

int column(sqlite3_vtab_cursor* of, sqlite3_context* to, int which) {
  const Cursor& cursor = cursor_of(of);
  const Point& point = cursor.at.point;
  switch (which) {
    case series:
      sqlite3_result_int64(to, cursor.series);
      break;
    case epoch:
      sqlite3_result_int64(to, point.epoch);
      break;
    case step:
      sqlite3_result_int64(to, point.step);
      break;
    case inner:
      sqlite3_result_text64(to, point.inner.data(), point.inner.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8);
      break;
    case ordinal:
      sqlite3_result_int64(to, point.ordinal);
      break;
    case replay:
      sqlite3_result_int64(to, cursor.at.replay);
      break;
    case type:
      sqlite3_result_int64(to, static_cast<std::int64_t>(point.type));
      break;
    default:
      put_scalar(to, point.value);
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = cursor_of(cursor).row;
  return SQLITE_OK;
}

const sqlite3_module kModule = [] {
  sqlite3_module module{};
  // Without xCreate the table exists under its name without a CREATE statement.
  module.xConnect = connect;
  module.xBestIndex = choose;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = advance;
  module.xEof = is_at_end;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}();

}  // namespace

const sqlite3_module& every_value_module() { return kModule; }

void add_every_value(Connection& connection) {
  connection.add_module("every_value", kModule, &connection);
}

}  // namespace flor::store
