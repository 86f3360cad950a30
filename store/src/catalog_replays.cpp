// Catalog: the replays of runs and what came out of them.
#include "database.h"
#include "doubts.h"
#include "rows.h"

#include <flor/store/catalog.h>

#include <map>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

ReplayResult read_result(const Query& row, int column) {
  ReplayResult result;
  result.finished_us = row.integer(column);
  result.verdict = static_cast<Verdict>(row.integer(column + 1));
  result.values_compared = row.integer(column + 2);
  result.values_different = row.integer(column + 3);
  result.states_compared = row.integer(column + 4);
  result.states_different = row.integer(column + 5);
  result.values_found = row.integer(column + 6);
  result.first_difference = row.text(column + 7);
  return result;
}

#define FLOR_PART_COLUMNS                                                                \
  "SELECT part, replayed.verdict, replayed.values_compared, replayed.values_different, " \
  "replayed.states_compared, replayed.states_different, replayed.values_found, "         \
  "replayed.first_difference, seconds, coalesce(answer.verdict, 3) FROM replayed "         \
  "LEFT JOIN answer ON answer.replay = replayed.replay AND answer.epoch = max(part, -1) "

ReplayedPart read_part(const Query& row) {
  ReplayedPart part;
  part.part = row.integer(0);
  part.result.verdict = static_cast<Verdict>(row.integer(1));
  part.result.values_compared = row.integer(2);
  part.result.values_different = row.integer(3);
  part.result.states_compared = row.integer(4);
  part.result.states_different = row.integer(5);
  part.result.values_found = row.integer(6);
  part.result.first_difference = row.text(7);
  part.seconds = row.real(8);
  part.found = static_cast<ValueVerdict>(row.integer(9));
  return part;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::unverified:
      return "unverified";
    case Verdict::verified:
      return "verified";
    case Verdict::differs:
      return "differs";
    case Verdict::failed:
      return "failed";
    case Verdict::doubtful:
      return "doubtful";
  }
  return "unknown";
}

std::int64_t Catalog::add_replay(const NewReplay& replay) {
  const Lock lock(database_->mutex);
  Connection& connection = database_->connection;
  const std::string command = to_json(replay.command.words());
  Transaction transaction(connection);
  connection(
      "INSERT INTO replay (run, started_us, segment, segments, first_epoch, last_epoch, strong, "
      "probes, program_digest, command) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      replay.run, replay.started_us, replay.segment, replay.segments, replay.first_epoch,
      replay.last_epoch, replay.strong, replay.probes, replay.program_digest, command)
      ->run();
  const std::int64_t id = connection.last_id();
  if (!replay.question.empty()) {
    connection("INSERT INTO replay_question (replay, question) VALUES (?1, ?2)", id,
               replay.question)
        ->run();
  }
  transaction.commit();
  return id;
}

void Catalog::add_restore_time(std::int64_t replay, std::uint64_t raw_bytes, double seconds) {
  const Lock lock(database_->mutex);
  Transaction transaction(database_->connection);
  database_
      ->connection(
          "INSERT OR REPLACE INTO restoring (replay, raw_bytes, seconds) VALUES (?1, ?2, ?3)",
          replay, static_cast<std::int64_t>(raw_bytes), seconds)
      ->run();
  transaction.commit();
}

std::optional<double> Catalog::restore_rate() const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT sum(raw_bytes), sum(seconds) FROM "
      "(SELECT raw_bytes, seconds FROM restoring ORDER BY replay DESC LIMIT 20)");
  if (!row->step() || row->is_null(0) || !(row->real(1) > 0)) return std::nullopt;
  return static_cast<double>(row->integer(0)) / row->real(1);
}

