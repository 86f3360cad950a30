// The home's queue: requests of coordinators, and the replies.
#include "queue/home_queue.h"

#include "database/store_impl.h"
#include "index/values/evaluated.h"
#include "queue/job_choice.h"
#include "queue/job_queue.h"
#include "queue/queue_change.h"
#include "queue/sighting_rows.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <map>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr std::array<std::string_view, 6> kStates{"queued", "leased", "failed",
                                                  "done",   "dead",   "cancelled"};

/// One call of `exchange`, within its transaction.
class Exchange {
 public:
  Exchange(const QueueFile& queue, QueueChange& change, const JobOrders& orders,
           const std::vector<bool>& answered, std::int64_t now)
      : queue_(queue),
        answered_(answered),
        change_(change),
        connection_(change.connection()),
        orders_(orders),
        now_(now) {}

  JobReplies run();
  bool others_concerned() const { return added_ > leased_; }

 private:
  bool take(const JobReport& report);
  bool finish(const JobReport& report);
  bool fail(const JobReport& report);
  bool add(const NewJob& job);
  void reclaim();
  void lease(const LeaseRequest& request);
  std::vector<std::int64_t> choose(const LeaseRequest& request);
  LeasedJob give(std::int64_t id);
  void note_next();
  bool is_alive(const std::string& owner);

  const QueueFile& queue_;
  const std::vector<bool>& answered_;
  QueueChange& change_;
  Connection& connection_;
  const JobOrders& orders_;
  std::int64_t now_;
  JobReplies replies_;
  std::int64_t added_ = 0, leased_ = 0;
  std::map<std::string, bool> alive_;
};

JobReplies Exchange::run() {
  for (const JobReport& report : orders_.reports) replies_.accepted.push_back(take(report));
  for (std::size_t i = 0; i < orders_.additions.size(); ++i) {
    replies_.same_as.emplace_back();
    replies_.added.push_back(!answered_[i] && add(orders_.additions[i]));
  }
  put_sightings(connection_, orders_.sightings);
  if (orders_.requests.empty()) return std::move(replies_);
  reclaim();
  for (const LeaseRequest& request : orders_.requests) lease(request);
  note_next();
  return std::move(replies_);
}

bool Exchange::take(const JobReport& report) {
  switch (report.kind) {
    case JobReport::Kind::done:
      return finish(report);
    case JobReport::Kind::failed:
      return fail(report);
    case JobReport::Kind::alive: {
      const auto query = connection_(
          "UPDATE job SET lease_until_us = ?3 WHERE id = ?1 AND token = ?2 AND state = 1",
          report.lease.job, report.lease.token, now_ + orders_.lease_us);
      query->run();
      return query->changes() > 0;
    }
    case JobReport::Kind::back: {
      const auto query = connection_(
          "UPDATE job SET state = CASE attempts WHEN 0 THEN 0 ELSE 2 END, owner = '', due_us = ?3 "
          "WHERE id = ?1 AND token = ?2 AND state = 1",
          report.lease.job, report.lease.token, now_);
      query->run();
      return query->changes() > 0;
    }
    case JobReport::Kind::gone: {
      const auto query = connection_("DELETE FROM job WHERE id = ?1 AND token = ?2 AND state = 1",
                                     report.lease.job, report.lease.token);
      query->run();
      return query->changes() > 0;
    }
  }
  return false;
}

bool Exchange::finish(const JobReport& report) {
  const auto query = connection_(
      "UPDATE job SET state = 3, owner = '', finished_us = ?3, message = '' "
      "WHERE id = ?1 AND token = ?2 AND state = 1",
      report.lease.job, report.lease.token, now_);
  query->run();
  if (query->changes() == 0) return false;
  connection_("INSERT INTO job_result (job, token, json) VALUES (?1, ?2, ?3)", report.lease.job,
              report.lease.token, report.text)
      ->run();
  change_.ended(report.lease.job);
  return true;
}

bool Exchange::fail(const JobReport& report) {
  std::int64_t failed = 0;
  {
    const auto row =
        connection_("SELECT attempts FROM job WHERE id = ?1 AND token = ?2 AND state = 1",
                    report.lease.job, report.lease.token);
    if (!row->step()) return false;
    failed = row->integer(0) + 1;
  }
  const bool dead = failed >= orders_.retries.attempts;
  const auto state = dead ? JobState::dead : JobState::failed;
  const std::int64_t due = now_ + backoff_us(orders_.retries, report.lease, failed);
  connection_(
      "UPDATE job SET state = ?2, attempts = ?3, owner = '', due_us = ?4, finished_us = ?5, "
      "message = ?6 WHERE id = ?1",
      report.lease.job, static_cast<int>(state), failed, due,
      dead ? std::optional(now_) : std::nullopt, report.text)
      ->run();
  if (dead) change_.ended(report.lease.job);
  return true;
}

