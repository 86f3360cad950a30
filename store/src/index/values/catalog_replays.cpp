// Functions of Catalog about the replays of runs and their results.
#include "database/database.h"
#include "database/rows.h"
#include "index/values/doubts.h"
#include "index/writing.h"

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
  "replayed.first_difference, seconds, coalesce(answer.verdict, 3) FROM replayed "       \
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

std::string replay_key(Connection& connection, std::int64_t replay) {
  const auto row = connection("SELECT key FROM replay_key WHERE replay = ?1", replay);
  return row->step() ? row->text(0) : std::string();
}

std::int64_t replay_id(Connection& connection, std::int64_t run, std::string_view key) {
  const auto row = connection(
      "SELECT id FROM replay CROSS JOIN replay_key ON replay_key.replay = replay.id WHERE run = ?1 "
      "AND key = ?2",
      run, key);
  return row->step() ? row->integer(0) : 0;
}

std::int64_t Catalog::add_replay(const NewReplay& replay) {
  Writing writing(*database_);
  const ReplayEvent event{new_run_key(), replay};
  writing.add(replay.run, event);
  const std::int64_t id = replay_id(writing.connection(), replay.run, event.key);
  writing.commit();
  return id;
}

void apply(Database& database, std::int64_t run, const ReplayEvent& event) {
  Connection& connection = database.connection;
  const NewReplay& replay = event.start;
  const std::string command = to_json(replay.command.words());
  connection(
      "INSERT INTO replay (run, started_us, segment, segments, first_epoch, last_epoch, strong, "
      "probes, program_digest, command) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      run, replay.started_us, replay.segment, replay.segments, replay.first_epoch,
      replay.last_epoch, replay.strong, replay.probes, replay.program_digest, command)
      ->run();
  const std::int64_t id = connection.last_id();
  connection("INSERT INTO replay_key (replay, key) VALUES (?1, ?2)", id, event.key)->run();
  if (!replay.question.empty()) {
    connection("INSERT INTO replay_question (replay, question) VALUES (?1, ?2)", id,
               replay.question)
        ->run();
  }
}

namespace {

std::int64_t run_of(Connection& connection, std::int64_t replay) {
  const auto row = connection("SELECT run FROM replay WHERE id = ?1", replay);
  return row->step() ? row->integer(0) : 0;
}

/// Adds an event about a replay. Does nothing if the replay was deleted together with its run.
template <typename Event>
void say(Database& database, std::int64_t replay, Event event) {
  Writing writing(database);
  const std::int64_t run = run_of(writing.connection(), replay);
  if (run == 0) return;
  event.replay = replay_key(writing.connection(), replay);
  writing.add(run, event);
  writing.commit();
}

}  // namespace

void Catalog::add_restore_time(std::int64_t replay, std::uint64_t raw_bytes, double seconds) {
  say(*database_, replay, RestoringEvent{{}, raw_bytes, seconds});
}

void apply(Database& database, std::int64_t run, const RestoringEvent& event) {
  database
      .connection(
          "INSERT OR REPLACE INTO restoring (replay, raw_bytes, seconds) SELECT id, ?2, ?3 FROM "
          "replay WHERE id = ?1",
          replay_id(database.connection, run, event.replay),
          static_cast<std::int64_t>(event.raw_bytes), event.seconds)
      ->run();
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
  say(*database_, replay, ReplayEndEvent{{}, result});
}

void apply(Database& database, std::int64_t run, const ReplayEndEvent& event) {
  const ReplayResult& result = event.result;
  const std::int64_t replay = replay_id(database.connection, run, event.replay);
  if (replay == 0) return;  // unknown here; as an id, 0 would mean the recording
  database
      .connection(
          "UPDATE replay SET finished_us = ?2, verdict = ?3, values_compared = ?4, "
          "values_different = ?5, states_compared = ?6, states_different = ?7, values_found = ?8, "
          "first_difference = ?9 WHERE id = ?1",
          replay, result.finished_us, static_cast<std::int64_t>(result.verdict),
          result.values_compared, result.values_different, result.states_compared,
          result.states_different, result.values_found, result.first_difference)
      ->run();
  if (result.verdict == Verdict::differs) doubt_values(database, run, replay);
}

void Catalog::verify_replay(std::int64_t replay, std::span<const std::int64_t> epochs) {
  say(*database_, replay, VerifyEvent{{}, {epochs.begin(), epochs.end()}});
}

void apply(Database& database, std::int64_t run, const VerifyEvent& event) {
  const std::int64_t replay = replay_id(database.connection, run, event.replay);
  if (replay != 0) verify_values(database, run, replay, event.epochs);
}

void Catalog::doubt_replay(std::int64_t replay, std::string_view why) {
  say(*database_, replay, DoubtEvent{{}, why});
}

void apply(Database& database, std::int64_t run, const DoubtEvent& event) {
  const std::int64_t replay = replay_id(database.connection, run, event.replay);
  if (replay == 0) return;
  database
      .connection("UPDATE replay SET verdict = ?2, first_difference = ?3 WHERE id = ?1", replay,
                  static_cast<std::int64_t>(Verdict::differs), event.why.text())
      ->run();
  doubt_values(database, run, replay);
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
    replay.start.command =
        command_of(*database_, run, "the command of a replay", rows->text_view(9));
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
