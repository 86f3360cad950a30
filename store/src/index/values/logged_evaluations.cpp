#include "index/values/logged_evaluations.h"

#include "database/database.h"

#include <cstdint>
#include <optional>
#include <string>

namespace flor::store {

void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events) {
  for (const EvaluationEvent& event : events) {
    connection("INSERT OR IGNORE INTO evaluator (spec, digest) VALUES (?1, ?2)", event.spec,
               event.digest)
        ->run();
    std::int64_t evaluator = 0;
    {
      const auto row = connection("SELECT id FROM evaluator WHERE spec = ?1 AND digest = ?2",
                                  event.spec, event.digest);
      row->step();
      evaluator = row->integer(0);
    }
    std::optional<std::int64_t> known;
    bool is_newer = false;
    {
      const auto row = connection(
          "SELECT id, state IN (3, 4, 5), coalesce(finished_us, 0) FROM job WHERE content = ?1 AND "
          "evaluator = ?2 AND arguments = ?3",
          event.content, evaluator, event.arguments);
      if (row->step()) {
        known = row->integer(0);
        const bool has_ended = row->integer(1) != 0;
        is_newer = event.end == EvaluationEnd::forgotten
                       ? !has_ended || row->integer(2) > event.at_us
                       : has_ended && row->integer(2) >= event.finished_us;
      }
    }
    if (is_newer) continue;
    if (known) connection("DELETE FROM job WHERE id = ?1", *known)->run();
    if (event.end == EvaluationEnd::forgotten) continue;
    const bool done = event.end == EvaluationEnd::done;
    connection(
        "INSERT INTO job (content, evaluator, arguments, path, priority, state, attempts, token, "
        "owner, added_us, due_us, finished_us, message) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?9, ?9, ?10)",
        event.content, evaluator, event.arguments, event.path, event.priority,
        static_cast<std::int64_t>(event.end), event.attempts, event.token, event.finished_us,
        done ? std::string() : event.text)
        ->run();
    if (!done) continue;
    connection("INSERT INTO job_result (job, token, json) VALUES (?1, ?2, ?3)",
               connection.last_id(), event.token, event.text)
        ->run();
  }
}

std::vector<EvaluationEvent> known_evaluations(Connection& connection) {
  std::vector<EvaluationEvent> known;
  const auto rows = connection(
      "SELECT content, spec, digest, arguments, state, path, priority, attempts, job.token, "
      "coalesce(json, message), coalesce(finished_us, 0) FROM job JOIN evaluator ON evaluator.id = "
      "job.evaluator LEFT JOIN job_result ON job_result.job = job.id WHERE state IN (3, 4, 5) AND "
      "job.id NOT IN (SELECT job FROM fetched_result)");
  while (rows->step()) {
    EvaluationEvent& event = known.emplace_back();
    event.at_us = now_us();
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
    event.finished_us = rows->integer(10);
  }
  return known;
}

}  // namespace flor::store
