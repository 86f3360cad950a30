#include "queue/queue_file.h"

#include "database/vfs/short_path.h"
#include "index/refresh.h"
#include "index/values/logged_evaluations.h"
#include "journal/run_journal.h"
#include "queue/job_queue.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using Lock = std::lock_guard<std::recursive_mutex>;

/// The tables of a queue, each with the condition for rows to take from an old index. Results that
/// came with fetched runs are not jobs of this home.
constexpr std::pair<const char*, const char*> kKeptTables[] = {
    {"evaluator", "1"},
    {"job", "id NOT IN (SELECT job FROM old.fetched_result)"},
    {"job_result", "job NOT IN (SELECT job FROM old.fetched_result)"},
    {"watch", "1"},
    {"sighting", "1"},
    {"watcher", "1"},
    {"watcher_place", "1"},
    {"queue", "1"},
    {"queue_job", "1"}};

/// Attaches another database under the name `old` while this object exists.
class Attached {
 public:
  Attached(Connection& to, const fs::path& file) : to_(to), name_(file) {
    to("ATTACH ?1 AS old", std::string_view(name_.text()))->run();
  }
  ~Attached() {
    try {
      to_.execute("DETACH old");
    } catch (const Error&) {
      return;  // it is detached when the connection is closed
    }
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// Copies rows; those that exist already are not changed.
  void copy(const char* table, const char* condition) {
    to_.execute(fmt::format("INSERT OR IGNORE INTO main.{0} SELECT * FROM old.{0} WHERE {1}", table,
                            condition)
                    .c_str());
  }

 private:
  Connection& to_;
  ShortPath name_;
};

/// Copies those tables of a damaged queue that can be read. If none can, the ends of evaluations
/// are still in the logs.
void salvage(Connection& to, const fs::path& from) {
  try {
    Attached old(to, from);
    for (const auto& [table, condition] : kKeptTables) {
      try {
        old.copy(table, "1");
      } catch (const Error&) {
        continue;
      }
    }
  } catch (const Error&) {
    return;
  }
}

/// Copies all tables at once from an old index, written before queues had a database of their own.
void copy_from_index(Connection& to, const fs::path& index) {
  to.choose(Kept::here);
  Attached old(to, index);
  to.execute("BEGIN");
  try {
    for (const auto& [table, condition] : kKeptTables) old.copy(table, condition);
    to.execute("COMMIT");
  } catch (...) {
    to.roll_back();
    throw;
  }
}

bool is_of_older_index(Database& database) { return has_table(database.connection, "sighting"); }

/// The job that an event refers to.
struct KnownJob {
  std::int64_t id = 0;
  JobState state = JobState::queued;
  std::int64_t finished_us = 0;  ///< 0: it has not ended
};

std::optional<KnownJob> find_job(Connection& connection, const EvaluationEvent& event,
                                 std::int64_t evaluator) {
  const auto row = connection(
      "SELECT id, state, coalesce(finished_us, 0) FROM job WHERE content = ?1 AND evaluator = ?2 "
      "AND arguments = ?3",
      event.content, evaluator, event.arguments);
  if (!row->step()) return std::nullopt;
  return KnownJob{row->integer(0), static_cast<JobState>(row->integer(1)), row->integer(2)};
}

/// Enters the latest event that the logs have about an evaluation.
void enter(Connection& connection, const EvaluationEvent& event) {
  const std::int64_t evaluator = put_evaluator(connection, event.spec, event.digest);
  const auto known = find_job(connection, event, evaluator);
  if (event.end == EvaluationEnd::forgotten) {
    // The event is from a process that was killed while it deleted the job. A job that was queued
    // again meanwhile stays.
    if (known && known->state == JobState::done && known->finished_us <= event.at_us) {
      connection("DELETE FROM job WHERE id = ?1", known->id)->run();
    }
    return;
  }
  if (known && known->finished_us != 0 && known->finished_us >= event.finished_us) return;
  // The id changes with the row, so that a worker that still has a lease of the old job is refused.
  if (known) connection("DELETE FROM job WHERE id = ?1", known->id)->run();
  const bool done = event.end == EvaluationEnd::done;
  connection(
      "INSERT INTO job (content, evaluator, arguments, path, priority, state, attempts, token, "
      "owner, added_us, due_us, finished_us, message) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?9, ?9, ?10)",
      event.content, evaluator, event.arguments, event.path, event.priority,
      static_cast<std::int64_t>(event.end), event.attempts, event.token, event.finished_us,
      done ? std::string() : event.text)
      ->run();
  if (!done) return;
  connection("INSERT INTO job_result (job, token, json) VALUES (?1, ?2, ?3)", connection.last_id(),
             event.token, event.text)
      ->run();
}

void enter_own(Connection& connection, const std::vector<EvaluationEvent>& events) {
  for (const EvaluationEvent& event : events) {
    if (event.run.empty()) enter(connection, event);
  }
}

/// Logs ends of jobs that the queue has and no log has: a power loss may have taken the end of a
/// log after the queue had read it.
void say_again(QueueFile& queue, const std::vector<EvaluationEvent>& events) {
  std::map<std::tuple<Digest, std::string, std::string, std::string>, std::int64_t> said;
  for (const EvaluationEvent& event : events) {
    if (!event.run.empty()) continue;
    said[{event.content, event.spec, event.digest, event.arguments}] =
        event.end == EvaluationEnd::forgotten ? event.at_us : event.finished_us;
  }
  const auto rows = queue.connection(
      "SELECT content, spec, evaluator.digest, arguments, state, path, priority, attempts, "
      "job.token, coalesce(json, message), finished_us FROM job JOIN evaluator ON evaluator.id = "
      "job.evaluator LEFT JOIN job_result ON job_result.job = job.id WHERE state IN (3, 4, 5) AND "
      "finished_us IS NOT NULL ORDER BY finished_us");
  while (rows->step()) {
    EvaluationEvent event;
    event.content = rows->digest(0);
    event.spec = rows->text(1);
    event.digest = rows->text(2);
    event.arguments = rows->text(3);
    event.end = static_cast<EvaluationEnd>(rows->integer(4));
    event.path = rows->text(5);
    event.priority = rows->integer(6);
    event.attempts = rows->integer(7);
    event.token = rows->integer(8);
    event.text = rows->text(9);
    event.at_us = event.finished_us = rows->integer(10);
    const auto known = said.find({event.content, event.spec, event.digest, event.arguments});
    if (known != said.end() && known->second >= event.finished_us) continue;
    queue.evaluations.append(event);
  }
}

/// Returns logs that the queue was following and whose writers have ended. It is not known yet how
/// much of them is durable.
std::vector<fs::path> ended_logs(QueueFile& queue) {
  std::vector<fs::path> ended;
  const auto rows = queue.connection("SELECT name FROM evaluation_log WHERE NOT ended");
  while (rows->step()) {
    const fs::path path = queue.paths.evaluations() / rows->text(0);
    if (!is_written(queue.files, path)) ended.push_back(path);
  }
  return ended;
}

/// Writes the undamaged events of torn logs to a new log; the queue has entered all of them.
/// Returns the torn logs, which are removed once the new one is durable.
std::vector<fs::path> say_torn_again(QueueFile& queue, const std::vector<fs::path>& ended) {
  std::vector<fs::path> torn;
  for (const fs::path& path : ended) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    std::vector<std::string> damage;
    const auto sound = read_evaluation_log(queue.files, path, damage);
    if (damage.empty()) continue;
    for (const EvaluationEvent& event : sound) queue.evaluations.append(event);
    torn.push_back(path);
  }
  return torn;
}

