// flor jobs: shows evaluations, and retries, cancels or drops them.
#include "choose/pattern.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "commands/evaluate/jobs_follow.h"
#include "index/values/evaluations.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "queue/job_queue.h"
#include "queue/open_queue.h"
#include "shell/context.h"
#include "watch/checkpoint_source.h"
#include "watch/job_facts.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace flor::cli {
namespace {

using store::Job;
using store::JobState;

class Jobs final : public Command {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view summary() const override { return "list evaluations and their results"; }
  std::string_view lesson() const override {
    return R"(Without ACTION it lists them, oldest first. ACTION is retry (failed, dead and cancelled ones are
tried again), cancel (not evaluated, or not any longer), drop (forgotten with their results) or logs
(what the evaluator wrote), and takes the numbers of jobs, --all, or what chooses them: --state,
--evaluator, --run and --path, all of which must fit. With --follow the list stays and is kept up to
date; where there is no terminal each change is a line.

Examples:
  flor jobs                                        everything
  flor jobs --state dead                           what was given up
  flor jobs --evaluator accuracy --run linear      of one evaluator, of one run
  flor jobs --path 'step_[0-9]+\.pt$' --follow     of these files, as it goes
  flor jobs retry --state dead                     try it again
  flor jobs logs 7                                 what job 7 wrote
  flor jobs cancel 7 8
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("ACTION ID", words_, "retry, cancel, drop or logs, and the numbers of jobs");
    syntax.option("--state", "STATE", state_,
                  "choose queued, leased, failed, done, dead or cancelled ones");
    syntax.option("-e,--evaluator", "NAME", evaluator_,
                  "choose this evaluator's: its function or program, or all of SPEC");
    syntax.option("--run", "RUN", run_, "choose those of this run's checkpoints");
    syntax.option("--path", "REGEX", path_, "choose those whose checkpoint's path has this");
    syntax.option("--queue", "URL", url_, "read the queue that flor watch --queue was given");
    syntax.flag("-f,--follow", follow_, "stay, and show each change");
    syntax.flag("-a,--all", all_, "apply ACTION to all jobs");
  }
  int run(Context& context) override;

 private:
  /// The jobs that the user chose.
  struct Choice {
    store::JobFilter filter;
    std::optional<std::string> run = {};  ///< key of the run
    std::optional<Pattern> path = {};
    bool all = true;  ///< whether the user chose no jobs in particular
  };

  Choice choose(Context& context) const;
  std::vector<Job> find(const Choice& choice) const;
  std::vector<Job> require(const Choice& choice) const;
  void change(Context& context, const std::string& action);
  void print_logs(Context& context) const;
  void list(Context& context) const;
  void follow(Context& context) const;
  void print_table(Context& context, const std::vector<Job>& jobs) const;
  const std::string& spec_of(const Job& job) const;

  std::vector<std::string> words_;
  std::string state_, evaluator_, run_, path_, url_;
  bool all_ = false, follow_ = false;

  std::unique_ptr<store::JobQueue> queue_;
  std::unordered_map<std::int64_t, std::string> specs_;  // specification by id of the evaluator
};

std::int64_t parse_id(const std::string& word) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw UsageError(
        fmt::format("'{}' is no number of a job: flor jobs lists them", printable(word)));
  }
  return id;
}

Jobs::Choice Jobs::choose(Context& context) const {
  Choice choice;
  for (std::size_t i = 1; i < words_.size(); ++i) choice.filter.ids.insert(parse_id(words_[i]));
  if (!state_.empty()) {
    choice.filter.state = store::job_state_from(state_);
    if (!choice.filter.state) {
      throw UsageError(fmt::format(
          "--state {}: it is queued, leased, failed, done, dead or cancelled", printable(state_)));
    }
  }
  if (!run_.empty()) choice.run = parse_whole_run(context, run_).key;
  if (!path_.empty()) choice.path.emplace("--path", path_);
  choice.all =
      words_.size() < 2 && state_.empty() && run_.empty() && path_.empty() && evaluator_.empty();
  return choice;
}

const std::string& Jobs::spec_of(const Job& job) const {
  static const std::string kNone;
  const auto spec = specs_.find(job.what.evaluator);
  return spec == specs_.end() ? kNone : spec->second;
}

std::vector<Job> Jobs::find(const Choice& choice) const {
  std::vector<Job> jobs = queue_->jobs(choice.filter);
  std::erase_if(jobs, [&](const Job& job) {
    const std::string& text = spec_of(job);
    return (!evaluator_.empty() && evaluator_ != text &&
            evaluator_ != store::evaluator_name(text)) ||
           (choice.run && !job.what.path.starts_with(*choice.run + "@")) ||
           (choice.path && !choice.path->found_in(job.what.path));
  });
  return jobs;
}

