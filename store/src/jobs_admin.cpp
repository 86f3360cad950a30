// JobQueue: evaluators, watches, and what people ask for.
#include "job_rows.h"
#include "store_impl.h"

#include <flor/store/error.h>
#include <flor/store/jobs.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

bool matches(const JobFilter& filter, const Job& job) {
  return (!filter.state || job.state == *filter.state) &&
         (!filter.evaluator || job.what.evaluator == *filter.evaluator) &&
         (filter.ids.empty() || std::ranges::find(filter.ids, job.lease.job) != filter.ids.end());
}

std::vector<Job> read_jobs(Connection& connection, const JobFilter& filter) {
  const auto row = connection(fmt::format(
      "SELECT {}, json FROM job LEFT JOIN job_result ON job = id ORDER BY id", kJobColumns));
  std::vector<Job> jobs;
  while (row->step()) {
    Job job = read_job(*row);
    if (matches(filter, job)) jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Executes `sql`, which changes the job ?1, for each that is accepted.
template <typename Accept, typename... Values>
std::int64_t change(Database& database, const JobFilter& filter, const char* sql, Accept accept,
                    const Values&... values) {
  const Lock lock(database.mutex);
  Transaction transaction(database.connection);
  std::int64_t count = 0;
  for (const Job& job : read_jobs(database.connection, filter)) {
    if (!accept(job.state)) continue;
    database.connection(sql, job.lease.job, values...)->run();
    ++count;
  }
  transaction.commit();
  if (count > 0) ring(database);
  return count;
}

}  // namespace

Job read_job(const Query& row) {
  const auto when = [&](int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.integer(column));
  };
  return {.lease = {row.integer(0), row.integer(1)},
          .what = {.content = row.digest(2),
                   .evaluator = row.integer(3),
                   .arguments = row.text(4),
                   .path = row.text(5),
                   .priority = row.integer(6)},
          .state = static_cast<JobState>(row.integer(7)),
          .attempts = row.integer(8),
          .owner = row.text(9),
          .added_us = row.integer(10),
          .due_us = row.integer(11),
          .leased_us = when(12),
          .lease_until_us = when(13),
          .finished_us = when(14),
          .message = row.text(15),
          .result = row.text(16)};
}

void put_sightings(Connection& connection, const std::vector<Sighting>& sightings) {
  for (const Sighting& sighting : sightings) {
    connection(
        "INSERT OR REPLACE INTO sighting (watch, path, device, inode, bytes, modified_ns, content) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        sighting.watch, sighting.path, sighting.file.device, sighting.file.inode,
        sighting.file.bytes, sighting.file.modified_ns, sighting.content)
        ->run();
  }
}

std::int64_t JobQueue::add_evaluator(std::string_view spec, std::string_view digest) {
  const Lock lock(database_->mutex);
  Connection& connection = database_->connection;
  Transaction transaction(connection);
  connection("INSERT OR IGNORE INTO evaluator (spec, digest) VALUES (?1, ?2)", spec, digest)->run();
  std::int64_t id = 0;
  {
    const auto row =
        connection("SELECT id FROM evaluator WHERE spec = ?1 AND digest = ?2", spec, digest);
    row->step();
    id = row->integer(0);
  }
  transaction.commit();
  return id;
}

std::vector<Evaluator> JobQueue::evaluators() const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection("SELECT id, spec, digest FROM evaluator ORDER BY id");
  std::vector<Evaluator> all;
  while (row->step()) {
    all.push_back({.id = row->integer(0), .spec = row->text(1), .digest = row->text(2)});
  }
  return all;
}

JobQueue::Watch JobQueue::add_watch(std::string_view directory, std::string_view spec,
                                    std::string_view arguments,
                                    const std::vector<Sighting>& present) {
  const Lock lock(database_->mutex);
  Connection& connection = database_->connection;
  Transaction transaction(connection);
  Watch watch;
  {
    const auto query = connection(
        "INSERT OR IGNORE INTO watch (directory, spec, arguments, began_us) "
        "VALUES (?1, ?2, ?3, ?4)",
        directory, spec, arguments, clock_());
    query->run();
    watch.is_new = query->changes() > 0;
  }
  {
    const auto row =
        connection("SELECT id FROM watch WHERE directory = ?1 AND spec = ?2 AND arguments = ?3",
                   directory, spec, arguments);
    row->step();
    watch.id = row->integer(0);
  }
  if (watch.is_new) {
    std::vector<Sighting> first = present;
    for (Sighting& sighting : first) sighting.watch = watch.id;
    put_sightings(connection, first);
  }
  transaction.commit();
  return watch;
}

std::vector<Sighting> JobQueue::sightings(std::int64_t watch) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT path, device, inode, bytes, modified_ns, content FROM sighting WHERE watch = ?1 "
      "ORDER BY path",
      watch);
  std::vector<Sighting> all;
  while (row->step()) {
    all.push_back({.watch = watch,
                   .path = row->text(0),
                   .file = {row->integer(1), row->integer(2), row->integer(3), row->integer(4)},
                   .content = row->is_null(5) ? std::nullopt : std::optional(row->digest(5))});
  }
  return all;
}

std::vector<Job> JobQueue::jobs(const JobFilter& filter) const {
  const Lock lock(database_->mutex);
  const ReadTransaction transaction(database_->connection);
  return read_jobs(database_->connection, filter);
}

std::int64_t JobQueue::retry(const JobFilter& filter) {
  return change(*database_, filter,
                "UPDATE job SET state = 0, attempts = 0, due_us = 0, finished_us = NULL, "
                "message = '' WHERE id = ?1",
                [](JobState state) {
                  return state == JobState::failed || state == JobState::dead ||
                         state == JobState::cancelled;
                });
}

std::int64_t JobQueue::cancel(const JobFilter& filter) {
  return change(
      *database_, filter,
      "UPDATE job SET state = 5, token = token + 1, owner = '', finished_us = ?2 "
      "WHERE id = ?1",
      [](JobState state) { return state != JobState::done && state != JobState::cancelled; },
      clock_());
}

std::int64_t JobQueue::drop(const JobFilter& filter) {
  return change(*database_, filter, "DELETE FROM job WHERE id = ?1", [](JobState) { return true; });
}

std::filesystem::path JobQueue::bell() const {
  const std::filesystem::path path = database_->paths.bell();
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_system_error("create", path, errno);
  ::close(descriptor);
  return path;
}

}  // namespace flor::store