void Catalog::finish_replay(std::int64_t replay, const ReplayResult& result) {
  const Lock lock(database_->mutex);
  Transaction transaction(database_->connection);
  database_
      ->connection(
          "UPDATE replay SET finished_us = ?2, verdict = ?3, values_compared = ?4, "
          "values_different = ?5, states_compared = ?6, states_different = ?7, values_found = ?8, "
          "first_difference = ?9 WHERE id = ?1",
          replay, result.finished_us, static_cast<std::int64_t>(result.verdict),
          result.values_compared, result.values_different, result.states_compared,
          result.states_different, result.values_found, result.first_difference)
      ->run();
  if (result.verdict == Verdict::differs) doubt_values(*database_, replay);
  transaction.commit();
}

void Catalog::verify_replay(std::int64_t replay, std::span<const std::int64_t> epochs) {
  const Lock lock(database_->mutex);
  Transaction transaction(database_->connection);
  verify_values(*database_, replay, epochs);
  transaction.commit();
}

void Catalog::doubt_replay(std::int64_t replay, std::string_view why) {
  const Lock lock(database_->mutex);
  Transaction transaction(database_->connection);
  database_
      ->connection("UPDATE replay SET verdict = ?2, first_difference = ?3 WHERE id = ?1", replay,
                   static_cast<std::int64_t>(Verdict::differs), why)
      ->run();
  doubt_values(*database_, replay);
  transaction.commit();
}

std::vector<Replay> Catalog::replays(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<Replay> replays;
  const auto rows = database_->connection(
      "SELECT id, started_us, segment, segments, first_epoch, last_epoch, strong, probes, "
      "program_digest, command, finished_us, verdict, values_compared, values_different, "
      "states_compared, states_different, values_found, first_difference, question, place, "
      "since_us FROM replay LEFT JOIN replay_question ON replay_question.replay = id LEFT JOIN "
      "fetched_replay ON fetched_replay.replay = id WHERE run = ?1 ORDER BY id",
      run);
  while (rows->step()) {
    Replay& replay = replays.emplace_back();
    replay.id = rows->integer(0);
    replay.start.run = run;
    replay.start.started_us = rows->integer(1);
    replay.start.segment = rows->integer(2);
    replay.start.segments = rows->integer(3);
    replay.start.first_epoch = rows->integer(4);
    replay.start.last_epoch = rows->integer(5);
    replay.start.strong = rows->integer(6) != 0;
    replay.start.probes = rows->text(7);
    replay.start.program_digest = rows->text(8);
    replay.start.command = list_from_json(rows->text_view(9));
    if (!rows->is_null(18)) replay.start.question = rows->text(18);
    if (!rows->is_null(10)) replay.result = read_result(*rows, 10);
    if (!rows->is_null(19)) {
      replay.origin = {RunOrigin::Kind::fetched, rows->text(19), rows->integer(20)};
    }
  }
  return replays;
}

std::vector<ReplayedPart> Catalog::replayed(std::int64_t run, std::string_view question) const {
  const Lock lock(database_->mutex);
  std::map<std::int64_t, ReplayedPart> parts;
  const auto rows = database_->connection(
      FLOR_PART_COLUMNS
      "JOIN replay ON replay.id = replayed.replay "
      "JOIN replay_question ON replay_question.replay = replay.id WHERE run = ?1 AND question = ?2 "
      "AND replay.id NOT IN (SELECT replay FROM fetched_replay) ORDER BY replay.id",
      run, question);
  while (rows->step()) {
    ReplayedPart part = read_part(*rows);
    parts[part.part] = std::move(part);
  }
  std::vector<ReplayedPart> result;
  for (auto& [number, part] : parts) result.push_back(std::move(part));
  return result;
}

std::vector<ReplayedPart> Catalog::replayed_by(std::int64_t replay) const {
  const Lock lock(database_->mutex);
  std::vector<ReplayedPart> parts;
  const auto rows =
      database_->connection(FLOR_PART_COLUMNS "WHERE replayed.replay = ?1 ORDER BY part", replay);
  while (rows->step()) parts.push_back(read_part(*rows));
  return parts;
}

}  // namespace flor::store
