#include "index/copies/row_copy.h"

#include "database/rows.h"
#include "index/apply.h"
#include "index/copies/fetched_replays.h"
#include "index/copies/table_copy.h"
#include "index/values/answers.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace flor::store {
namespace {

using Ids = std::unordered_map<std::int64_t, std::int64_t>;

/// Returns the id of the row of `table` in `to` with the same text as row `id` in `from`.
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

/// Tables that only describe the run and are replaced as a whole, without those about its build.
constexpr std::pair<const char*, const char*> kFacts[] = {
    {"argument", "ordinal"},
    {"main_loop", "ordinal"},
    {"iteration", "main_loop, iteration"},
    {"execution", "main_loop, iteration, loop"},
    {"decision", "main_loop, first"},
    {"gap", "first"},
    {"recording", "run"},
    {"resumption", "ordinal"},
    {"strategy", "run"},
    {"proof", "id"},
    {"saved", "number"},
    {"score", "number, name"},
    {"fork", "run"},
    {"used_file", "use, name, digest, source"}};
/// Tables of logged values and of values found by replays, which are replaced as a whole.
constexpr const char* kValues[] = {"series", "metric", "replay"};

/// Columns of `run` that change after its start.
constexpr const char* kCourse[] = {"finished_us", "failed",      "message",   "degraded",
                                   "epochs",      "checkpoints", "raw_bytes", "stored_bytes"};

/// Returns the id in `to` of the run with this key; 0 if there is none.
std::int64_t find_run(Connection& to, const std::string& key) {
  const auto row = to("SELECT id FROM run WHERE key = ?1", key);
  return row->step() ? row->integer(0) : 0;
}

std::string key_of_run(Connection& from, std::int64_t run) {
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

/// Replaces only the columns of kCourse. Facts of the start, which replays rely on, are not
/// changed.
void replace_course(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  for (const char* column : kCourse) {
    const auto row = from(fmt::format("SELECT {} FROM run WHERE id = ?1", column), run);
    row->step();
    const auto update = to(fmt::format("UPDATE run SET {} = ?1 WHERE id = ?2", column));
    bind(*update, 1, *row, 0);
    update->bind(2, target);
    update->run();
  }
}

void replace_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                   std::int64_t leader) {
  for (const auto& [table, order] : kFacts) {
    to(fmt::format("DELETE FROM {} WHERE run = ?1", table), target)->run();
    TableCopy(from, to, table).without("id").set("run", target).copy("run", run, order);
  }
  to("DELETE FROM rank_run WHERE run = ?1", target)->run();
  TableCopy(from, to, "rank_run")
      .set("run", target)
      .renumber("leader", [&](std::int64_t old) { return old == run ? target : leader; })
      .copy("run", run, "rank");
}

std::int64_t put_run(Connection& from, std::int64_t run, Connection& to,
                     const std::optional<RunOrigin>& origin) {
  std::int64_t target = find_run(to, key_of_run(from, run));
  const bool is_new = target == 0;
  if (is_new) {
    target = add_run(from, run, to);
  } else {
    replace_course(from, run, to, target);
  }
  if (origin) put_origin(to, target, *origin);
  return target;
}

/// Copies which series are set apart. Their names contain the id of a replay, which is another one
/// in `to`.
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
        apart_name(rows->text_view(1), static_cast<Apart>(why), replay->second);
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
  TableCopy values(from, to, "every_value", "value");
  values.renumber("series", [&](std::int64_t old) { return series.at(old); })
      .renumber("replay", [&](std::int64_t old) {
        if (old == 0) return old;
        const auto found = replays.find(old);
        if (found != replays.end()) return found->second;
        throw Damaged(fmt::format("a value of run {} names a replay that is not there",
                                  key_of_run(from, run)));
      });
  const auto rows = from("SELECT id FROM series WHERE run = ?1 ORDER BY id", run);
  while (rows->step()) {
    values.copy("series", rows->integer(0), "epoch, step, inner, ordinal");
  }
  copy_apart(from, run, to, target, series, replays);
}

