// Functions of Catalog about runs: their beginning and end, listing and finding them.
#include "base/edit_distance.h"
#include "database/database.h"
#include "database/rows.h"
#include "file/random.h"
#include "index/catalog/labels.h"
#include "index/refresh.h"
#include "index/values/metric_rows.h"
#include "index/writing.h"
#include "journal/run_journal.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// The columns that listings show, and then those that only a single run's view shows.
#define FLOR_RUN_SUMMARY                                                                  \
  "SELECT run.id, run.key, experiment.name, run.started_us, run.version, run.directory, " \
  "run.finished_us, run.failed, run.message, run.degraded, run.epochs, run.checkpoints, " \
  "run.raw_bytes, run.stored_bytes, rank_run.leader, rank_run.rank, rank_run.world, "     \
  "origin.kind, origin.place, origin.since_us, "                                          \
  "(SELECT group_concat(name, ' ') FROM label WHERE label.run = coalesce(leader.id, "     \
  "run.id) AND kind = 0 AND value <> ''), "                                               \
  "(SELECT value FROM label WHERE label.run = coalesce(leader.id, run.id) AND kind = 1) "
#define FLOR_RUN_START \
  ", run.repository, run.program, run.program_digest, run.command, run.environment "
#define FLOR_RUN_TABLES                                                                  \
  "FROM run JOIN experiment ON experiment.id = run.experiment "                          \
  "LEFT JOIN rank_run ON rank_run.run = run.id LEFT JOIN origin ON origin.run = run.id " \
  "LEFT JOIN run AS leader ON leader.id = rank_run.leader "
#define FLOR_RUN_COLUMNS FLOR_RUN_SUMMARY FLOR_RUN_START FLOR_RUN_TABLES

/// SQL condition: the run is that of the lowest existing rank of its group, or has no group.
#define FLOR_FIRST_RANK                                                    \
  "(rank_run.rank IS NULL OR NOT EXISTS (SELECT 1 FROM rank_run AS lower " \
  "WHERE lower.leader = rank_run.leader AND lower.rank < rank_run.rank)) "

}  // namespace

std::string new_run_key() { return fmt::format("{:016x}", random_bits()); }

namespace {

/// Reads rows of FLOR_RUN_COLUMNS (for a summary, without FLOR_RUN_START). Keeps the last command
/// and environment decoded, because consecutive runs mostly have the same ones.
class RunReader {
 public:
  explicit RunReader(Database& database, RunDetail detail = RunDetail::all)
      : database_(database), detail_(detail) {}

  Run read(const Query& row) {
    Run run;
    read(row, run);
    return run;
  }

  /// Overwrites all fields of `run`, reusing its memory.
  void read(const Query& row, Run& run) {
    run.id = row.integer(0);
    run.key = row.text_view(1);
    run.start.experiment = row.text_view(2);
    run.start.started_us = row.integer(3);
    run.start.commit = row.text_view(4);
    run.start.directory = row.text_view(5);
    run.finished_us.reset();
    if (!row.is_null(6)) run.finished_us = row.integer(6);
    run.message = row.text_view(8);
    run.degraded = row.text_view(9);
    run.epochs = row.integer(10);
    run.checkpoints = row.integer(11);
    run.raw_bytes = static_cast<std::uint64_t>(row.integer(12));
    run.stored_bytes = static_cast<std::uint64_t>(row.integer(13));
    run.start.rank.reset();
    if (!row.is_null(14))
      run.start.rank = RankPlace{row.integer(14), row.integer(15), row.integer(16)};
    read_origin(row, run.origin);
    read_labels(row, run);
    run.unreadable.clear();
    if (detail_ == RunDetail::all) {
      run.start.repository = row.text_view(22);
      run.start.program = row.text_view(23);
      run.start.program_digest = row.text_view(24);
      run.start.command = command(row.text_view(25));
      run.start.environment = environment(row.integer(26));
      run.unreadable = command_flaw_.empty() ? environment_flaw_ : command_flaw_;
      if (!run.unreadable.empty()) database_.name_unreadable(run.key, run.unreadable);
    } else {
      clear_details(run.start);
    }
    if (run.finished_us) {
      run.state = row.integer(7) != 0 ? RunState::failed : RunState::finished;
    } else if (is_locked(database_, run.key)) {
      run.state = RunState::running;
    } else {
      const bool is_log = run.origin.kind == RunOrigin::Kind::imported;
      run.state = is_log ? RunState::imported : RunState::interrupted;
    }
  }