bool Exchange::add(const NewJob& job) {
  const auto query = connection_(
      "INSERT OR IGNORE INTO job (content, evaluator, arguments, path, priority, state, attempts, "
      "token, owner, added_us, due_us, message) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, '', ?6, ?6, "
      "'')",
      job.content, job.evaluator, job.arguments, job.path, job.priority, now_);
  query->run();
  const bool added = query->changes() > 0;
  if (!added) {
    const auto there = connection_(
        "SELECT path FROM job WHERE content = ?1 AND evaluator = ?2 AND arguments = ?3 AND "
        "path <> ?4",
        job.content, job.evaluator, job.arguments, job.path);
    if (there->step()) replies_.same_as.back() = there->text(0);
    // The file was found under this path last, so it is most likely to be there.
    connection_(
        "UPDATE job SET path = ?4 WHERE content = ?1 AND evaluator = ?2 AND arguments = ?3 "
        "AND state IN (0, 2) AND path <> ?4",
        job.content, job.evaluator, job.arguments, job.path)
        ->run();
  }
  added_ += added ? 1 : 0;
  return added;
}

bool Exchange::is_alive(const std::string& owner) {
  const auto [found, is_new] = alive_.try_emplace(owner, false);
  if (is_new) found->second = owner == orders_.owner || is_locked(queue_, owner);
  return found->second;
}

/// Takes jobs from workers that have lost their leases. The job may have killed the worker, or
/// someone else has; this cannot be distinguished, so it does not count as a failed attempt. A
/// lease that was extended once, and whose worker has not called since, ends for good when the
/// extension has passed.
void Exchange::reclaim() {
  std::vector<std::int64_t> lost, late;
  {
    const auto row =
        connection_("SELECT id, owner, lease_until_us, due_us FROM job WHERE state = 1");
    while (row->step()) {
      const bool is_over = row->integer(2) <= now_,
                 was_extended = row->integer(2) == row->integer(3);
      if (!is_alive(row->text(1)) || (is_over && was_extended)) {
        lost.push_back(row->integer(0));
      } else if (is_over) {
        late.push_back(row->integer(0));
      }
    }
  }
  for (const std::int64_t id : late) {
    connection_("UPDATE job SET lease_until_us = ?2, due_us = ?2 WHERE id = ?1", id,
                now_ + std::max<std::int64_t>(1, orders_.lease_us / 2))
        ->run();
  }
  for (const std::int64_t id : lost) {
    connection_(
        "UPDATE job SET state = CASE attempts WHEN 0 THEN 0 ELSE 2 END, owner = '', due_us = ?2 "
        "WHERE id = ?1",
        id, now_)
        ->run();
  }
}

void Exchange::lease(const LeaseRequest& request) {
  for (const std::int64_t id : choose(request)) {
    replies_.leases.push_back(give(id));
    ++leased_;
  }
}

std::vector<std::int64_t> Exchange::choose(const LeaseRequest& request) {
  if (request.count == 0) return {};
  if (request.order == JobOrder::bisect) {
    std::vector<JobPlace> places;
    const auto row = connection_(
        "SELECT id, priority, state IN (0, 2) AND due_us <= ?2, state IN (1, 3) FROM job "
        "WHERE evaluator = ?1 ORDER BY id",
        request.evaluator, now_);
    while (row->step()) {
      const bool open = row->integer(2) != 0;
      // Dead or cancelled jobs, and jobs that are not due, do not influence the choice.
      if (open || row->integer(3) != 0) places.push_back({row->integer(0), row->integer(1), open});
    }
    return bisect(places, request.count);
  }
  const char* oldest =
      "SELECT id FROM job WHERE evaluator = ?1 AND state IN (0, 2) AND due_us <= ?2 "
      "ORDER BY priority DESC, id LIMIT ?3";
  const char* newest =
      "SELECT id FROM job WHERE evaluator = ?1 AND state IN (0, 2) AND due_us <= ?2 "
      "ORDER BY priority DESC, id DESC LIMIT ?3";
  const auto row = connection_(request.order == JobOrder::newest ? newest : oldest,
                               request.evaluator, now_, static_cast<std::int64_t>(request.count));
  std::vector<std::int64_t> ids;
  while (row->step()) ids.push_back(row->integer(0));
  return ids;
}

