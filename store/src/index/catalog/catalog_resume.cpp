// Functions of Catalog about interrupted runs that another process resumes.
#include "database/database.h"
#include "database/rest_rows.h"
#include "database/rows.h"
#include "index/catalog/resume_point.h"
#include "index/catalog/resume_rows.h"
#include "index/refresh.h"
#include "index/writing.h"

#include <flor/store/catalog.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Returns the loop in the name of a checkpoint, the part before '@' in "train@begin" or
/// "train@120".
std::string_view loop_of(std::string_view name) { return name.substr(0, name.find('@')); }

/// True for checkpoints of the resumed iteration that were taken before the point; only they are
/// kept.
bool is_kept(const ResumePoint& point, CheckpointKind kind, std::string_view name) {
  if (kind == CheckpointKind::boundary) return true;  // the boundary lies before the iteration
  if (kind == CheckpointKind::saved) return true;     // handled by forget_saved_after
  if (point.loop.empty()) return false;
  if (std::ranges::find(point.kept, loop_of(name)) != point.kept.end()) {
    return kind == CheckpointKind::loop_end;
  }
  if (loop_of(name) != point.loop) return false;
  if (kind != CheckpointKind::step) return name != point.loop;  // the loop's end is after the point
  const auto step = parse_step_name(name);
  // Earlier checkpoints are kept, because the resumed run checks itself from one of them.
  return step && step->step <= point.step;
}

void forget_checkpoints_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  const std::int64_t boundary = static_cast<std::int64_t>(CheckpointKind::boundary);
  connection(
      "DELETE FROM checkpoint WHERE run = ?1 AND (main_loop > ?2 OR (main_loop = ?2 AND "
      "(iteration > ?3 OR (NOT ?4 AND kind = ?5))))",
      run, point.main_loop, point.iteration, point.boundary, boundary)
      ->run();
  std::vector<std::int64_t> gone;
  const auto rows = connection(
      "SELECT id, kind, loop FROM checkpoint WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3",
      run, point.main_loop, point.iteration);
  while (rows->step()) {
    if (!is_kept(point, static_cast<CheckpointKind>(rows->integer(1)), rows->text_view(2))) {
      gone.push_back(rows->integer(0));
    }
  }
  for (const std::int64_t id : gone) {
    connection("DELETE FROM checkpoint WHERE id = ?1", id)->run();
  }
}

/// Deletes saved checkpoints, also already deleted ones, whose code will be executed again.
void forget_saved_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  std::vector<std::int64_t> gone;
  {
    const auto rows = connection(
        "SELECT number, main_loop, iteration, path, step FROM saved WHERE run = ?1", run);
    while (rows->step()) {
      const auto place = std::pair(rows->integer(1), rows->integer(2));
      const auto here = std::pair(point.main_loop, point.iteration);
      const bool behind =
          place > here ||
          (place == here && rows->integer(4) >= first_forgotten_step(rows->text_view(3), point));
      if (behind) gone.push_back(rows->integer(0));
    }
  }
  for (const std::int64_t number : gone) {
    connection("DELETE FROM score WHERE run = ?1 AND number = ?2", run, number)->run();
    connection("DELETE FROM saved WHERE run = ?1 AND number = ?2", run, number)->run();
  }
  // A checkpoint without a row in `saved` belongs to a save that was interrupted; it is deleted,
  // too.
  for (const char* table : {"checkpoint", "discarded"}) {
    connection(fmt::format("DELETE FROM {} WHERE run = ?1 AND kind = ?2 AND loop NOT IN (SELECT "
                           "name FROM saved WHERE run = ?1)",
                           table),
               run, static_cast<std::int64_t>(CheckpointKind::saved))
        ->run();
  }
  connection(
      "DELETE FROM discarded WHERE run = ?1 AND kind <> ?4 AND (main_loop > ?2 OR (main_loop = ?2 "
      "AND (iteration > ?3 OR (iteration = ?3 AND kind <> ?5))))",
      run, point.main_loop, point.iteration, static_cast<std::int64_t>(CheckpointKind::saved),
      static_cast<std::int64_t>(CheckpointKind::boundary))
      ->run();
}

