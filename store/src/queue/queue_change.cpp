#include "queue/queue_change.h"

#include "journal/evaluation_log.h"
#include "queue/job_queue.h"

#include <flor/store/error.h>

#include <fmt/core.h>

namespace flor::store {
namespace {

bool has_ended(JobState state) {
  return state == JobState::done || state == JobState::dead || state == JobState::cancelled;
}

QueueFile& writable(QueueFile& queue) {
  if (queue.mode == OpenMode::read_only) {
    throw Error(fmt::format("the store {} was opened for reading only", queue.paths.home.string()));
  }
  queue.require_current();
  return queue;
}

}  // namespace

QueueChange::QueueChange(QueueFile& queue, std::int64_t now, Kept kept)
    : lock_(queue.mutex),
      queue_(writable(queue)),
      now_(now),
      transaction_(queue.connection, kept) {}

QueueChange::~QueueChange() {
  if (!committed_) queue_.evaluations.take_back();
}

void QueueChange::ended(std::int64_t job) { say(job, false); }

void QueueChange::forgets(std::int64_t job) { say(job, true); }

void QueueChange::say(std::int64_t job, bool forgotten) {
  const auto row = queue_.connection(
      "SELECT content, spec, evaluator.digest, arguments, path, priority, attempts, job.token, "
      "state, coalesce(json, message), coalesce(finished_us, 0) FROM job JOIN evaluator ON "
      "evaluator.id = job.evaluator LEFT "
      "JOIN job_result ON job_result.job = job.id WHERE job.id = ?1",
      job);
  if (!row->step()) return;
  const auto state = static_cast<JobState>(row->integer(8));
  if (!has_ended(state)) return;
  EvaluationEvent event;
  event.at_us = now_;
  event.content = row->digest(0);
  event.spec = row->text(1);
  event.digest = row->text(2);
  event.arguments = row->text(3);
  if (!forgotten) {
    event.end = static_cast<EvaluationEnd>(state);
    event.path = row->text(4);
    event.priority = row->integer(5);
    event.attempts = row->integer(6);
    event.token = row->integer(7);
    event.text = row->text(9);
    event.finished_us = row->integer(10);
  }
  queue_.evaluations.append(event);
  said_ = true;
}

void QueueChange::commit() {
  queue_.evaluations.flush();
  if (said_) {
    const auto [name, end] = queue_.evaluations.position().value();
    queue_
        .connection(
            "INSERT OR REPLACE INTO evaluation_log (name, bytes, frames) VALUES (?1, ?2, ?3)", name,
            static_cast<std::int64_t>(end.bytes), static_cast<std::int64_t>(end.frames))
        ->run();
  }
  transaction_.commit();
  committed_ = true;
  queue_.evaluations.keep();
}

}  // namespace flor::store
