#include "index/copies/fetched_replays.h"

#include "index/apply.h"
#include "index/copies/table_copy.h"
#include "index/values/metric_rows.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace flor::store {
namespace {

/// Number of values that are held in memory and written together.
constexpr std::size_t kBatch = 10'000;

constexpr auto kUnverified = static_cast<std::int64_t>(ValueVerdict::unverified);

/// Identifies a replay across catalogs: by the command and the process that made it.
using ReplayKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

ReplayKey replay_key_of(const Query& row, int column) {
  return {row.integer(column), row.integer(column + 1), row.integer(column + 2)};
}

class Merge {
 public:
  Merge(Connection& from, std::int64_t run, Database& to, std::int64_t target)
      : from_(from), run_(run), to_(to), target_(target) {}

  void replays(const RunOrigin& origin) {
    std::set<ReplayKey> known;
    const auto here = to_.connection(
        "SELECT started_us, segment, first_epoch FROM replay WHERE run = ?1", target_);
    while (here->step()) known.insert(replay_key_of(*here, 0));
    const auto there = from_(
        "SELECT id, started_us, segment, first_epoch, finished_us IS NOT NULL FROM replay WHERE "
        "run = ?1 ORDER BY id",
        run_);
    while (there->step()) {
      const std::int64_t id = there->integer(0);
      const bool is_new = there->integer(4) != 0 && known.insert(replay_key_of(*there, 1)).second;
      ids_[id] = is_new ? std::optional(add_replay(id, origin)) : std::nullopt;
    }
    add_values();
  }

 private:
  std::int64_t add_replay(std::int64_t old, const RunOrigin& origin) {
    Connection& to = to_.connection;
    TableCopy(from_, to, "replay").without("id").set("run", target_).copy("id", old, "id");
    const std::int64_t id = to.last_id();
    to("INSERT INTO fetched_replay (replay, place, since_us) VALUES (?1, ?2, ?3)", id, origin.from,
       origin.since_us)
        ->run();
    copy_replay_key(from_, old, to, target_, id);
    TableCopy(from_, to, "replay_question").set("replay", id).copy("replay", old, "replay");
    TableCopy(from_, to, "replayed").set("replay", id).copy("replay", old, "part");
    TableCopy(from_, to, "answer").set("replay", id).copy("replay", old, "epoch");
    to("INSERT INTO claimed_answer SELECT replay, epoch, verdict FROM answer WHERE replay = ?1 AND "
       "verdict < ?2",
       id, kUnverified)
        ->run();
    to("UPDATE answer SET verdict = max(verdict, ?2) WHERE replay = ?1", id, kUnverified)->run();
    return id;
  }

  /// Adds the values under the names by which they were logged; this store decides which are
  /// current.
  void add_values() {
    const auto rows = from_(
        "SELECT coalesce(of, name), path, epoch, step, inner, value.ordinal, value.replay, "
        "value.type, value.value FROM series JOIN value ON value.series = series.id LEFT JOIN "
        "apart ON apart.series = series.id WHERE run = ?1 AND value.replay <> 0 ORDER BY "
        "value.replay, series.id",
        run_);
    std::vector<Value> batch;
    while (rows->step()) {
      Value value = read_value(*rows);
      const auto id = ids_.find(value.replay);
      if (id == ids_.end()) {
        throw Damaged(fmt::format("a value of run {} names a replay that is not there", key()));
      }
      if (!id->second) continue;  // the replay already exists here, or has not ended
      value.replay = *id->second;
      batch.push_back(std::move(value));
      if (batch.size() < kBatch) continue;
      insert_values(to_, target_, batch);
      batch.clear();
    }
    insert_values(to_, target_, batch);
  }

  std::string key() {
    const auto row = from_("SELECT key FROM run WHERE id = ?1", run_);
    return row->step() ? row->text(0) : std::string();
  }

  Connection& from_;
  std::int64_t run_;
  Database& to_;
  std::int64_t target_;
  /// Ids of replays in `from_`, each with its id here if it was added.
  std::unordered_map<std::int64_t, std::optional<std::int64_t>> ids_;
};

}  // namespace

void copy_replay_key(Connection& from, std::int64_t old, Connection& to, std::int64_t run,
                     std::int64_t id) {
  std::string key;
  if (has_table(from, "replay_key")) key = replay_key(from, old);
  if (key.empty()) {
    const auto row = from("SELECT started_us, segment, first_epoch FROM replay WHERE id = ?1", old);
    row->step();
    key = fmt::format("{}-{}-{}", row->integer(0), row->integer(1), row->integer(2));
  }
  while (replay_id(to, run, key) != 0) key += '+';
  to("INSERT INTO replay_key (replay, key) VALUES (?1, ?2)", id, key)->run();
}

bool is_of_here(Connection& connection, std::int64_t run) {
  constexpr auto kFetched = static_cast<std::int64_t>(RunOrigin::Kind::fetched);
  return !connection("SELECT 1 FROM origin WHERE run = ?1 AND kind = ?2", run, kFetched)->step();
}

void merge_replays(Connection& from, std::int64_t run, Database& to, std::int64_t target,
                   const RunOrigin& origin) {
  Merge(from, run, to, target).replays(origin);
}

}  // namespace flor::store
