// The queue in the catalog: evaluators, what people ask for, and the bell.
#include "database/store_impl.h"
#include "file/home_files.h"
#include "queue/catalog_queue.h"
#include "queue/jobs.h"
#include "queue/queue_change.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// What `read_job` reads of `job` joined with `job_result`; the result follows.
constexpr const char* kJobColumns =
    "id, job.token, content, evaluator, arguments, path, priority, state, attempts, owner, "
    "added_us, due_us, leased_us, lease_until_us, finished_us, message";

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

std::vector<Job> read_jobs(Connection& connection, const JobFilter& filter) {
  const auto row = connection(fmt::format(
      "SELECT {}, json FROM job LEFT JOIN job_result ON job = id ORDER BY id", kJobColumns));
  std::vector<Job> jobs;
  while (row->step()) {
    Job job = read_job(*row);
    if (filter.accepts(job)) jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

bool JobFilter::accepts(const Job& job) const {
  return (!state || job.state == *state) && (!evaluator || job.what.evaluator == *evaluator) &&
         (ids.empty() || ids.contains(job.lease.job));
}

/// Executes `sql`, which changes the job ?1, for each that is accepted.
template <typename Accept, typename... Values>
std::int64_t CatalogQueue::change(const JobFilter& filter, const char* sql, Accept accept,
                                  const Values&... values) {
  QueueChange change(*database_, clock_());
  std::int64_t count = 0;
  for (const Job& job : read_jobs(change.connection(), filter)) {
    if (!accept(job.state)) continue;
    change.forgets(job.lease.job);
    change.connection()(sql, job.lease.job, values...)->run();
    change.ended(job.lease.job);
    ++count;
  }
  change.commit();
  database_->evaluations.sync();
  if (count > 0) ring();
  return count;
}

std::int64_t CatalogQueue::add_evaluator(std::string_view spec, std::string_view digest) {
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

std::vector<Evaluator> CatalogQueue::evaluators() const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection("SELECT id, spec, digest FROM evaluator ORDER BY id");
  std::vector<Evaluator> all;
  while (row->step()) {
    all.push_back({.id = row->integer(0), .spec = row->text(1), .digest = row->text(2)});
  }
  return all;
}

std::vector<Job> CatalogQueue::jobs(const JobFilter& filter) const {
  const Lock lock(database_->mutex);
  const ReadTransaction transaction(database_->connection);
  return read_jobs(database_->connection, filter);
}

std::int64_t CatalogQueue::retry(const JobFilter& filter) {
  return change(filter,
                "UPDATE job SET state = 0, attempts = 0, due_us = 0, finished_us = NULL, "
                "message = '' WHERE id = ?1",
                [](JobState state) {
                  return state == JobState::failed || state == JobState::dead ||
                         state == JobState::cancelled;
                });
}

std::int64_t CatalogQueue::cancel(const JobFilter& filter) {
  return change(
      filter,
      "UPDATE job SET state = 5, token = token + 1, owner = '', finished_us = ?2 "
      "WHERE id = ?1",
      [](JobState state) { return state != JobState::done && state != JobState::cancelled; },
      clock_());
}

std::int64_t CatalogQueue::drop(const JobFilter& filter) {
  return change(filter, "DELETE FROM job WHERE id = ?1", [](JobState) { return true; });
}

CatalogQueue::~CatalogQueue() {
  if (bell_ >= 0) ::close(bell_);
}

void CatalogQueue::ring() const {
  const std::string path = database_->paths.bell().string();
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

int CatalogQueue::bell() {
  if (bell_ >= 0) return bell_;
  const std::filesystem::path path = database_->paths.bell();
  const int file = open_in_home(path, O_WRONLY | O_CREAT);
  if (file < 0) throw_system_error("create", path, errno);
  ::close(file);
  bell_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (bell_ < 0 || ::inotify_add_watch(bell_, path.c_str(), IN_ATTRIB) < 0) {
    throw_system_error("watch", path, errno);
  }
  return bell_;
}

bool CatalogQueue::hush() {
  char events[4096];
  bool rang = false;
  while (bell_ >= 0 && ::read(bell_, events, sizeof events) > 0) rang = true;
  return rang;
}

}  // namespace flor::store