 private:
  /// An unknown kind, from a later version, counts as fetched.
  static void read_origin(const Query& row, RunOrigin& origin) {
    constexpr auto kImported = static_cast<std::int64_t>(RunOrigin::Kind::imported);
    const std::int64_t kind = row.is_null(17) ? 0 : row.integer(17);
    origin.kind = kind >= 0 && kind <= kImported ? static_cast<RunOrigin::Kind>(kind)
                                                 : RunOrigin::Kind::fetched;
    origin.from = row.is_null(18) ? std::string_view() : row.text_view(18);
    origin.since_us = row.is_null(19) ? 0 : row.integer(19);
  }

  static void read_labels(const Query& row, Run& run) {
    run.tags.clear();
    run.note.clear();
    std::string_view tags = row.is_null(20) ? std::string_view() : row.text_view(20);
    while (!tags.empty()) {
      const std::string_view tag = tags.substr(0, tags.find(' '));
      run.tags.emplace_back(tag);
      tags.remove_prefix(std::min(tag.size() + 1, tags.size()));
    }
    std::ranges::sort(run.tags);
    if (!row.is_null(21)) run.note = row.text_view(21);
  }

  static void clear_details(NewRun& start) {
    start.repository.clear();
    start.program.clear();
    start.program_digest.clear();
    start.command = {};
    start.environment.clear();
  }

  const RecordedCommand& command(std::string_view text) {
    if (text != command_json_) {
      const auto words = list_from_json(text);
      command_ = words.value_or(std::vector<std::string>());
      command_flaw_ = words ? std::string() : unreadable("its command", text);
      command_json_ = text;
    }
    return command_;
  }

  const std::map<std::string, std::string>& environment(std::int64_t id) {
    if (id != environment_id_) {
      const auto row = database_.connection("SELECT json FROM environment WHERE id = ?1", id);
      const std::string text = row->step() ? row->text(0) : "{}";
      auto facts = map_from_json(text);
      environment_flaw_ = facts ? std::string() : unreadable("its environment", text);
      environment_ = std::move(facts).value_or(std::map<std::string, std::string>());
      environment_id_ = id;
    }
    return environment_;
  }

