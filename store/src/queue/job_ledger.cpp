// Implements JobLedger.
#include "queue/job_ledger.h"

#include "database/store_impl.h"
#include "index/values/logged_evaluations.h"
#include "queue/queue_change.h"
#include "queue/queue_file.h"
#include "queue/sighting_rows.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

std::int64_t evaluator_id(Connection& connection, const JobLedger::Entry& entry) {
  return put_evaluator(connection, entry.spec, entry.digest);
}

/// Stores a result. A new token makes the lease void that a worker of the home's own queue may
/// have.
void put_result(QueueChange& change, std::int64_t evaluator, const JobLedger::Entry& entry) {
  Connection& connection = change.connection();
  const JobLedger::Result& result = *entry.result;
  connection(
      "INSERT INTO job (content, evaluator, arguments, path, priority, state, attempts, token, "
      "owner, added_us, due_us, finished_us, message) "
      "VALUES (?1, ?2, ?3, ?4, ?5, 3, ?6, ?7, '', ?8, ?8, ?8, '') "
      "ON CONFLICT (content, evaluator, arguments) DO UPDATE SET path = ?4, state = 3, "
      "attempts = ?6, token = max(token + 1, ?7), owner = '', finished_us = ?8, message = ''",
      entry.what.content, evaluator, entry.what.arguments, entry.what.path, entry.what.priority,
      result.attempts, result.token, result.finished_us)
      ->run();
  connection(
      "INSERT OR REPLACE INTO job_result (job, token, json) SELECT id, token, ?4 FROM job "
      "WHERE content = ?1 AND evaluator = ?2 AND arguments = ?3",
      entry.what.content, evaluator, entry.what.arguments, result.json)
      ->run();
  std::int64_t job = 0;
  {
    const auto row =
        connection("SELECT id FROM job WHERE content = ?1 AND evaluator = ?2 AND arguments = ?3",
                   entry.what.content, evaluator, entry.what.arguments);
    if (row->step()) job = row->integer(0);
  }
  change.ended(job);
}

}  // namespace

JobLedger::JobLedger(const Store& store, std::string queue)
    : file_(queue_of(*store.impl().database, QueueUse::change)), queue_(std::move(queue)) {}

std::vector<JobLedger::Entry> JobLedger::entries() const {
  const Lock lock(file_->mutex);
  const auto row = file_->connection(
      "SELECT queue_job.number, queue_job.content, queue_job.arguments, queue_job.path, "
      "queue_job.priority, spec, digest, json, job_result.token, attempts, finished_us "
      "FROM queue_job JOIN evaluator ON evaluator.id = queue_job.evaluator "
      "LEFT JOIN job ON job.content = queue_job.content AND job.evaluator = queue_job.evaluator "
      "AND job.arguments = queue_job.arguments AND job.state = 3 "
      "LEFT JOIN job_result ON job_result.job = job.id WHERE queue = ?1 ORDER BY number",
      queue_);
  std::vector<Entry> all;
  while (row->step()) {
    Entry entry{.job = row->integer(0),
                .what = {.content = row->digest(1),
                         .arguments = row->text(2),
                         .path = row->text(3),
                         .priority = row->integer(4)},
                .spec = row->text(5),
                .digest = row->text(6)};
    if (!row->is_null(7)) {
      entry.result = {.token = row->integer(8),
                      .attempts = row->integer(9),
                      .finished_us = row->integer(10),
                      .json = row->text(7)};
    }
    all.push_back(std::move(entry));
  }
  return all;
}

std::string JobLedger::life() const {
  const Lock lock(file_->mutex);
  const auto row = file_->connection("SELECT life FROM queue WHERE name = ?1", queue_);
  return row->step() ? row->text(0) : std::string();
}

void JobLedger::write(const Changes& changes) {
  QueueChange change(*file_, now_us());
  Connection& connection = change.connection();
  for (const Entry& entry : changes.known) {
    const std::int64_t evaluator = evaluator_id(connection, entry);
    connection(
        "INSERT OR REPLACE INTO queue_job (queue, content, evaluator, arguments, path, priority, "
        "number) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        queue_, entry.what.content, evaluator, entry.what.arguments, entry.what.path,
        entry.what.priority, entry.job)
        ->run();
    if (entry.result) put_result(change, evaluator, entry);
  }
  for (const Entry& entry : changes.forgotten) {
    connection(
        "DELETE FROM queue_job WHERE queue = ?1 AND content = ?2 AND evaluator = ?3 AND "
        "arguments = ?4",
        queue_, entry.what.content, evaluator_id(connection, entry), entry.what.arguments)
        ->run();
  }
  put_sightings(connection, changes.sightings);
  if (changes.life) {
    connection("INSERT OR REPLACE INTO queue (name, life) VALUES (?1, ?2)", queue_, *changes.life)
        ->run();
  }
  change.commit();
  file_->evaluations.sync();
}

std::string JobLedger::place() const {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string kernel;
  std::getline(in, kernel);
  struct stat status {};
  ::stat(file_->paths.home.c_str(), &status);
  const std::string text = fmt::format("{} {} {}", kernel, status.st_dev, status.st_ino);
  return digest_of(std::as_bytes(std::span(text))).hex().substr(0, 16);
}

bool JobLedger::is_held(std::string_view key) const { return is_locked(*file_, key); }

}  // namespace flor::store