LeasedJob Exchange::give(std::int64_t id) {
  connection_(
      "UPDATE job SET state = 1, token = token + 1, owner = ?2, leased_us = ?3, "
      "lease_until_us = ?4 WHERE id = ?1",
      id, orders_.owner, now_, now_ + orders_.lease_us)
      ->run();
  const auto row = connection_(
      "SELECT token, attempts, content, evaluator, arguments, path, priority FROM job WHERE id = "
      "?1",
      id);
  row->step();
  return {.lease = {id, row->integer(0)},
          .what = {.content = row->digest(2),
                   .evaluator = row->integer(3),
                   .arguments = row->text(4),
                   .path = row->text(5),
                   .priority = row->integer(6)},
          .attempt = row->integer(1) + 1};
}

void Exchange::note_next() {
  for (const LeaseRequest& request : orders_.requests) {
    const auto row = connection_(
        "SELECT min(at) FROM (SELECT min(due_us) AS at FROM job WHERE evaluator = ?1 "
        "AND state IN (0, 2) UNION ALL SELECT min(lease_until_us) FROM job WHERE evaluator = ?1 "
        "AND state = 1 AND owner <> ?2)",
        request.evaluator, orders_.owner);
    if (!row->step() || row->is_null(0)) continue;
    replies_.next_us = std::min(replies_.next_us.value_or(INT64_MAX), row->integer(0));
  }
}

}  // namespace

std::string_view to_string(JobState state) { return kStates.at(static_cast<std::size_t>(state)); }

std::optional<JobState> job_state_from(std::string_view text) {
  const auto* found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<JobState>(found - kStates.begin());
}

std::int64_t backoff_us(const RetryPolicy& policy, const Lease& lease, std::int64_t failed) {
  std::int64_t wait = policy.first_us;
  for (std::int64_t i = 1; i < failed && wait < policy.longest_us; ++i) wait *= 2;
  wait = std::min(wait, policy.longest_us);
  const Digest noise = digest_of(std::as_bytes(std::span(&lease, 1)));
  const double share = 0.75 + 0.5 * noise.bytes[0] / 255.0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(wait) * share));
}

HomeQueue::HomeQueue(const Store& store, Clock clock)
    : database_(store.impl().database),
      queue_(queue_of(*database_, QueueUse::change)),
      clock_(clock ? std::move(clock) : Clock(now_us)) {}

std::unique_ptr<JobQueue> open_home_queue(const Store& store, JobQueue::Clock clock) {
  return std::make_unique<HomeQueue>(store, std::move(clock));
}

std::shared_ptr<QueueFile> HomeQueue::seen() const {
  return queue_->mode == OpenMode::read_only ? queue_of(*database_, QueueUse::look) : queue_;
}

std::vector<bool> HomeQueue::answered(const JobOrders& orders) const {
  std::vector<bool> answered(orders.additions.size());
  if (answered.empty()) return answered;
  {
    const Lock lock(database_->mutex);
    if (!has_fetched_results(database_->connection)) return answered;
  }
  const std::vector<Evaluator> known = evaluators();
  const Lock lock(database_->mutex);
  for (std::size_t i = 0; i < answered.size(); ++i) {
    const NewJob& job = orders.additions[i];
    const auto evaluator = std::ranges::find(known, job.evaluator, &Evaluator::id);
    answered[i] = evaluator != known.end() &&
                  is_answered_by_fetched(database_->connection, job.content, evaluator->spec,
                                         evaluator->digest, job.arguments);
  }
  return answered;
}

JobReplies HomeQueue::exchange(const JobOrders& orders) {
  const std::vector<bool> are_answered = answered(orders);
  const std::int64_t now = clock_();
  // The change is atomic, and becomes durable when the write-ahead log is synced.
  QueueChange change(*queue_, now, Kept::journals);
  Exchange exchange(*queue_, change, orders, are_answered, now);
  JobReplies replies = exchange.run();
  change.commit();
  if (!queue_->has_log) queue_->evaluations.sync();
  if (exchange.others_concerned()) ring();
  return replies;
}

void HomeQueue::sync() {
  {
    const Lock lock(queue_->mutex);
    queue_->evaluations.sync();
  }
  const std::filesystem::path log = queue_->connection.path().string() + "-wal";
  std::error_code error;
  if (!queue_->has_log || !std::filesystem::exists(log, error)) return;
  File(queue_->files, log, O_RDONLY).sync_data();
}

}  // namespace flor::store