void forget_loops_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  connection("DELETE FROM main_loop WHERE run = ?1 AND ordinal > ?2", run, point.main_loop)->run();
  if (point.boundary) {
    connection(
        "UPDATE main_loop SET iterations = ?3, ended = 0, broke = 0 WHERE run = ?1 AND ordinal = "
        "?2",
        run, point.main_loop, point.iteration)
        ->run();
  } else {
    connection("DELETE FROM main_loop WHERE run = ?1 AND ordinal = ?2", run, point.main_loop)
        ->run();
  }
  connection(
      "DELETE FROM iteration WHERE run = ?1 AND (main_loop > ?2 OR (main_loop = ?2 AND iteration "
      ">= ?3))",
      run, point.main_loop, point.iteration)
      ->run();
  std::vector<std::string> gone;
  const auto rows =
      connection("SELECT loop FROM execution WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3",
                 run, point.main_loop, point.iteration);
  while (rows->step()) {
    if (std::ranges::find(point.kept, rows->text_view(0)) == point.kept.end()) {
      gone.push_back(rows->text(0));
    }
  }
  for (const std::string& loop : gone) {
    connection(
        "DELETE FROM execution WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3 AND loop = ?4",
        run, point.main_loop, point.iteration, loop)
        ->run();
  }
  connection(
      "DELETE FROM execution WHERE run = ?1 AND (main_loop > ?2 OR (main_loop = ?2 AND iteration > "
      "?3))",
      run, point.main_loop, point.iteration)
      ->run();
}

/// Deletes or shortens decisions, each of which covers a range of iterations.
void forget_decisions_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  connection(
      "DELETE FROM decision WHERE run = ?1 AND (main_loop > ?2 OR (main_loop = ?2 AND first >= "
      "?3))",
      run, point.main_loop, point.iteration)
      ->run();
  connection("UPDATE decision SET last = min(last, ?3 - 1) WHERE run = ?1 AND main_loop = ?2", run,
             point.main_loop, point.iteration)
      ->run();
}

void note(Connection& connection, std::int64_t run, const Resumption& resumption) {
  const ResumePoint& point = resumption.point;
  connection(
      "INSERT INTO resumption (run, ordinal, resumed_us, main_loop, iteration, epoch, boundary, "
      "loop, step, version, program_digest, command) VALUES (?1, (SELECT count(*) FROM resumption "
      "WHERE run = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      run, resumption.resumed_us, point.main_loop, point.iteration, point.epoch, point.boundary,
      point.loop, point.step, resumption.commit, resumption.program_digest,
      to_json(resumption.command.words()))
      ->run();
}

}  // namespace

void forget_facts_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  forget_checkpoints_after(connection, run, point);
  forget_saved_after(connection, run, point);
  forget_loops_after(connection, run, point);
  forget_decisions_after(connection, run, point);
  forget_gaps_after(connection, run, point);
  forget_files_after(connection, run, point);
  connection(
      "UPDATE run SET finished_us = NULL, failed = NULL, message = '', "
      "epochs = (SELECT count(*) FROM iteration WHERE run = ?1), "
      "checkpoints = (SELECT count(*) FROM checkpoint WHERE run = ?1), "
      "raw_bytes = (SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = ?1) "
      "WHERE id = ?1",
      run)
      ->run();
}

void Catalog::interrupt_run(std::int64_t run, std::string_view message,
                            const UnwrittenRest& rest) {
  write_last(*database_, run, InterruptEvent{message}, rest);
}

void apply(Database& database, std::int64_t run, const InterruptEvent& event) {
  database.connection("UPDATE run SET message = ?2 WHERE id = ?1", run, event.message.text())
      ->run();
}

void Catalog::resume_run(std::int64_t run, const Resumption& resumption) {
  Writing writing(*database_);
  // Enters the events of the previous process first, so that their order is that of a rebuilt
  // index.
  if (const auto row = database_->connection("SELECT key FROM run WHERE id = ?1", run); row->step())
    enter_behind(*database_, {row->text(0)});
  writing.add(run, ResumeEvent{resumption});
  writing.commit();
}

void apply(Database& database, std::int64_t run, const ResumeEvent& event) {
  Connection& connection = database.connection;
  const Resumption& resumption = event.resumption;
  forget_values_after(database, run, resumption.point);
  forget_facts_after(connection, run, resumption.point);
  note(connection, run, resumption);
  remember_name(connection, run);
}

std::vector<Resumption> Catalog::resumptions(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<Resumption> resumptions;
  const auto rows = database_->connection(
      "SELECT resumed_us, main_loop, iteration, epoch, loop, step, version, program_digest, "
      "command, boundary FROM resumption WHERE run = ?1 ORDER BY ordinal",
      run);
  while (rows->step()) {
    Resumption& resumption = resumptions.emplace_back();
    resumption.resumed_us = rows->integer(0);
    resumption.point.main_loop = rows->integer(1);
    resumption.point.iteration = rows->integer(2);
    resumption.point.epoch = rows->integer(3);
    resumption.point.loop = rows->text(4);
    resumption.point.step = rows->integer(5);
    resumption.commit = rows->text(6);
    resumption.program_digest = rows->text(7);
    resumption.command =
        command_of(*database_, run, "the command of a resumption", rows->text_view(8));
    resumption.point.boundary = rows->integer(9) != 0;
  }
  return resumptions;
}

}  // namespace flor::store
