#include "serve/job_answers.h"

#include "index/values/evaluations.h"
#include "queue/job_queue.h"
#include "queue/open_queue.h"
#include "watch/checkpoint_source.h"
#include "watch/job_facts.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

namespace flor::cli {
namespace {

using store::Job;

/// Most bytes of each attempt's output that are shown.
constexpr std::uint64_t kLogMax = 256 << 10;  // bytes

Job find_job(const store::JobQueue& queue, std::int64_t id) {
  std::vector<Job> jobs = queue.jobs({.ids = {id}});
  if (jobs.empty()) throw NotFound(fmt::format("there is no job {} any more", id));
  return std::move(jobs.front());
}

Json run_of(const Job& job) {
  const std::string& path = job.what.path;
  return is_reference(path) ? Json(path.substr(0, path.find('@'))) : Json();
}

}  // namespace

Json jobs_answer(const store::Store& store, const std::string& url, std::string_view run,
                 std::size_t limit) {
  const auto queue = open_queue(store, url);
  std::unordered_map<std::int64_t, std::string> specs;
  for (const store::Evaluator& evaluator : queue->evaluators())
    specs[evaluator.id] = evaluator.spec;
  std::vector<Job> jobs = queue->jobs();
  std::erase_if(jobs, [&](const Job& job) {
    return !run.empty() && !job.what.path.starts_with(fmt::format("{}@", run));
  });
  std::map<std::string, std::int64_t> counts;
  for (const Job& job : jobs) ++counts[std::string(to_string(job.state))];
  Json list = Json::array();
  for (auto job = jobs.rbegin(); job != jobs.rend() && list.size() < limit; ++job) {
    const std::string& spec = specs[job->what.evaluator];
    Json entry = job_json(*job, spec);
    entry["run"] = run_of(*job);
    entry["shown_path"] = shown_path(job->what.path);
    entry["name"] = store::evaluator_name(spec);
    entry["at_work_since"] = json_time(job->leased_us);
    list.push_back(std::move(entry));
  }
  return {{"total", jobs.size()}, {"counts", counts}, {"jobs", std::move(list)}};
}

Json job_log_answer(const store::Store& store, const std::string& url, std::int64_t id) {
  const Job job = find_job(*open_queue(store, url), id);
  Json attempts = Json::array();
  for (AttemptLog& log : attempt_logs(store, job, kLogMax)) {
    attempts.push_back({{"number", attempts.size() + 1}, {"text", std::move(log.text)}});
  }
  return {{"id", id}, {"attempts", std::move(attempts)}};
}

Json change_job(const store::Store& store, const std::string& url, std::int64_t id,
                JobAction action) {
  const auto writable = store::Store::open(store.home(), store::OpenMode::existing);
  const auto queue = open_queue(*writable, url);
  find_job(*queue, id);
  const store::JobFilter which{.ids = {id}};
  const std::int64_t changed =
      action == JobAction::retry ? queue->retry(which) : queue->cancel(which);
  return {{"id", id}, {"changed", changed > 0}};
}

}  // namespace flor::cli
