// flor jobs: evaluations, and what becomes of them.
#include "commands/commands.h"
#include "context.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "output/time.h"
#include "queue/open_queue.h"
#include "watch/worker_group.h"

#include <flor/store/error.h>
#include <flor/store/jobs.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_map>

namespace flor::cli {
namespace {

using store::Job;
using store::JobState;

class Jobs final : public Command {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view summary() const override { return "evaluations and their results"; }
  std::string_view lesson() const override {
    return R"(Without ACTION it lists them, oldest first. ACTION is retry (failed, dead and cancelled ones are
tried again), cancel (not judged, or not any longer), drop (forgotten with their results) or logs
(what the evaluator wrote), and takes the numbers of jobs, or --all, or --state.

Examples:
  flor jobs                        everything
  flor jobs --state dead           what was given up
  flor jobs retry --state dead     try it again
  flor jobs logs 7                 what job 7 wrote
  flor jobs cancel 7 8
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("ACTION ID", words_, "what to do, and with which jobs");
    syntax.option("--state", "STATE", state_,
                  "only those: queued, leased, failed, done, dead or cancelled");
    syntax.flag("--all", all_, "with ACTION: all jobs");
    syntax.option("--queue", "URL", queue_, "the queue that flor watch --queue was given");
  }
  int run(Context& context) override;

 private:
  store::JobFilter filter() const;
  /// A queue on a server is there though this machine has no store yet.
  store::OpenMode mode() const {
    return queue_.empty() ? store::OpenMode::existing : store::OpenMode::create;
  }
  std::unique_ptr<store::JobQueue> open_to_read(Context& context) const {
    return open_queue(queue_.empty() ? context.store() : context.store_to_change(mode()), queue_);
  }
  void change(Context& context, const std::string& action);
  void print_logs(Context& context) const;
  void list(Context& context) const;

  std::vector<std::string> words_;
  std::string state_, queue_;
  bool all_ = false;
};

store::JobFilter Jobs::filter() const {
  store::JobFilter filter;
  for (std::size_t i = 1; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw UsageError(
          fmt::format("'{}' is no number of a job: flor jobs lists them", printable(word)));
    }
    filter.ids.push_back(id);
  }
  if (!state_.empty()) {
    filter.state = store::job_state_from(state_);
    if (!filter.state) {
      throw UsageError(fmt::format(
          "--state {}: it is queued, leased, failed, done, dead or cancelled", printable(state_)));
    }
  }
  return filter;
}

/// All of the jobs that were named; NotFound for a number that none has.
std::vector<Job> require(const store::JobQueue& queue, const store::JobFilter& filter) {
  std::vector<Job> jobs = queue.jobs({.ids = filter.ids});
  for (const std::int64_t id : filter.ids) {
    if (std::ranges::find(jobs, id, [](const Job& job) { return job.lease.job; }) == jobs.end()) {
      throw NotFound(fmt::format("there is no job {}: flor jobs lists them", id));
    }
  }
  return jobs;
}

void Jobs::change(Context& context, const std::string& action) {
  const store::JobFilter which = filter();
  if (which.ids.empty() && !which.state && !all_) {
    throw UsageError(fmt::format("flor jobs {}: name jobs, or give --state or --all", action));
  }
  const auto queue = open_queue(context.store_to_change(mode()), queue_);
  require(*queue, which);
  const std::int64_t count = action == "retry"    ? queue->retry(which)
                             : action == "cancel" ? queue->cancel(which)
                                                  : queue->drop(which);
  if (context.json()) {
    Json result = document("jobs");
    result["action"] = action;
    result["jobs"] = count;
    print(context.out(), result);
    return;
  }
  const char* const word = action == "retry"    ? "queued again"
                           : action == "cancel" ? "cancelled"
                                                : "forgotten";
  context.out().write(fmt::format("{} job{} {}\n", count, count == 1 ? "" : "s", word));
}

