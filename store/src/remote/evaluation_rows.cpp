#include "evaluation_rows.h"

#include <flor/store/jobs.h>

namespace flor::remote {

using store::Connection;

namespace {

constexpr auto kDone = static_cast<std::int64_t>(store::JobState::done);

bool has_results(Connection& connection) {
  return connection("SELECT 1 FROM sqlite_schema WHERE name = 'job_result'")->step();
}

std::int64_t put_evaluator(Connection& to, const std::string& spec, const std::string& digest) {
  to("INSERT OR IGNORE INTO evaluator (spec, digest) VALUES (?1, ?2)", spec, digest)->run();
  const auto row = to("SELECT id FROM evaluator WHERE spec = ?1 AND digest = ?2", spec, digest);
  row->step();
  return row->integer(0);
}

}  // namespace

void add_evaluations(Connection& from, std::int64_t run, Evaluations& evaluations) {
  if (!has_results(from)) return;  // by an older Flor
  const auto rows = from(
      "SELECT DISTINCT content, spec, evaluator.digest, arguments, path, json, priority, "
      "finished_us FROM job JOIN job_result ON job_result.job = job.id JOIN evaluator ON "
      "evaluator.id = job.evaluator WHERE state = ?2 AND content IN (SELECT digest FROM checkpoint "
      "WHERE run = ?1 UNION SELECT digest FROM discarded WHERE run = ?1)",
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
  for (const auto& [what, found] : evaluations) {
    const auto& [content, spec, digest, arguments] = what;
    const std::int64_t evaluator = put_evaluator(to, spec, digest);
    // Who is at the same just now finds out that its lease is gone.
    to("INSERT INTO job (content, evaluator, arguments, path, priority, state, attempts, token, "
       "owner, added_us, due_us, finished_us, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, 1, '', "
       "?7, ?7, ?7, '') ON CONFLICT (content, evaluator, arguments) DO UPDATE SET state = ?6, "
       "token = token + 1, owner = '', finished_us = ?7, message = '' WHERE state <> ?6",
       content, evaluator, arguments, found.path, found.priority, kDone, found.finished_us)
        ->run();
    to("INSERT OR IGNORE INTO job_result (job, token, json) SELECT id, token, ?4 FROM job WHERE "
       "content = ?1 AND evaluator = ?2 AND arguments = ?3",
       content, evaluator, arguments, found.json)
        ->run();
  }
}

}  // namespace flor::remote
