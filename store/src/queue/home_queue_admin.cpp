// The home's queue: evaluators, requests of the user, and the bell.
#include "database/store_impl.h"
#include "file/home_files.h"
#include "index/values/logged_evaluations.h"
#include "queue/home_queue.h"
#include "queue/job_queue.h"
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

/// The columns that `read_job` expects from `job` joined with `job_result`; the result comes last.
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

/// Executes `sql`, in which ?1 is the job's id, for each job that the filter and `accept` admit.
template <typename Accept, typename... Values>
std::int64_t HomeQueue::change(const JobFilter& filter, const char* sql, Accept accept,
                               const Values&... values) {
  QueueChange change(*queue_, clock_());
  std::int64_t count = 0;
  for (const Job& job : read_jobs(change.connection(), filter)) {
    if (!accept(job.state)) continue;
    change.forgets(job.lease.job);
    change.connection()(sql, job.lease.job, values...)->run();
    change.ended(job.lease.job);
    ++count;
  }
  change.commit();
  queue_->evaluations.sync();
  if (count > 0) ring();
  return count;
}

std::int64_t HomeQueue::add_evaluator(std::string_view spec, std::string_view digest) {
  QueueChange change(*queue_, clock_());
  const std::int64_t id = put_evaluator(change.connection(), spec, digest);
  change.commit();
  return id;
}

std::vector<Evaluator> HomeQueue::evaluators() const {
  const auto queue = seen();
  const Lock lock(queue->mutex);
  const auto row = queue->connection("SELECT id, spec, digest FROM evaluator ORDER BY id");
  std::vector<Evaluator> all;
  while (row->step()) {
    all.push_back({.id = row->integer(0), .spec = row->text(1), .digest = row->text(2)});
  }
  return all;
}

std::vector<Job> HomeQueue::jobs(const JobFilter& filter) const {
  const auto queue = seen();
  const Lock lock(queue->mutex);
  const ReadTransaction transaction(queue->connection);
  return read_jobs(queue->connection, filter);
}

std::int64_t HomeQueue::retry(const JobFilter& filter) {
  return change(filter,
                "UPDATE job SET state = 0, attempts = 0, due_us = 0, finished_us = NULL, "
                "message = '' WHERE id = ?1",
                [](JobState state) {
                  return state == JobState::failed || state == JobState::dead ||
                         state == JobState::cancelled;
                });
}

std::int64_t HomeQueue::cancel(const JobFilter& filter) {
  return change(
      filter,
      "UPDATE job SET state = 5, token = token + 1, owner = '', finished_us = ?2 "
      "WHERE id = ?1",
      [](JobState state) { return state != JobState::done && state != JobState::cancelled; },
      clock_());
}

std::int64_t HomeQueue::drop(const JobFilter& filter) {
  return change(filter, "DELETE FROM job WHERE id = ?1", [](JobState) { return true; });
}

HomeQueue::~HomeQueue() {
  if (bell_ >= 0) ::close(bell_);
}

void HomeQueue::ring() const {
  const std::string path = database_->paths.bell().string();
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

int HomeQueue::bell() {
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

bool HomeQueue::hush() {
  char events[4096];
  bool rang = false;
  while (bell_ >= 0 && ::read(bell_, events, sizeof events) > 0) rang = true;
  return rang;
}

}  // namespace flor::store