/// The jobs that the user named. Throws NotFound for a number that no job has.
std::vector<Job> Jobs::require(const Choice& choice) const {
  const std::vector<Job> named = queue_->jobs({.ids = choice.filter.ids});
  for (const std::int64_t id : choice.filter.ids) {
    const auto found = std::ranges::find(named, id, [](const Job& job) { return job.lease.job; });
    if (found == named.end()) {
      throw NotFound(fmt::format("there is no job {}: flor jobs lists them", id));
    }
  }
  return find(choice);
}

void Jobs::change(Context& context, const std::string& action) {
  const Choice choice = choose(context);
  if (choice.all && !all_) {
    throw UsageError(
        fmt::format("flor jobs {}: name jobs, say which (--state dead), or give --all", action));
  }
  store::JobFilter which{.state = choice.filter.state};
  for (const Job& job : require(choice)) which.ids.insert(job.lease.job);
  std::int64_t count = 0;
  if (!which.ids.empty()) {
    count = action == "retry"    ? queue_->retry(which)
            : action == "cancel" ? queue_->cancel(which)
                                 : queue_->drop(which);
  }
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

void Jobs::print_logs(Context& context) const {
  const Choice choice = choose(context);
  if (choice.all && !all_) throw UsageError("flor jobs logs: name a job");
  for (const Job& job : require(choice)) {
    for (const AttemptLog& log : attempt_logs(context.store(), job)) {
      context.out().write(fmt::format("==> job {}, lease {} <==\n{}{}", job.lease.job,
                                      log.lease.token, log.text,
                                      log.text.ends_with('\n') || log.text.empty() ? "" : "\n"));
    }
  }
}

void Jobs::print_table(Context& context, const std::vector<Job>& jobs) const {
  Table table(
      {{"JOB", Align::right}, {"STATE"}, {"WHEN"}, {"CHECKPOINT"}, {"RESULT", Align::left, true}});
  const std::int64_t now = now_us();
  for (const Job& job : jobs) {
    table.add(std::to_string(job.lease.job));
    table.add(to_string(job.state), job.state == JobState::dead || job.state == JobState::failed
                                        ? Tone::bad
                                        : Tone::plain);
    table.add(relative(job.finished_us.value_or(job.added_us), now));
    table.add(shown_path(job.what.path));
    table.add(job.result.empty() ? job.message : job.result);
  }
  if (!table.empty()) table.print(context.out(), context.style());
}

void Jobs::list(Context& context) const {
  const std::vector<Job> jobs = find(choose(context));
  if (context.json()) {
    JsonList list(context.out(), document("jobs"), "jobs");
    for (const Job& job : jobs) list.add(job_json(job, spec_of(job)));
    list.end();
    return;
  }
  if (jobs.empty()) {
    context.note("there are no such jobs: flor watch DIR --evaluator SPEC makes them");
    return;
  }
  print_table(context, jobs);
}

void Jobs::follow(Context& context) const {
  const Choice choice = choose(context);
  follow_jobs(context, {.ask = [&] { return find(choice); },
                        .draw = [&](const std::vector<Job>& jobs) { print_table(context, jobs); },
                        .say =
                            [&](const Job& job) {
                              if (context.json()) {
                                context.out().write(compact(job_json(job, spec_of(job))) + "\n");
                                return;
                              }
                              const std::string text =
                                  job.result.empty() ? job.message : job.result;
                              context.out().write(
                                  fmt::format("{} {} {}{}{}\n", job.lease.job, to_string(job.state),
                                              printable(shown_path(job.what.path)),
                                              text.empty() ? "" : " ", printable(text)));
                            }});
}

int Jobs::run(Context& context) {
  const std::string action = words_.empty() ? "" : words_.front();
  const bool changes = action == "retry" || action == "cancel" || action == "drop";
  if (!action.empty() && !changes && action != "logs") {
    throw UsageError(
        fmt::format("flor jobs {}: it is retry, cancel, drop or logs", printable(action)));
  }
  if (follow_ && !action.empty()) {
    throw UsageError(fmt::format("--follow shows jobs, it does not {} them", printable(action)));
  }
  // A queue on a server exists even if this machine has no store yet.
  queue_ = !url_.empty() ? open_queue(context.store_to_change(store::OpenMode::create), url_)
           : changes     ? open_queue(context.store_to_change(), url_)
                         : open_queue(context.store(), url_);
  for (const auto& evaluator : queue_->evaluators()) specs_[evaluator.id] = evaluator.spec;
  if (changes) {
    change(context, action);
  } else if (action == "logs") {
    print_logs(context);
  } else if (follow_) {
    follow(context);
  } else {
    list(context);
  }
  return static_cast<int>(ExitStatus::done);
}

}  // namespace

std::unique_ptr<Command> make_jobs() { return std::make_unique<Jobs>(); }

}  // namespace flor::cli