/// Copies verdicts on answers. For answers of fetched replays that no execution here has checked,
/// copies the verdicts that their origin claimed.
void copy_answers(Connection& from, Connection& to, std::int64_t old, std::int64_t id) {
  if (!has_table(from, "claimed_answer")) {
    return TableCopy(from, to, "answer").set("replay", id).copy("replay", old, "epoch");
  }
  const auto rows = from(
      "SELECT answer.epoch, CASE WHEN answer.verdict = ?2 THEN coalesce(claimed_answer.verdict, "
      "?2) ELSE answer.verdict END FROM answer LEFT JOIN claimed_answer USING (replay, epoch) "
      "WHERE answer.replay = ?1 ORDER BY answer.epoch",
      old, static_cast<std::int64_t>(ValueVerdict::unverified));
  while (rows->step()) {
    to("INSERT INTO answer (replay, epoch, verdict) VALUES (?1, ?2, ?3)", id, rows->integer(0),
       rows->integer(1))
        ->run();
  }
}

/// Ids of replays, by the keys that journals use.
using ReplayIds = std::map<std::string, std::int64_t, std::less<>>;

ReplayIds replay_ids(Connection& connection, std::int64_t run) {
  ReplayIds ids;
  const auto rows = connection(
      "SELECT key, replay FROM replay_key JOIN replay ON replay.id = replay_key.replay WHERE run = "
      "?1",
      run);
  while (rows->step()) ids.emplace(rows->text(0), rows->integer(1));
  return ids;
}

/// `known`: replays that the run already had in `to`; they keep their ids.
Ids copy_replays(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                 const ReplayIds& known) {
  Ids replays;
  TableCopy(from, to, "replay")
      .without("id")
      .set("run", target)
      .then([&](std::int64_t old, std::int64_t id) { replays[old] = id; })
      .copy("run", run, "id");
  if (!known.empty() && has_table(from, "replay_key")) {
    for (auto& [old, id] : replays) {
      const auto before = known.find(replay_key(from, old));
      if (before == known.end()) continue;
      to("UPDATE replay SET id = ?2 WHERE id = ?1", id, before->second)->run();
      id = before->second;
    }
  }
  for (const auto& [old, id] : std::map(replays.begin(), replays.end())) {
    copy_replay_key(from, old, to, target, id);
  }
  const std::pair<const char*, const char*> kinds[] = {
      {"restoring", "replay"}, {"replay_question", "replay"}, {"replayed", "part"}};
  for (const auto& [table, order] : kinds) {
    for (const auto& [old, id] : std::map(replays.begin(), replays.end())) {
      TableCopy(from, to, table).set("replay", id).copy("replay", old, order);
    }
  }
  for (const auto& [old, id] : std::map(replays.begin(), replays.end())) {
    copy_answers(from, to, old, id);
  }
  return replays;
}

}  // namespace

std::int64_t copy_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t leader,
                        const std::optional<RunOrigin>& origin) {
  const std::int64_t target = put_run(from, run, to, origin);
  replace_facts(from, run, to, target, leader);
  const ReplayIds known = replay_ids(to, target);
  for (const char* table : kValues) {
    to(fmt::format("DELETE FROM {} WHERE run = ?1", table), target)->run();
  }
  TableCopy(from, to, "metric").without("id").set("run", target).copy("run", run, "id");
  copy_values(from, run, to, target, copy_replays(from, run, to, target, known));
  return target;
}

std::int64_t take_facts(Connection& from, std::int64_t run, Database& to, std::int64_t leader,
                        const RunOrigin& origin) {
  const std::int64_t known = find_run(to.connection, key_of_run(from, run));
  if (known != 0 && is_of_here(to.connection, known)) {
    throw std::logic_error("what was recorded elsewhere becomes no part of a run recorded here");
  }
  to.series.clear();  // the series of the run get new ids
  return copy_facts(from, run, to.connection, leader, origin);
}

std::int64_t put_layout(Connection& to, const Digest& digest, Bytes items) {
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

}  // namespace flor::store
