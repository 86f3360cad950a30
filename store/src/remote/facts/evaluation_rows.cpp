#include "remote/facts/evaluation_rows.h"

#include "database/database.h"
#include "index/values/evaluated.h"
#include "index/values/logged_evaluations.h"
#include "queue/job_queue.h"
#include "queue/queue_file.h"

#include <flor/store/catalog.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <mutex>
#include <string_view>

namespace flor::remote {

using store::Connection;

namespace {

constexpr auto kDone = static_cast<std::int64_t>(store::JobState::done);
constexpr auto kFetched = static_cast<std::int64_t>(store::RunOrigin::Kind::fetched);

/// Limit in bytes of an evaluator's name, a path, or arguments that come with a run.
constexpr std::size_t kTextLimit = 64 << 10;
/// Limit of the nesting of a result's JSON.
constexpr int kDepthLimit = 100;

/// Adds a finished job, unless a job for the same evaluation exists in any state.
void put_job(Connection& to, const Evaluations::value_type& evaluation) {
  const auto& [content, spec, digest, arguments] = evaluation.first;
  const Evaluation& found = evaluation.second;
  const std::int64_t evaluator = store::put_evaluator(to, spec, digest);
  const auto insert =
      to("INSERT OR IGNORE INTO job (content, evaluator, arguments, path, priority, state, "
         "attempts, token, owner, added_us, due_us, finished_us, message) VALUES (?1, ?2, ?3, ?4, "
         "?5, ?6, 1, 1, '', ?7, ?7, ?7, '')",
         content, evaluator, arguments, found.path, found.priority, kDone, found.finished_us);
  insert->run();
  if (insert->changes() == 0) return;
  to("INSERT INTO job_result (job, token, json) VALUES (?1, 1, ?2)", to.last_id(), found.json)
      ->run();
}

/// True if the result is already stored as one of the run, or if a result made here takes
/// precedence.
bool is_known(Connection& to, std::string_view run, const Evaluations::value_type& evaluation) {
  const auto& [content, spec, digest, arguments] = evaluation.first;
  return to("SELECT 1 FROM job JOIN evaluator ON evaluator.id = job.evaluator LEFT JOIN "
            "fetched_result AS came ON came.job = job.id WHERE content = ?1 AND spec = ?2 AND "
            "evaluator.digest = ?3 AND arguments = ?4 AND state <> 0 AND (came.run IS NULL OR "
            "came.run = ?5)",
            content, spec, digest, arguments, run)
      ->step();
}

/// True if a local job waits for this result or has it.
bool is_wanted(store::QueueFile& queue, const Evaluations::value_type& evaluation) {
  const auto& [content, spec, digest, arguments] = evaluation.first;
  return queue
      .connection(
          "SELECT 1 FROM job JOIN evaluator ON evaluator.id = job.evaluator WHERE content = ?1 AND "
          "spec = ?2 AND digest = ?3 AND arguments = ?4",
          content, spec, digest, arguments)
      ->step();
}

/// True if this run has or had the content, and no other run recorded here.
bool is_of_run_alone(Connection& to, std::int64_t run, const store::Digest& content) {
  const auto rows =
      to("SELECT had.run = ?1, coalesce(origin.kind, 0) FROM (SELECT run FROM checkpoint WHERE "
         "digest = ?2 UNION SELECT run FROM discarded WHERE digest = ?2) AS had LEFT JOIN origin "
         "ON origin.run = had.run",
         run, content);
  bool has = false;
  while (rows->step()) {
    const bool is_this = rows->integer(0) != 0;
    if (!is_this && rows->integer(1) != kFetched) return false;
    has = has || is_this;
  }
  return has;
}

bool is_object(const std::string& text) {
  if (text.size() > store::kResultLimit) return false;
  bool is_deep = false;
  const auto look = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    is_deep = is_deep || depth > kDepthLimit;
    return !is_deep;
  };
  const auto json = nlohmann::json::parse(text, look, false);
  return !is_deep && json.is_object();
}

}  // namespace

void add_evaluations(Connection& from, std::int64_t run, Evaluations& evaluations) {
  if (!store::has_table(from, "job_result")) return;  // written by an older Flor
  const bool marks = store::has_table(from, "fetched_result");
  const auto rows = from(
      fmt::format(
          "SELECT DISTINCT content, spec, evaluator.digest, arguments, path, json, priority, "
          "finished_us FROM job JOIN job_result ON job_result.job = job.id JOIN evaluator ON "
          "evaluator.id = job.evaluator WHERE state = ?2 AND content IN (SELECT digest FROM "
          "checkpoint WHERE run = ?1 UNION SELECT digest FROM discarded WHERE run = ?1) AND {}",
          marks ? FLOR_RESULT_COUNTS : "1"),
      run, kDone);
  while (rows->step()) {
    const Evaluation found{rows->text(4), rows->text(5), rows->integer(6), rows->integer(7)};
    const auto [entry, is_new] = evaluations.try_emplace(
        {rows->digest(0), rows->text(1), rows->text(2), rows->text(3)}, found);
    const auto age = [](const Evaluation& it) { return std::pair(it.finished_us, it.json); };
    if (!is_new && age(entry->second) < age(found)) entry->second = found;
  }
}

void put_evaluations(Connection& to, const Evaluations& evaluations) {
  for (const auto& evaluation : evaluations) put_job(to, evaluation);
}

std::string flaw_of(const Evaluations& evaluations) {
  for (const auto& [what, found] : evaluations) {
    const auto& [content, spec, digest, arguments] = what;
    for (const std::string& text : {spec, digest, arguments, found.path}) {
      if (text.size() > kTextLimit || text.find('\0') != text.npos) {
        return "a job of an evaluator has a text that no user writes";
      }
    }
    if (spec.empty() || found.path.empty()) return "a job has no evaluator, or no checkpoint";
    if (!is_object(found.json)) {
      return fmt::format(
          "the result of an evaluator for {} is no JSON object of at most {} bytes and {} levels",
          content.hex(), store::kResultLimit, kDepthLimit);
    }
  }
  return {};
}

std::vector<store::EvaluationEvent> evaluations_to_take(store::Database& here, std::int64_t run,
                                                        const Evaluations& evaluations) {
  if (evaluations.empty()) return {};
  Connection& to = here.connection;
  const auto queue = store::queue_of(here, store::QueueUse::look);
  const std::lock_guard lock(queue->mutex);
  const auto key = to("SELECT key FROM run WHERE id = ?1", run);
  key->step();
  std::vector<store::EvaluationEvent> taken;
  for (const auto& evaluation : evaluations) {
    const auto& [content, spec, digest, arguments] = evaluation.first;
    const Evaluation& found = evaluation.second;
    if (!is_of_run_alone(to, run, content) || is_known(to, key->text_view(0), evaluation) ||
        is_wanted(*queue, evaluation))
      continue;
    store::EvaluationEvent& event = taken.emplace_back();
    event.at_us = store::now_us();
    event.content = content;
    event.spec = spec;
    event.digest = digest;
    event.arguments = arguments;
    event.end = store::EvaluationEnd::done;
    event.path = found.path;
    event.priority = found.priority;
    event.attempts = event.token = 1;
    event.text = found.json;
    event.finished_us = found.finished_us;
    event.run = key->text(0);
  }
  return taken;
}

}  // namespace flor::remote