  Database& database_;
  RunDetail detail_;
  std::string command_json_ = "[]", command_flaw_, environment_flaw_;
  RecordedCommand command_;
  std::int64_t environment_id_ = 0;
  std::map<std::string, std::string> environment_;
};

/// Converts a limit to SQLite's type.
std::int64_t rows_of(std::size_t limit) {
  return static_cast<std::int64_t>(std::min(limit, static_cast<std::size_t>(INT64_MAX)));
}

template <typename... Values>
std::vector<Run> read_runs(Database& database, std::string_view sql, const Values&... values) {
  std::vector<Run> runs;
  RunReader reader(database);
  const auto rows = database.connection(sql, values...);
  while (rows->step()) runs.push_back(reader.read(*rows));
  return runs;
}

template <typename... Values>
std::optional<Run> read_run(Database& database, std::string_view sql, const Values&... values) {
  RunReader reader(database);
  const auto rows = database.connection(sql, values...);
  if (!rows->step()) return std::nullopt;
  return reader.read(*rows);
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

void add_rank(Connection& connection, std::int64_t run, const RankPlace& place) {
  connection(
      "INSERT OR REPLACE INTO rank_run (leader, rank, run, world, attempt) VALUES (?1, ?2, ?3, ?4, "
      "coalesce((SELECT attempt FROM rank_launch WHERE leader = ?1), 0))",
      place.group, place.rank, run, place.world)
      ->run();
}

/// Returns the first text after all texts that begin with the prefix (hex digits).
std::string prefix_end(std::string prefix) {
  ++prefix.back();
  return prefix;
}

/// Which runs of an experiment a name refers to.
enum class Meant {
  ours,     ///< runs that were not fetched
  fetched,  ///< fetched runs
};

/// Interprets a run specification in the possible forms, one after the other.
class Resolver {
 public:
  Resolver(Database& database, std::string_view spec, RunPresence presence)
      : database_(database), spec_(spec), presence_(presence) {}

  /// For every form tries runs that were not fetched first, and a key before the name of a fetched
  /// run: someone who names a run elsewhere must not be able to change what a name means here.
  Run resolve() {
    for (const Meant meant : {Meant::ours, Meant::fetched}) {
      meant_ = meant;
      if (auto run = by_name(spec_, 0)) return *run;
      if (auto run = by_distance()) return *run;
      if (auto run = by_version()) return *run;
      if (auto run = by_key()) return *run;
    }
    if (presence_ == RunPresence::removed) {
      throw NotFound(fmt::format(
          "no run '{}' was removed, or `flor gc` has freed it: see `flor list --removed`", spec_));
    }
    say_if_removed();
    throw NotFound(fmt::format(
        "there is no run or experiment '{}': {}", spec_,
        begins_a_key() ? fmt::format("an id takes at least its first {} digits", kPrefixMin)
                       : advice(spec_)));
  }

  std::vector<Run> passed_over() {
    for (const std::string_view name :
         {spec_, spec_.substr(0, spec_.rfind('~')), spec_.substr(0, spec_.rfind(':'))}) {
      const auto id = experiment(name);
      if (!id) continue;
      meant_ = Meant::fetched;
      return read_runs(database_,
                       FLOR_RUN_COLUMNS "WHERE run.experiment = ?1 AND " + meant() +
                           FLOR_FIRST_RANK "ORDER BY run.id DESC",
                       *id);
    }
    return {};
  }

 private:
  static constexpr std::size_t kPrefixMin = 4;

  std::string meant() const {
    const int fetched = meant_ == Meant::fetched ? 1 : 0;
    return fmt::format("(coalesce(origin.kind, 0) = 1) = {} AND {}AND ", fetched, is_present());
  }
  std::string is_present() const {
    return presence_ == RunPresence::there ? "NOT " FLOR_IS_REMOVED("run.id")
                                           : "run.id IN " FLOR_REMOVED_RUNS;
  }

  /// If only a removed run matches, throws NotFound with the command that restores it.
  void say_if_removed() {
    std::optional<Run> removed;
    try {
      removed = Resolver(database_, spec_, RunPresence::removed).resolve();
    } catch (const Error&) {
      return;
    }
    throw NotFound(fmt::format("run {} ({}) was removed: `flor rm {} --undo` brings it back",
                               removed->key.substr(0, 8), removed->start.experiment,
                               removed->key.substr(0, 8)));
  }

  /// Returns the id of the experiment with this name, if it has a run of the kind `meant_`.
  std::optional<std::int64_t> experiment(std::string_view name) {
    const auto row = database_.connection(
        "SELECT id FROM experiment WHERE name = ?1 AND EXISTS (SELECT 1 FROM run LEFT JOIN origin "
        "ON origin.run = run.id WHERE " +
            meant() + "run.experiment = experiment.id)",
        name);
    if (!row->step()) return std::nullopt;
    return row->integer(0);
  }

  std::optional<Run> by_name(std::string_view name, std::int64_t before) {
    const auto id = experiment(name);
    if (!id) return std::nullopt;
    return read_run(database_,
                    FLOR_RUN_COLUMNS "WHERE run.experiment = ?1 AND " + meant() +
                        FLOR_FIRST_RANK "ORDER BY run.id DESC LIMIT 1 OFFSET ?2",
                    *id, before);
  }

  std::optional<Run> by_distance() {
    const std::size_t tilde = spec_.rfind('~');
    if (tilde == std::string_view::npos) return std::nullopt;
    const std::string_view digits = spec_.substr(tilde + 1);
    std::int64_t before = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), before);
    if (digits.empty() || error != std::errc() || end != digits.end() || before < 0) {
      return std::nullopt;
    }
    const std::string_view name = spec_.substr(0, tilde);
    const auto id = experiment(name);
    if (!id) return no_experiment(name);
    if (auto run = by_name(name, before)) return run;
    const auto row = database_.connection(
        "SELECT count(*) FROM run LEFT JOIN rank_run ON rank_run.run = run.id "
        "LEFT JOIN origin ON origin.run = run.id WHERE run.experiment = ?1 AND " +
            meant() + FLOR_FIRST_RANK,
        *id);
    row->step();
    throw NotFound(fmt::format("'{}' has only {} runs, so there is no '{}': see `flor list {}`",
                               name, row->integer(0), spec_, name));
  }