/// Makes the queue and the logs agree. They differ only if a process was killed, the power was
/// lost, or one of them is new.
void catch_up(QueueFile& queue, bool anew) {
  const Lock lock(queue.mutex);
  const auto differs = [&] {
    return anew || differ_from(queue.paths, log_positions(queue.connection)) ||
           !ended_logs(queue).empty();
  };
  if (!differs()) return;
  // The transaction prevents other processes from changing the queue or its logs meanwhile.
  Transaction transaction(queue.connection);
  if (!differs()) return;
  const std::vector<fs::path> ended = ended_logs(queue);
  std::vector<std::string> closed;  // logs that will not grow any more
  for (const fs::path& path : find_evaluation_logs(queue.paths)) {
    if (!is_written(queue.files, path)) closed.push_back(path.filename().string());
  }
  std::vector<std::string> damage;
  LogPositions all;
  const auto events = read_evaluations(queue.files, queue.paths, all, damage);
  enter_own(queue.connection, events);
  try {
    say_again(queue, events);
    const std::vector<fs::path> torn = say_torn_again(queue, ended);
    queue.evaluations.sync();
    for (const fs::path& path : torn) {
      fs::remove(path);
      all.erase(path.filename().string());
    }
    if (const auto own = queue.evaluations.position())
      all.insert_or_assign(own->first, own->second);
    put_log_positions(queue.connection, all);
    for (const std::string& name : closed) {
      queue.connection("UPDATE evaluation_log SET ended = 1 WHERE name = ?1", name)->run();
    }
    transaction.commit();
  } catch (...) {
    queue.evaluations.take_back();
    throw;
  }
  queue.evaluations.keep();
}

