// Functions of Catalog by which the ranks of a group find each other.
#include "database/database.h"
#include "index/refresh.h"
#include "index/writing.h"

#include <flor/store/catalog.h>

#include <algorithm>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Reads the columns that `find_launch` selects.
RankLaunch read_launch(const Query& row) {
  RankLaunch launch{.group = row.integer(0),
                    .launch = row.text(1),
                    .started_us = row.integer(2),
                    .attempt = row.integer(3),
                    .commit = row.text(4)};
  if (!row.is_null(11)) launch.check = row.integer(11);
  if (row.is_null(5)) return launch;
  launch.point = ResumePoint{.main_loop = row.integer(5),
                             .iteration = row.integer(6),
                             .epoch = row.integer(7),
                             .boundary = row.integer(8) != 0,
                             .loop = row.text(9),
                             .step = row.integer(10),
                             .kept = {}};
  return launch;
}

void put_point(Connection& connection, std::int64_t group, const ResumePoint& point) {
  connection(
      "UPDATE rank_launch SET main_loop = ?2, iteration = ?3, epoch = ?4, boundary = ?5, "
      "loop = ?6, step = ?7 WHERE leader = ?1",
      group, point.main_loop, point.iteration, point.epoch, point.boundary, point.loop, point.step)
      ->run();
}

}  // namespace

void Catalog::open_launch(const RankLaunch& launch) {
  write(*database_, launch.group, LaunchEvent{launch});
}

void apply(Database& database, std::int64_t run, const LaunchEvent& event) {
  Connection& connection = database.connection;
  const RankLaunch& launch = event.launch;
  connection(
      "INSERT OR REPLACE INTO rank_launch (leader, launch, started_us, attempt, version) VALUES "
      "(?1, ?2, ?3, 1 + coalesce((SELECT attempt FROM rank_launch WHERE leader = ?1), 0), ?4)",
      run, launch.launch, launch.started_us, launch.commit)
      ->run();
  connection("DELETE FROM rank_check WHERE leader = ?1", run)->run();
  if (launch.check) {
    connection("INSERT INTO rank_check (leader, iteration) VALUES (?1, ?2)", run, *launch.check)
        ->run();
  }
  if (launch.point) put_point(connection, run, *launch.point);
  connection(
      "UPDATE rank_run SET attempt = (SELECT attempt FROM rank_launch WHERE leader = ?1) "
      "WHERE leader = ?1 AND rank = 0",
      run)
      ->run();
}

void apply(Database& database, std::int64_t run, const CloseLaunchEvent&) {
  database.connection("UPDATE rank_launch SET launch = '' WHERE leader = ?1", run)->run();
}

std::optional<RankLaunch> Catalog::find_launch(std::string_view launch) const {
  const Lock lock(database_->mutex);
  // The caller waits for another process, which may run on another machine.
  follow_others(*database_);
  const auto row = database_->connection(
      "SELECT leader, launch, started_us, attempt, version, main_loop, rank_launch.iteration, "
      "epoch, "
      "boundary, loop, step, rank_check.iteration FROM rank_launch LEFT JOIN rank_check USING "
      "(leader) WHERE launch = ?1 ORDER BY started_us DESC LIMIT 1",
      launch);
  if (!row->step()) return std::nullopt;
  return read_launch(*row);
}

void Catalog::join_launch(std::int64_t run) { write(*database_, run, JoinEvent{}); }

void apply(Database& database, std::int64_t run, const JoinEvent&) {
  database
      .connection(
          "UPDATE rank_run SET attempt = (SELECT attempt FROM rank_launch "
          "WHERE rank_launch.leader = rank_run.leader) WHERE run = ?1",
          run)
      ->run();
}

RunState Catalog::group_state(const Run& run) const {
  if (!run.start.rank) return run.state;
  const std::vector<Run> all = ranks(run.start.rank->group);
  const auto any = [&](RunState state) {
    return std::ranges::any_of(all, [&](const Run& rank) { return rank.state == state; });
  };
  if (any(RunState::running)) return RunState::running;
  if (any(RunState::failed)) return RunState::failed;
  const bool whole = static_cast<std::int64_t>(all.size()) == run.start.rank->world;
  return whole && !any(RunState::interrupted) ? RunState::finished : RunState::interrupted;
}

bool Catalog::has_joined(std::int64_t group, std::int64_t rank) const {
  const Lock lock(database_->mutex);
  return database_
      ->connection(
          "SELECT 1 FROM rank_run JOIN rank_launch USING (leader) WHERE leader = ?1 AND rank = ?2 "
          "AND rank_run.attempt = rank_launch.attempt",
          group, rank)
      ->step();
}

}  // namespace flor::store
