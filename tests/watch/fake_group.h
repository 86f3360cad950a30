// Workers that start no process: they hold the jobs that they are given until the test ends them.
#pragma once

#include "support/temporary_directory.h"
#include "watch/evaluators/evaluation_group.h"
#include "watch/evaluators/evaluators.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

class FakeGroup final : public cli::EvaluationGroup {
 public:
  explicit FakeGroup(std::int64_t evaluator) : evaluator_(evaluator) {}

  std::int64_t evaluator() const override { return evaluator_; }
  void start() override { is_started = true; }
  void add_descriptors(std::vector<pollfd>&) const override {}
  Clock::time_point due() const override { return Clock::time_point::max(); }
  void hear(const Tell& tell) override {
    for (cli::Verdict& verdict : std::exchange(verdicts, {})) tell(std::move(verdict));
  }
  std::size_t wanted() const override { return running || !backlog.empty() ? 0 : 1; }
  void give(store::LeasedJob job) override { backlog.push_back(std::move(job)); }
  void dispatch() override {
    if (running || backlog.empty()) return;
    running = std::move(backlog.front());
    backlog.pop_front();
  }
  std::vector<store::Lease> leases() const override {
    std::vector<store::Lease> all;
    if (running) all.push_back(running->lease);
    for (const store::LeasedJob& job : backlog) all.push_back(job.lease);
    return all;
  }
  std::vector<store::Lease> take_waiting() override {
    std::vector<store::Lease> all;
    for (const store::LeasedJob& job : std::exchange(backlog, {})) all.push_back(job.lease);
    return all;
  }
  void call_off(const store::Lease& lease) override {
    std::erase_if(backlog, [&](const store::LeasedJob& job) { return job.lease == lease; });
    if (running && running->lease == lease) running.reset();
  }
  bool is_ready() const override { return is_started; }
  void stop() override { is_started = false; }

  /// Its worker ends the job that it has.
  void end(bool good) {
    verdicts.push_back({.job = *std::exchange(running, std::nullopt), .good = good, .text = "{}"});
  }

  std::optional<store::LeasedJob> running;
  std::deque<store::LeasedJob> backlog;
  std::vector<cli::Verdict> verdicts;
  bool is_started = false;

 private:
  std::int64_t evaluator_;
};

/// Evaluators whose workers are of that kind, with files that a test may edit, and its own clock.
struct FakeEvaluators {
  /// Adds one with the file `name`; `directory`: whose checkpoints it judges, or all.
  void add(const std::string& name, std::int64_t number,
           std::optional<std::filesystem::path> directory = {}) {
    edit(name, "first");
    cli::WatchPlan::Judge judge{.group = {}, .directory = std::move(directory)};
    judge.group.evaluator = {.kind = cli::EvaluatorSpec::Kind::program,
                             .file = directory_.path() / name,
                             .words = {(directory_.path() / name).string()}};
    all.add(judge, [&](const std::string&, const std::string&) { return number; });
  }
  /// Another content: at another time, as the time of a file is how an edit is noticed.
  void edit(const std::string& name, const std::string& content) {
    std::ofstream(directory_.path() / name, std::ios::trunc) << content;
    const auto time = std::filesystem::last_write_time(directory_.path() / name);
    std::filesystem::last_write_time(directory_.path() / name,
                                     time + std::chrono::seconds(++edits_));
  }

  std::vector<FakeGroup*> groups;  // in the order in which they were made
  cli::Evaluators::Clock::time_point now{std::chrono::seconds(1000)};
  cli::Evaluators all{[this](const cli::WatchPlan::Judge&, std::int64_t number) {
                        auto made = std::make_unique<FakeGroup>(number);
                        groups.push_back(made.get());
                        return made;
                      },
                      [this] { return now; }};

 private:
  TemporaryDirectory directory_;
  int edits_ = 0;
};

}  // namespace flor::testing