  std::optional<Run> by_version() {
    const std::size_t colon = spec_.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view name = spec_.substr(0, colon);
    const std::string commit = lower(spec_.substr(colon + 1));
    const auto id = experiment(name);
    if (!id) return no_experiment(name);
    if (commit.size() < kPrefixMin || !is_hex(commit)) {
      throw UsageError(fmt::format("'{}' is no commit: give at least {} of its hex digits",
                                   spec_.substr(colon + 1), kPrefixMin));
    }
    require_one_commit(*id, commit);
    auto run = read_run(database_,
                        FLOR_RUN_COLUMNS
                            "WHERE run.experiment = ?1 AND run.version >= ?2 AND run.version < ?3 "
                            "AND " +
                            meant() + FLOR_FIRST_RANK "ORDER BY run.id DESC LIMIT 1",
                        *id, commit, prefix_end(commit));
    if (run) return run;
    throw NotFound(fmt::format("no run of '{}' was recorded at commit {}: see `flor log {}`", name,
                               commit, name));
  }

  std::optional<Run> no_experiment(std::string_view name) {
    if (meant_ == Meant::ours) return std::nullopt;  // it may be a fetched run's, or a key
    throw NotFound(fmt::format("there is no experiment '{}': {}", name, advice(name)));
  }

  void require_one_commit(std::int64_t id, const std::string& prefix) {
    const std::string end = prefix_end(prefix);
    const auto rows = database_.connection(
        "SELECT DISTINCT version FROM run LEFT JOIN origin ON origin.run = run.id WHERE " +
            meant() + "experiment = ?1 AND version >= ?2 AND version < ?3 ORDER BY version LIMIT 4",
        id, prefix, end);
    std::vector<std::string> versions;
    while (rows->step()) versions.push_back(rows->text(0).substr(0, 12));
    if (versions.size() > 1) throw_ambiguous(prefix, versions);
  }

  /// True if the text consists of hex digits, but too few to identify a run.
  bool begins_a_key() {
    const std::string prefix = lower(spec_);
    if (prefix.empty() || prefix.size() >= kPrefixMin || !is_hex(prefix)) return false;
    return database_
        .connection("SELECT 1 FROM run WHERE key >= ?1 AND key < ?2", prefix, prefix_end(prefix))
        ->step();
  }

  std::optional<Run> by_key() {
    const std::string prefix = lower(spec_);
    constexpr std::size_t kKeySize = 16;
    if (prefix.size() < kPrefixMin || prefix.size() > kKeySize || !is_hex(prefix)) {
      return std::nullopt;
    }
    const std::string end = prefix_end(prefix);
    auto runs = read_runs(database_,
                          FLOR_RUN_COLUMNS "WHERE run.key >= ?1 AND run.key < ?2 AND " +
                              is_present() + "ORDER BY run.key LIMIT 4",
                          prefix, end);
    if (runs.size() > 1) {
      std::vector<std::string> keys;
      for (const Run& run : runs) keys.push_back(run.key);
      throw_ambiguous(prefix, keys);
    }
    if (runs.empty()) return std::nullopt;
    return std::move(runs.front());
  }

