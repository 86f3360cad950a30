#include "replay_merge.h"

#include "metric_rows.h"
#include "table_copy.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace flor::remote {
namespace {

using store::Connection;
using store::Value;

/// Values that are written at once: what of them is in memory.
constexpr std::size_t kBatch = 10'000;

constexpr auto kUnverified = static_cast<std::int64_t>(store::ValueVerdict::unverified);

/// Replays are the same if the same process of the same command made them.
using ReplayKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

ReplayKey key_of(const store::Query& row, int column) {
  return {row.integer(column), row.integer(column + 1), row.integer(column + 2)};
}

class Merge {
 public:
  Merge(Connection& from, std::int64_t run, store::Database& to, std::int64_t target)
      : from_(from), run_(run), to_(to), target_(target) {}

  void replays(const store::RunOrigin& origin) {
    std::set<ReplayKey> known;
    const auto here = to_.connection(
        "SELECT started_us, segment, first_epoch FROM replay WHERE run = ?1", target_);
    while (here->step()) known.insert(key_of(*here, 0));
    const auto there = from_(
        "SELECT id, started_us, segment, first_epoch, finished_us IS NOT NULL FROM replay WHERE "
        "run = ?1 ORDER BY id",
        run_);
    while (there->step()) {
      const std::int64_t id = there->integer(0);
      const bool is_new = there->integer(4) != 0 && known.insert(key_of(*there, 1)).second;
      ids_[id] = is_new ? std::optional(add_replay(id, origin)) : std::nullopt;
    }
    add_values();
  }

 private:
  std::int64_t add_replay(std::int64_t old, const store::RunOrigin& origin) {
    Connection& to = to_.connection;
    TableCopy(from_, to, "replay").without("id").set("run", target_).copy("id", old, "id");
    const std::int64_t id = to.last_id();
    to("INSERT INTO fetched_replay (replay, place, since_us) VALUES (?1, ?2, ?3)", id, origin.from,
       origin.since_us)
        ->run();
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

  /// The values under the names by which they were logged; where they stand is decided here.
  void add_values() {
    const auto rows = from_(
        "SELECT coalesce(of, name), path, epoch, step, inner, value.ordinal, value.replay, "
        "value.type, value.value FROM series JOIN value ON value.series = series.id LEFT JOIN "
        "apart ON apart.series = series.id WHERE run = ?1 AND value.replay <> 0 ORDER BY "
        "value.replay, series.id",
        run_);
    std::vector<Value> batch;
    while (rows->step()) {
      Value value = store::read_value(*rows);
      const auto id = ids_.find(value.replay);
      if (id == ids_.end()) {
        throw Damaged(fmt::format("a value of run {} names a replay that is not there", key()));
      }
      if (!id->second) continue;  // it is here, and so is what it found
      value.replay = *id->second;
      batch.push_back(std::move(value));
      if (batch.size() < kBatch) continue;
      store::insert_values(to_, target_, batch);
      batch.clear();
    }
    store::insert_values(to_, target_, batch);
  }

  std::string key() {
    const auto row = from_("SELECT key FROM run WHERE id = ?1", run_);
    return row->step() ? row->text(0) : std::string();
  }

  Connection& from_;
  std::int64_t run_;
  store::Database& to_;
  std::int64_t target_;
  /// Replays there, and their ids here where they were added.
  std::unordered_map<std::int64_t, std::optional<std::int64_t>> ids_;
};

}  // namespace

bool is_of_here(Connection& connection, std::int64_t run) {
  constexpr auto kFetched = static_cast<std::int64_t>(store::RunOrigin::Kind::fetched);
  return !connection("SELECT 1 FROM origin WHERE run = ?1 AND kind = ?2", run, kFetched)->step();
}

void merge_replays(Connection& from, std::int64_t run, store::Database& to, std::int64_t target,
                   const store::RunOrigin& origin) {
  Merge(from, run, to, target).replays(origin);
}

}  // namespace flor::remote