/// Logs results that came with fetched runs, which only the old index has.
void log_fetched(Database& database, QueueFile& queue) {
  {
    const auto rows = database.connection(
        "SELECT content, spec, evaluator.digest, arguments, path, priority, json, finished_us, "
        "fetched_result.run FROM fetched_result JOIN job ON job.id = fetched_result.job JOIN "
        "job_result ON job_result.job = job.id JOIN evaluator ON evaluator.id = job.evaluator");
    while (rows->step()) {
      EvaluationEvent event;
      event.content = rows->digest(0);
      event.spec = rows->text(1);
      event.digest = rows->text(2);
      event.arguments = rows->text(3);
      event.end = EvaluationEnd::done;
      event.path = rows->text(4);
      event.priority = rows->integer(5);
      event.attempts = event.token = 1;
      event.text = rows->text(6);
      event.at_us = event.finished_us = rows->integer(7);
      event.run = rows->text(8);
      queue.evaluations.append(event);
    }
  }
  queue.evaluations.sync();
  queue.evaluations.keep();
}

/// Moves the tables of a queue from an old index. They are dropped there after the queue has
/// everything.
void move_from_index(Database& database, QueueFile& queue) {
  {
    const Lock lock(queue.mutex);
    const bool is_new =
        !queue.connection("SELECT 1 FROM job UNION ALL SELECT 1 FROM watch")->step();
    if (is_new) copy_from_index(queue.connection, database.paths.catalog());
    log_fetched(database, queue);
  }
  catch_up(queue, true);
  Transaction transaction(database.connection);
  for (const char* table :
       {"queue_job", "queue", "watcher_place", "watcher", "sighting", "watch"}) {
    database.connection.execute(fmt::format("DROP TABLE IF EXISTS {}", table).c_str());
  }
  database.connection.execute("DELETE FROM job WHERE finished_us IS NULL");
  transaction.commit();
}

std::int64_t count(Connection& connection, const char* condition) {
  const auto row = connection(fmt::format("SELECT count(*) FROM job WHERE {}", condition));
  row->step();
  return row->integer(0);
}

/// Returns a description of the queue's content, for messages.
std::string contents_of(Connection& connection) {
  const std::int64_t ended = count(connection, "finished_us IS NOT NULL"),
                     wait = count(connection, "finished_us IS NULL");
  return fmt::format("{} evaluation{} that ended and {} that wait{}", ended, ended == 1 ? "" : "s",
                     wait, wait == 1 ? "s" : "");
}