  [[noreturn]] static void throw_ambiguous(const std::string& prefix,
                                           const std::vector<std::string>& candidates) {
    std::string list;
    for (const std::string& candidate : candidates) {
      list += (list.empty() ? "" : ", ") + candidate;
    }
    throw UsageError(fmt::format("'{}' is ambiguous ({}): give more of its digits", prefix, list));
  }

  std::string advice(std::string_view wrong) {
    std::vector<std::string> names;
    const auto rows = database_.connection("SELECT name FROM experiment");
    while (rows->step()) names.push_back(rows->text(0));
    std::string list;
    for (const std::string& name : nearest(wrong, names)) {
      list += fmt::format("{}'{}'", list.empty() ? "" : " or ", name);
    }
    return list.empty() ? "`flor list` shows what there is" : "did you mean " + list + "?";
  }

  Database& database_;
  std::string_view spec_;
  RunPresence presence_;
  Meant meant_ = Meant::ours;
};

}  // namespace

std::string_view to_string(RunOrigin::Kind kind) {
  switch (kind) {
    case RunOrigin::Kind::recorded:
      return "recorded";
    case RunOrigin::Kind::fetched:
      return "fetched";
    case RunOrigin::Kind::imported:
      return "imported";
  }
  return "unknown";
}

std::string_view to_string(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::finished:
      return "finished";
    case RunState::failed:
      return "failed";
    case RunState::interrupted:
      return "interrupted";
    case RunState::imported:
      return "imported";
  }
  return "unknown";
}

Catalog::Catalog(std::shared_ptr<Database> database) : database_(std::move(database)) {}
Catalog::~Catalog() = default;

namespace {

/// Returns the id of rank 0's run with this key; 0 if the key is empty, as the run is rank 0
/// itself.
std::int64_t leader_of(Connection& connection, const std::string& key) {
  if (key.empty()) return 0;
  const auto row = connection("SELECT id FROM run WHERE key = ?1", key);
  if (row->step()) return row->integer(0);
  throw NotFound(fmt::format("run {} leads a group and is not there", key));
}

std::string key_of(Connection& connection, std::int64_t run) {
  const auto row = connection("SELECT key FROM run WHERE id = ?1", run);
  return row->step() ? row->text(0) : std::string();
}

}  // namespace

std::int64_t apply_run(Database& database, const RunEvent& event) {
  Connection& connection = database.connection;
  const NewRun& run = event.start;
  const std::string command = to_json(run.command.words());
  const std::string environment = to_json(run.environment);
  const std::int64_t experiment = intern(connection, "experiment", "name", run.experiment);
  connection(
      "INSERT INTO run (key, experiment, started_us, version, repository, directory, program, "
      "program_digest, command, environment) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      event.key, experiment, run.started_us, run.commit, run.repository, run.directory, run.program,
      run.program_digest, command, intern(connection, "environment", "json", environment))
      ->run();
  const std::int64_t id = connection.last_id();
  put_origin(connection, id, event.origin);
  if (event.build) insert_build(connection, id, *event.build);
  if (run.rank) {
    const std::int64_t leader = leader_of(connection, event.leader);
    add_rank(connection, id, {leader != 0 ? leader : id, run.rank->rank, run.rank->world});
  }
  remember_name(connection, id);
  if (run.rank) take_name_of_group(connection, id);
  return id;
}

