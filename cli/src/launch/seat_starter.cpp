#include "launch/seat_starter.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace flor::cli {
namespace {

class SlurmStarter final : public SeatStarter {
 public:
  SlurmStarter(const EngineWish& wish, const SlurmTasks& tasks)
      : wish_(wish.slurm), tasks_(tasks) {}

  void start() override { job_ = SlurmJob::submit(tasks_, wish_); }

  std::string waiting_for() override {
    const SlurmState& state = job_->state();
    const std::string job = "job " + job_->id();
    if (!state.trouble.empty()) {
      return fmt::format("Slurm does not answer: {}", printable(state.trouble));
    }
    if (state.phase == SlurmState::Phase::pending) return job + " " + state.why_pending();
    if (state.phase == SlurmState::Phase::running) return job + " has begun";
    return job + " is submitted";
  }

  std::optional<std::string> over() override {
    const SlurmState& state = job_->state();
    if (state.is_stuck()) {
      return fmt::format("job {} would never start: it {}", job_->id(), state.why_pending());
    }
    if (state.phase != SlurmState::Phase::ended) return std::nullopt;
    return how_it_ended(state.name);
  }

  /// True if the job ended because a node was lost or because it had to make room; false if it
  /// ended by a limit that the user set. COMPLETED and FAILED are included because Slurm may report
  /// them when the node of the batch script dies.
  bool may_start_again() override {
    constexpr std::array<std::string_view, 6> kHope{"",          "NODE_FAIL", "PREEMPTED",
                                                    "BOOT_FAIL", "COMPLETED", "FAILED"};
    const SlurmState& state = job_->state();
    return state.phase == SlurmState::Phase::ended && !job_->is_step() &&
           std::ranges::find(kHope, state.name) != kHope.end();
  }

  void look_soon() override { job_->ask_soon(); }
  void stop() override {
    if (job_) job_->cancel();
  }

 private:
  std::string how_it_ended(const std::string& name) const {
    const std::string words = printable(job_->last_words());
    std::string text = fmt::format("job {} has ended", job_->id());
    if (name == "TIMEOUT" || name == "DEADLINE") {
      text = fmt::format("job {} has reached its time limit (--time)", job_->id());
    } else if (name == "CANCELLED") {
      text = fmt::format("job {} was cancelled", job_->id());
    } else if (name == "OUT_OF_MEMORY") {
      text = fmt::format("job {} needed more memory than it may have (--sbatch=--mem=...)",
                         job_->id());
    } else if (!name.empty() && name != "COMPLETED") {
      text += fmt::format(" ({})", name);
    }
    const bool explains = !words.empty() && name != "TIMEOUT" && name != "CANCELLED";
    return explains ? fmt::format("{}: {}", text, words) : text;
  }

  SlurmWish wish_;
  SlurmTasks tasks_;
  std::unique_ptr<SlurmJob> job_;
};

/// Starts seats by a command on this machine that runs as long as they do.
class CommandStarter final : public SeatStarter {
 public:
  CommandStarter(std::vector<std::string> words, std::string what,
                 std::map<std::string, std::optional<std::string>> environment,
                 std::filesystem::path log)
      : words_(std::move(words)),
        what_(std::move(what)),
        environment_(std::move(environment)),
        log_(std::move(log)) {}

  void start() override {
    if (words_.front().find('/') == std::string::npos && !find_on_path(words_.front())) {
      throw Error(fmt::format("there is no {} on PATH{}", printable(words_.front()), what_));
    }
    child_ = std::make_unique<ChildProcess>(
        words_,
        ChildOptions{.directory = {}, .environment = environment_, .log = log_, .alone = true});
  }
  std::optional<std::string> over() override {
    if (child_ && !status_) {
      if (const auto result = child_->ended()) status_ = result->status;
    }
    if (!status_) return std::nullopt;
    std::ifstream log(log_);
    std::string words;
    for (std::string line; std::getline(log, line);) {
      if (!line.empty()) words = line;
    }
    return fmt::format("{} has ended with status {}{}", printable(words_.front()), *status_,
                       words.empty() ? "" : fmt::format(": {}", printable(words)));
  }
  /// Ends the seats that have not started yet; those that have were told to leave by a message.
  void stop() override {
    if (!child_ || over()) return;
    child_->kill(SIGTERM);
    child_->kill(SIGTERM);  // after the first signal, GNU parallel still waits for its jobs
  }

 private:
  std::vector<std::string> words_;
  std::string what_;
  std::map<std::string, std::optional<std::string>> environment_;
  std::filesystem::path log_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<int> status_;
};

/// Starts equal numbers of seats on all hosts, give or take one. If a host fails, another one gets
/// its seat.
std::unique_ptr<SeatStarter> ssh_starter(const EngineWish& wish, const SlurmTasks& tasks) {
  const auto hosts = static_cast<int>(wish.words.size());
  std::vector<std::string> words{
      "parallel",     "--will-cite",
      "--quote",      "--ungroup",
      "--halt=never", "--retries=3",
      "--max-args=0", fmt::format("--jobs={}", (tasks.count + hosts - 1) / hosts)};
  for (const std::string& host : wish.words) words.insert(words.end(), {"--sshlogin", host});
  words.insert(words.end(), tasks.command.begin(), tasks.command.end());
  words.push_back(":::");
  for (int i = 0; i < tasks.count; ++i) words.push_back(std::to_string(i));
  return std::make_unique<CommandStarter>(
      std::move(words),
      ": --engine ssh:HOSTS needs GNU parallel (package parallel) on this machine",
      std::map<std::string, std::optional<std::string>>{
          {"PARALLEL_HOME", (tasks.directory / "parallel").string()},
          // Otherwise parallel uses the user's shell, which may not support what it needs.
          {"PARALLEL_SHELL", "/bin/sh"}},
      tasks.directory / "seats.out");
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace

void parse_engine(const std::string& text, EngineWish& wish) {
  using enum EngineWish::Kind;
  const std::string kind = text.substr(0, text.find(':'));
  const std::string rest = kind.size() < text.size() ? text.substr(kind.size() + 1) : "";
  if (kind == "ssh") {
    wish.kind = ssh;
    wish.words = split_at(rest, ',');
  } else if (kind == "run") {
    wish.kind = command;
    wish.words = split_at(rest, ' ');
  } else if (text == "slurm") {
    wish.kind = slurm;
    return;
  } else if (text == "local") {
    wish.kind = local;
    return;
  }
  if (!wish.words.empty()) return;
  throw UsageError(
      fmt::format("--engine {}: expected local, slurm, ssh:HOST,HOST, or run:COMMAND, which starts "
                  "the command behind it on other machines",
                  printable(text)));
}

std::unique_ptr<SeatStarter> make_seat_starter(const EngineWish& wish, const SlurmTasks& tasks) {
  if (wish.kind == EngineWish::Kind::slurm) return std::make_unique<SlurmStarter>(wish, tasks);
  if (wish.kind == EngineWish::Kind::ssh) return ssh_starter(wish, tasks);
  std::vector<std::string> words = wish.words;
  words.insert(words.end(), tasks.command.begin(), tasks.command.end());
  return std::make_unique<CommandStarter>(std::move(words), "",
                                          std::map<std::string, std::optional<std::string>>{},
                                          tasks.directory / "seats.out");
}

}  // namespace flor::cli