void make_again(const Paths& paths, Filesystem& filesystem) {
  const RemakingLock lock(filesystem, paths, "queue");
  const FileState state = look_at(paths.queue(), kQueueForm);
  if (state != FileState::damaged && state != FileState::older) return;  // rebuilt already
  DatabaseInTheMaking making(paths.new_queue());
  std::string contents;
  {
    QueueFile made(paths, paths.new_queue(), OpenMode::create, filesystem);
    salvage(made.connection, paths.queue());
    catch_up(made, true);
    contents = contents_of(made.connection);
    settle(made.connection);
  }
  making.replace(paths.queue(), filesystem);
  std::error_code error;
  fs::remove(damage_mark(paths.queue()), error);
  sync_directory(filesystem, paths.home);
  std::fprintf(
      stderr, "flor: %s\n",
      fmt::format("the queue {0} was {1}: it was made again with {2}; the old one is {0}.old",
                  paths.queue().string(), name_of(state), contents)
          .c_str());
}

/// Makes a queue in memory, for processes that only read.
std::shared_ptr<QueueFile> make_in_memory(Database& database, FileState state) {
  auto made = std::make_shared<QueueFile>(database.paths, database.files);
  if (state == FileState::missing) {
    if (is_of_older_index(database)) copy_from_index(made->connection, database.paths.catalog());
  } else {
    salvage(made->connection, database.paths.queue());
  }
  std::vector<std::string> damage;
  LogPositions all;
  const auto events = read_evaluations(database.files, database.paths, all, damage);
  if (events.empty() && state == FileState::missing) return made;
  Transaction transaction(made->connection);
  enter_own(made->connection, events);
  transaction.commit();
  static std::once_flag said;
  if (state != FileState::missing) {
    std::call_once(said, [&] {
      std::fprintf(
          stderr, "flor: %s\n",
          fmt::format("the queue {} was {}: what can be read is shown, {}; `flor watch` makes "
                      "it again",
                      database.paths.queue().string(), name_of(state),
                      contents_of(made->connection))
              .c_str());
    });
  }
  return made;
}

}  // namespace

QueueFile::QueueFile(const Paths& store_paths, const fs::path& file, OpenMode open_mode,
                     Filesystem& filesystem)
    : OpenFile(store_paths, file, kQueueForm, open_mode, filesystem), evaluations(files, paths) {}

QueueFile::QueueFile(const Paths& store_paths, Filesystem& filesystem)
    : OpenFile(store_paths, kQueueForm, filesystem), evaluations(files, paths) {}

std::shared_ptr<QueueFile> queue_of(Database& database, QueueUse use) {
  const Lock lock(database.mutex);
  const bool changes = use == QueueUse::change && database.mode != OpenMode::read_only;
  const fs::path file = database.paths.queue();
  const FileState state = look_at(file, kQueueForm);
  if (database.queue && (state != FileState::sound || database.queue->is_replaced())) {
    database.queue.reset();
  }
  if (!changes && state != FileState::sound) return make_in_memory(database, state);
  if (state == FileState::damaged || state == FileState::older) {
    make_again(database.paths, database.files);
  }
  if (!database.queue) {
    const OpenMode mode = changes ? OpenMode::create : database.mode;
    database.queue = std::make_shared<QueueFile>(database.paths, file, mode, database.files);
  }
  if (changes) {
    if (is_of_older_index(database)) move_from_index(database, *database.queue);
    catch_up(*database.queue, false);
  }
  return database.queue;
}

void doubt_queue(const Database& database) {
  const fs::path file = database.paths.queue();
  std::error_code error;
  if (!fs::exists(file, error)) return;
  try {
    const auto connection = open_for_reading(database.paths, file);
    const auto problems = (*connection)("PRAGMA integrity_check(1)");
    if (problems->step() && problems->text_view(0) != "ok") remember_damage(file);
  } catch (const Damaged&) {
    remember_damage(file);
  }
}

}  // namespace flor::store