Run Catalog::add_run(const NewRun& run, const std::optional<RunBuild>& build,
                     const RunOrigin& origin) {
  Writing writing(*database_);
  RunEvent event{.key = run.key.empty() ? new_run_key() : run.key,
                 .start = run,
                 .leader = {},
                 .build = build,
                 .origin = origin};
  if (run.rank && run.rank->group != 0)
    event.leader = key_of(writing.connection(), run.rank->group);
  Run added;
  added.id = apply_run(*database_, event);
  writing.note(added.id, event);
  writing.commit();
  added.key = event.key;
  added.start = run;
  if (run.rank && run.rank->group == 0) added.start.rank->group = added.id;
  added.origin = origin;
  return added;
}

void apply(Database& database, std::int64_t run, const DropEvent&) {
  Connection& connection = database.connection;
  // Deletes results that arrived with this run only.
  connection(
      "DELETE FROM job WHERE id IN (SELECT job FROM fetched_result GROUP BY job HAVING "
      "count(*) = 1 AND max(run) = (SELECT key FROM run WHERE id = ?1))",
      run)
      ->run();
  connection("DELETE FROM fetched_result WHERE run = (SELECT key FROM run WHERE id = ?1)", run)
      ->run();
  const std::optional<std::string> root = repository_named_by(connection, run);
  connection("DELETE FROM run WHERE id = ?1", run)->run();
  if (root) name_again(connection, *root);
  if (connection("SELECT 1 FROM absent_object LIMIT 1")->step()) {
    connection(
        "DELETE FROM absent_object WHERE lower(hex(digest)) NOT IN (SELECT value FROM value "
        "WHERE type IN (5, 7))")
        ->run();
  }
  connection("DELETE FROM experiment WHERE id NOT IN (SELECT experiment FROM run)")->run();
  connection("DELETE FROM recipe WHERE id NOT IN (SELECT recipe FROM build)")->run();
  database.series.clear();
}

void Catalog::drop_run(std::int64_t run) { store::drop_run(*database_, run); }

void apply(Database& database, std::int64_t run, const EndEvent& event) {
  database
      .connection("UPDATE run SET finished_us = ?2, failed = ?3, message = ?4 WHERE id = ?1", run,
                  event.finished_us, event.failed, event.message.text())
      ->run();
  pack_values(database.connection, run);
}

void Catalog::finish_run(std::int64_t run, std::int64_t finished_us, bool failed,
                         std::string_view message, const UnwrittenRest& rest) {
  write_last(*database_, run, EndEvent{finished_us, failed, message}, rest);
  ring_checkpoint(*database_);
}

void Catalog::say_in_journal(std::int64_t run) {
  const Lock lock(database_->mutex);
  SaidRun said{.key = key_of(database_->connection, run)};
  if (said.key.empty()) throw NotFound(fmt::format("there is no run {} in the catalog", run));
  const auto last =
      database_->connection("SELECT coalesce(max(last_us), 0) FROM journal WHERE run = ?1", run);
  last->step();
  said.last_us = last->integer(0);
  database_->said.emplace(run, std::move(said));
}

bool Catalog::follow() const { return store::follow(*database_); }

void apply(Database& database, std::int64_t run, const ReopenEvent&) {
  database
      .connection("UPDATE run SET finished_us = NULL, failed = NULL, message = '' WHERE id = ?1",
                  run)
      ->run();
}

void Catalog::reopen_run(std::int64_t run) { write(*database_, run, ReopenEvent{}); }

void apply(Database& database, std::int64_t run, const OriginEvent& event) {
  put_origin(database.connection, run, event.origin);
}

std::optional<std::string> Catalog::last_name(std::string_view repository) const {
  const Lock lock(database_->mutex);
  const auto row =
      database_->connection("SELECT experiment FROM repository WHERE root = ?1", repository);
  if (!row->step()) return std::nullopt;
  return row->text(0);
}

std::vector<std::string> Catalog::experiments() const {
  const Lock lock(database_->mutex);
  std::vector<std::string> names;
  const auto rows = database_->connection(
      "SELECT name FROM experiment WHERE EXISTS (SELECT 1 FROM run WHERE run.experiment = "
      "experiment.id AND NOT " FLOR_IS_REMOVED("run.id") ") ORDER BY name");
  while (rows->step()) names.push_back(rows->text(0));
  return names;
}

