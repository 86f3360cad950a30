#include "row_copy.h"

#include "answers.h"
#include "rows.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <sqlite3.h>

#include <set>
#include <vector>

namespace flor::remote {
namespace {

using store::Connection;
using store::Query;

using Ids = std::unordered_map<std::int64_t, std::int64_t>;

/// Makes the number that a column has in the copy from the one it has in the original.
using Renumber = std::function<std::int64_t(std::int64_t)>;

std::vector<std::string> columns_of(Connection& connection, std::string_view table) {
  std::vector<std::string> columns;
  const auto rows = connection(fmt::format("PRAGMA table_info({})", table));
  while (rows->step()) columns.push_back(rows->text(1));
  return columns;
}

void bind(Query& query, int index, const Query& row, int column) {
  switch (row.type(column)) {
    case SQLITE_INTEGER:
      return query.bind(index, row.integer(column));
    case SQLITE_FLOAT:
      return query.bind(index, row.real(column));
    case SQLITE_TEXT:
      return query.bind(index, row.text_view(column));
    case SQLITE_BLOB:
      return query.bind(index, row.blob(column));
    default:
      return query.bind(index, nullptr);
  }
}

/// One table: the columns that both sides have.
class TableCopy {
 public:
  TableCopy(Connection& from, Connection& to, std::string table)
      : from_(from), to_(to), table_(std::move(table)) {}

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
  /// Called after each row with its old and its new id.
  TableCopy& then(std::function<void(std::int64_t, std::int64_t)> seen) {
    seen_ = std::move(seen);
    return *this;
  }

  /// Rows where `column` is `value`, in their order.
  void copy(std::string_view column, std::int64_t value, std::string_view order) {
    const std::vector<std::string> there = columns_of(to_, table_);
    std::vector<std::string> columns;
    for (std::string& name : columns_of(from_, table_)) {
      const bool known = std::find(there.begin(), there.end(), name) != there.end();
      if (known && !left_out_.contains(name)) columns.push_back(std::move(name));
    }
    if (columns.empty()) return;  // a table that came later
    std::string names, places;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      names += (i ? ", " : "") + columns[i];
      places += fmt::format("{}?{}", i ? ", " : "", i + 1);
    }
    const std::string id = seen_ ? ", id" : "";
    const auto rows = from_(fmt::format("SELECT {}{} FROM {} WHERE {} = ?1 ORDER BY {}", names, id,
                                        table_, column, order),
                            value);
    const std::string sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", table_, names, places);
    while (rows->step()) {
      const auto insert = to_(sql);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const int at = static_cast<int>(i);
        const auto change = changes_.find(columns[i]);
        if (change == changes_.end() || rows->is_null(at)) {
          bind(*insert, at + 1, *rows, at);
        } else {
          insert->bind(at + 1, change->second(rows->integer(at)));
        }
      }
      insert->run();
      if (seen_) seen_(rows->integer(static_cast<int>(columns.size())), to_.last_id());
    }
  }

 private:
  Connection& from_;
  Connection& to_;
  std::string table_;
  std::set<std::string> left_out_;
  std::map<std::string, Renumber> changes_;
  std::function<void(std::int64_t, std::int64_t)> seen_;
};