/// Leases of a queue on a server have tokens that are never used again, though its jobs may be
/// numbered otherwise in the catalog; those of the catalog are small.
bool is_of_server(const store::Lease& lease) { return lease.token > 1'000'000'000'000; }

/// The attempts at a job that wrote something on this machine, in order.
std::vector<store::Lease> logged(const store::Store& store, const Job& job) {
  std::vector<store::Lease> found;
  const auto directory = job_log(store, job.lease).parent_path();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    store::Lease lease;
    char end[5] = "";
    if (std::sscanf(name.c_str(), "%ld.%ld.%4s", &lease.job, &lease.token, end) != 3) continue;
    const bool is_same = lease.token == job.lease.token && is_of_server(lease);
    const bool is_earlier = lease.job == job.lease.job && lease.token <= job.lease.token &&
                            is_of_server(lease) == is_of_server(job.lease);
    if (is_same || is_earlier) found.push_back(lease);
  }
  std::ranges::sort(found, {}, &store::Lease::token);
  return found;
}

void Jobs::print_logs(Context& context) const {
  const store::JobFilter which = filter();
  if (which.ids.empty()) throw UsageError("flor jobs logs: name a job");
  const auto queue = open_to_read(context);
  for (const Job& job : require(*queue, which)) {
    for (const store::Lease& lease : logged(context.store(), job)) {
      std::ifstream in(job_log(context.store(), lease), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      context.out().write(fmt::format("==> job {}, lease {} <==\n{}{}", job.lease.job, lease.token,
                                      text, text.ends_with('\n') || text.empty() ? "" : "\n"));
    }
  }
}

void Jobs::list(Context& context) const {
  const auto queue = open_to_read(context);
  std::unordered_map<std::int64_t, std::string> evaluators;
  for (const auto& evaluator : queue->evaluators()) evaluators[evaluator.id] = evaluator.spec;
  const std::vector<Job> jobs = queue->jobs(filter());
  if (context.json()) {
    JsonList list(context.out(), document("jobs"), "jobs");
    for (const Job& job : jobs) {
      list.add({{"id", job.lease.job},
                {"state", to_string(job.state)},
                {"path", json_text(job.what.path)},
                {"content", job.what.content.hex()},
                {"evaluator", json_text(evaluators[job.what.evaluator])},
                {"attempts", job.attempts},
                {"added", json_time(job.added_us)},
                {"finished", json_time(job.finished_us)},
                {"message", json_text(job.message)},
                {"result", job.result.empty() ? Json() : Json::parse(job.result, nullptr, false)}});
    }
    list.end();
    return;
  }
  Table table(
      {{"JOB", Align::right}, {"STATE"}, {"WHEN"}, {"CHECKPOINT"}, {"RESULT", Align::left, true}});
  for (const Job& job : jobs) {
    table.add(std::to_string(job.lease.job));
    table.add(to_string(job.state), job.state == JobState::dead || job.state == JobState::failed
                                        ? Tone::bad
                                        : Tone::plain);
    table.add(relative(job.finished_us.value_or(job.added_us), context.now_us()));
    table.add(job.what.path);
    table.add(job.result.empty() ? job.message : job.result);
  }
  if (table.empty()) {
    context.note("there are no such jobs: flor watch DIR --evaluator SPEC makes them");
    return;
  }
  table.print(context.out(), context.style());
}

int Jobs::run(Context& context) {
  const std::string action = words_.empty() ? "" : words_.front();
  if (action.empty()) {
    list(context);
  } else if (action == "logs") {
    print_logs(context);
  } else if (action == "retry" || action == "cancel" || action == "drop") {
    change(context, action);
  } else {
    throw UsageError(
        fmt::format("flor jobs {}: it is retry, cancel, drop or logs", printable(action)));
  }
  return static_cast<int>(ExitStatus::done);
}

}  // namespace

std::unique_ptr<Command> make_jobs() { return std::make_unique<Jobs>(); }

}  // namespace flor::cli