std::size_t Catalog::count_runs(std::string_view experiment, std::size_t most) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      experiment.empty()
          ? "SELECT count(*) FROM (SELECT 1 FROM run WHERE NOT " FLOR_IS_REMOVED(
                "run.id") "LIMIT ?1)"
          : "SELECT count(*) FROM (SELECT 1 FROM run WHERE experiment = (SELECT id FROM experiment "
            "WHERE name = ?2) AND NOT " FLOR_IS_REMOVED("run.id") "LIMIT ?1)");
  row->bind(1, rows_of(most));
  if (!experiment.empty()) row->bind(2, experiment);
  row->step();
  return static_cast<std::size_t>(row->integer(0));
}

void Catalog::each_run(Run& run, const std::function<bool()>& visit,
                       const RunListing& listing) const {
  const Lock lock(database_->mutex);
  const bool all = listing.ranks == RunRanks::all;
  const std::string columns =
      listing.detail == RunDetail::all ? FLOR_RUN_COLUMNS : FLOR_RUN_SUMMARY FLOR_RUN_TABLES;
  RunReader reader(*database_, listing.detail);
  std::size_t left = listing.limit;
  const auto visit_rows = [&](Query& rows) {
    while (left > 0 && rows.step()) {
      --left;
      reader.read(rows, run);
      if (!visit()) left = 0;
    }
  };
  const std::string chosen =
      fmt::format("{}AND (?1 OR " FLOR_FIRST_RANK ") ",
                  listing.presence == RunPresence::there ? "NOT " FLOR_IS_REMOVED("run.id")
                  : listing.among                        ? FLOR_IS_REMOVED("run.id")
                                                         : "run.id IN " FLOR_REMOVED_RUNS);
  if (listing.among) {
    // The unfinished statement keeps all reads on one state of the catalog.
    const auto moment = database_->connection("SELECT 1 FROM run");
    moment->step();
    for (const std::int64_t id : *listing.among) {
      if (left == 0) return;
      visit_rows(*database_->connection(
          columns + "WHERE run.id = ?2 AND (?3 = '' OR experiment.name = ?3) AND " + chosen, all,
          id, listing.experiment));
    }
  } else if (listing.experiment.empty()) {
    visit_rows(*database_->connection(columns + "WHERE " + chosen + "ORDER BY run.id DESC LIMIT ?2",
                                      all, rows_of(listing.limit)));
  } else {
    visit_rows(*database_->connection(
        columns + "WHERE experiment.name = ?2 AND " + chosen + "ORDER BY run.id DESC LIMIT ?3", all,
        listing.experiment, rows_of(listing.limit)));
  }
}

std::vector<Run> Catalog::runs(std::string_view experiment, std::size_t limit, RunDetail detail,
                               RunRanks ranks) const {
  std::vector<Run> runs;
  Run run;
  const auto keep = [&] {
    runs.push_back(std::move(run));
    return true;
  };
  each_run(run, keep, {experiment, limit, detail, ranks});
  return runs;
}

std::vector<Run> Catalog::ranks(std::int64_t group) const {
  const Lock lock(database_->mutex);
  return read_runs(*database_, FLOR_RUN_COLUMNS "WHERE rank_run.leader = ?1 ORDER BY rank_run.rank",
                   group);
}

std::optional<Run> Catalog::run(std::int64_t id) const {
  const Lock lock(database_->mutex);
  return read_run(*database_, FLOR_RUN_COLUMNS "WHERE run.id = ?1", id);
}

Run Catalog::resolve(std::string_view spec, RunPresence presence) const {
  const Lock lock(database_->mutex);
  return Resolver(*database_, spec, presence).resolve();
}

std::vector<Run> Catalog::passed_over(std::string_view spec) const {
  const Lock lock(database_->mutex);
  return Resolver(*database_, spec, RunPresence::there).passed_over();
}

}  // namespace flor::store