/// The row of `table` in `to` whose text is that of the row `id` in `from`.
std::int64_t intern(Connection& from, Connection& to, std::string_view table,
                    std::string_view column, std::int64_t id) {
  const auto row = from(fmt::format("SELECT {} FROM {} WHERE id = ?1", column, table), id);
  if (!row->step()) return 0;
  const std::string text = row->text(0);
  to(fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES (?1)", table, column), text)->run();
  const auto found = to(fmt::format("SELECT id FROM {} WHERE {} = ?1", table, column), text);
  found->step();
  return found->integer(0);
}

/// Tables about the run alone: replaced as a whole. How its program was built is not among them.
constexpr const char* kFacts[] = {"argument",  "main_loop",  "iteration", "execution", "decision",
                                  "gap",       "recording",  "resumption", "strategy",  "saved",
                                  "score",     "series",     "metric",     "replay",    "rank_run"};

/// Columns that change after the start of a run.
constexpr const char* kCourse[] = {"finished_us", "failed",    "message",      "degraded", "epochs",
                                   "checkpoints", "raw_bytes", "stored_bytes"};

/// The run with this key in `to`; 0: none.
std::int64_t find_run(Connection& to, const std::string& key) {
  const auto row = to("SELECT id FROM run WHERE key = ?1", key);
  return row->step() ? row->integer(0) : 0;
}

std::string key_of(Connection& from, std::int64_t run) {
  const auto row = from("SELECT key FROM run WHERE id = ?1", run);
  row->step();
  return row->text(0);
}

std::int64_t add_run(Connection& from, std::int64_t run, Connection& to) {
  TableCopy(from, to, "run")
      .without("id")
      .renumber("experiment",
                [&](std::int64_t id) { return intern(from, to, "experiment", "name", id); })
      .renumber("environment",
                [&](std::int64_t id) { return intern(from, to, "environment", "json", id); })
      .copy("id", run, "id");
  const std::int64_t target = to.last_id();
  TableCopy(from, to, "build")
      .set("run", target)
      .renumber("recipe", [&](std::int64_t id) { return intern(from, to, "recipe", "json", id); })
      .copy("run", run, "run");
  return target;
}

/// Keeps what the run was started with: it says what a replay executes.
void replace_course(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  for (const char* table : kFacts) {
    to(fmt::format("DELETE FROM {} WHERE run = ?1", table), target)->run();
  }
  for (const char* column : kCourse) {
    const auto row = from(fmt::format("SELECT {} FROM run WHERE id = ?1", column), run);
    row->step();
    const auto update = to(fmt::format("UPDATE run SET {} = ?1 WHERE id = ?2", column));
    bind(*update, 1, *row, 0);
    update->bind(2, target);
    update->run();
  }
}

/// A run that was recorded here, or imported, stays what it is.
bool takes_origin(Connection& to, std::int64_t run) {
  constexpr auto kFetched = static_cast<std::int64_t>(store::RunOrigin::Kind::fetched);
  return to("SELECT 1 FROM origin WHERE run = ?1 AND kind = ?2", run, kFetched)->step();
}

std::int64_t put_run(Connection& from, std::int64_t run, Connection& to,
                     const std::optional<store::RunOrigin>& origin) {
  std::int64_t target = find_run(to, key_of(from, run));
  const bool is_new = target == 0;
  if (is_new) {
    target = add_run(from, run, to);
  } else {
    replace_course(from, run, to, target);
  }
  if (origin && (is_new || takes_origin(to, target))) store::put_origin(to, target, *origin);
  return target;
}

/// Series that are set apart are called after their replay, which has another number there.
void copy_apart(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                const Ids& series, const Ids& replays) {
  if (columns_of(from, "apart").empty()) return;
  const auto rows = from(
      "SELECT series, of, replay, why, name FROM apart JOIN series ON series.id = apart.series "
      "WHERE run = ?1",
      run);
  while (rows->step()) {
    const auto replay = replays.find(rows->integer(2));
    if (replay == replays.end()) continue;
    const std::int64_t id = series.at(rows->integer(0)), why = rows->integer(3);
    const std::string name =
        store::apart_name(rows->text_view(1), static_cast<store::Apart>(why), replay->second);
    to("INSERT INTO apart (series, of, replay, why) VALUES (?1, ?2, ?3, ?4)", id,
       rows->text_view(1), replay->second, why)
        ->run();
    to("UPDATE OR IGNORE series SET name = ?2 WHERE id = ?1", id, name)->run();
    to("UPDATE OR IGNORE metric SET name = ?3 WHERE run = ?1 AND name = ?2", target,
       rows->text_view(4), name)
        ->run();
  }
}

void copy_values(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                 const Ids& replays) {
  Ids series;
  TableCopy(from, to, "series")
      .without("id")
      .set("run", target)
      .then([&](std::int64_t old, std::int64_t id) { series[old] = id; })
      .copy("run", run, "id");
  TableCopy values(from, to, "value");
  values.renumber("series", [&](std::int64_t old) { return series.at(old); })
      .renumber("replay", [&](std::int64_t old) {
        const auto found = replays.find(old);
        return found == replays.end() ? std::int64_t{0} : found->second;
      });
  const auto rows = from("SELECT id FROM series WHERE run = ?1 ORDER BY id", run);
  while (rows->step()) {
    values.copy("series", rows->integer(0), "epoch, step, inner, ordinal");
  }
  copy_apart(from, run, to, target, series, replays);
}

Ids copy_replays(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  Ids replays;
  TableCopy(from, to, "replay")
      .without("id")
      .set("run", target)
      .then([&](std::int64_t old, std::int64_t id) { replays[old] = id; })
      .copy("run", run, "id");
  const std::pair<const char*, const char*> kinds[] = {
      {"restoring", "replay"},
                                                       {"replay_question", "replay"},
                                                       {"replayed", "part"},
                                                       {"answer", "epoch"}};
  for (const auto& [table, order] : kinds) {
    for (const auto& [old, id] : std::map(replays.begin(), replays.end())) {
      TableCopy(from, to, table).set("replay", id).copy("replay", old, order);
    }
  }
  return replays;
}

}  // namespace

std::int64_t copy_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t leader,
                        const std::optional<store::RunOrigin>& origin) {
  const std::int64_t target = put_run(from, run, to, origin);
  const auto plain = [&](const char* table, const char* order) {
    TableCopy(from, to, table).set("run", target).copy("run", run, order);
  };
  plain("argument", "ordinal");
  plain("main_loop", "ordinal");
  plain("iteration", "main_loop, iteration");
  plain("execution", "main_loop, iteration, loop");
  plain("decision", "main_loop, first");
  plain("gap", "first");
  plain("recording", "run");
  plain("resumption", "ordinal");
  plain("strategy", "run");
  plain("saved", "number");
  plain("score", "number, name");
  TableCopy(from, to, "metric").without("id").set("run", target).copy("run", run, "id");
  TableCopy(from, to, "rank_run")
      .set("run", target)
      .renumber("leader", [&](std::int64_t old) { return old == run ? target : leader; })
      .copy("run", run, "rank");
  copy_values(from, run, to, target, copy_replays(from, run, to, target));
  return target;
}

std::int64_t put_layout(Connection& to, const store::Digest& digest, store::Bytes items) {
  to("INSERT OR IGNORE INTO layout (digest, items) VALUES (?1, ?2)", digest, items)->run();
  const auto row = to("SELECT id, items = ?2 FROM layout WHERE digest = ?1", digest, items);
  row->step();
  if (row->integer(1) == 0) {
    throw Damaged(fmt::format(
        "two layouts have the digest {}: one of them was made to have it, and was not taken over",
        digest.hex()));
  }
  return row->integer(0);
}

}  // namespace flor::remote
