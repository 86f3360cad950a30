#include "launch/slurm_job.h"

#include "launch/left_jobs.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

/// The last line of the text that is not empty.
std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find_last_not_of("\n\r ");
    if (end == text.npos) break;
    text = text.substr(0, end + 1);
    const std::size_t line = text.rfind('\n');
    return std::string(line == text.npos ? text : text.substr(line + 1));
  }
  return {};
}

/// The error message of a Slurm command, without the prefixes that Slurm adds.
std::string complaint(const ChildResult& result) {
  std::string line = last_line(result.errors);
  if (line.empty()) line = fmt::format("status {}", result.status);
  for (const std::string_view before :
       {"sbatch: ", "srun: ", "squeue: ", "scancel: ", "error: ", "Batch job submission failed: ",
        "slurm_load_jobs error: "}) {
    if (line.starts_with(before)) line.erase(0, before.size());
  }
  return line;
}

void require(const char* command) {
  if (find_on_path(command)) return;
  throw Error(
      fmt::format("there is no {} on PATH: --engine slurm needs the commands of Slurm on this "
                  "machine; --engine ssh:HOST,HOST needs none",
                  command));
}

/// Escapes percent signs, since Slurm replaces what follows one in file names.
std::string literally(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '%' ? std::string(2, c) : std::string(1, c);
  return result;
}

std::vector<std::string> resources(const SlurmTasks& tasks, const SlurmWish& wish, int count) {
  std::vector<std::string> words{fmt::format("--ntasks={}", count),
                                 fmt::format("--cpus-per-task={}", tasks.cores)};
  if (wish.nodes) words.push_back(fmt::format("--nodes={}", *wish.nodes));
  if (wish.gpus_per_task) words.push_back(fmt::format("--gpus-per-task={}", *wish.gpus_per_task));
  return words;
}

/// The srun command. Its options make a step survive the end of one task or node.
std::vector<std::string> srun_words(const SlurmTasks& tasks, const SlurmWish& wish) {
  std::vector<std::string> words{"srun", "--no-kill", "--kill-on-bad-exit=0", "--wait=0",
                                 "--mpi=none"};
  for (std::string& word : resources(tasks, wish, tasks.count)) words.push_back(std::move(word));
  words.insert(words.end(), wish.srun.begin(), wish.srun.end());
  words.insert(words.end(), tasks.command.begin(), tasks.command.end());
  return words;
}

std::string script(const SlurmTasks& tasks, const SlurmWish& wish) {
  const std::vector<std::string> words = wish.array ? tasks.command : srun_words(tasks, wish);
  std::string text = "#!/bin/sh\nexec";
  for (const std::string& word : words) text += fmt::format(" {}", shell_word(word));
  return text + "\n";
}

std::vector<std::string> sbatch_words(const SlurmTasks& tasks, const SlurmWish& wish,
                                      const fs::path& file) {
  const std::string output =
      literally((tasks.directory / "slurm-").string()) + (wish.array ? "%A_%a.out" : "%j.out");
  std::vector<std::string> words{"sbatch",
                                 "--parsable",
                                 "--requeue",
                                 "--no-kill",
                                 "--open-mode=append",
                                 "--job-name=" + tasks.name,
                                 "--output=" + output};
  if (wish.array) words.push_back(fmt::format("--array=0-{}", tasks.count - 1));
  for (std::string& word : resources(tasks, wish, wish.array ? 1 : tasks.count)) {
    words.push_back(std::move(word));
  }
  for (const auto& [name, value] :
       {std::pair("partition", &wish.partition), std::pair("account", &wish.account),
        std::pair("time", &wish.time), std::pair("gres", &wish.gres)}) {
    if (!value->empty()) words.push_back(fmt::format("--{}={}", name, *value));
  }
  words.insert(words.end(), wish.sbatch.begin(), wish.sbatch.end());
  words.push_back(file.string());
  return words;
}

/// The phase that one of Slurm's state names means.
SlurmState::Phase phase_of(std::string_view name) {
  using enum SlurmState::Phase;
  constexpr std::array<std::string_view, 8> kRunning{"RUNNING",   "COMPLETING", "CONFIGURING",
                                                     "SUSPENDED", "SIGNALING",  "STAGE_OUT",
                                                     "STOPPED",   "RESIZING"};
  constexpr std::array<std::string_view, 6> kPending{
      "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  if (std::ranges::find(kRunning, name) != kRunning.end()) return running;
  if (std::ranges::find(kPending, name) != kPending.end()) return pending;
  return ended;
}

struct Reason {
  std::string_view name, words;
  bool stuck = false;
};
constexpr Reason kReasons[] = {
    {"Priority", "waits for the jobs before it"},
    {"Resources", "waits until enough is free"},
    {"None", "waits to be looked at"},
    {"BeginTime", "was requeued and starts again in a while, usually two minutes"},
    {"Dependency", "waits for another job"},
    {"Licenses", "waits for a licence"},
    {"ReqNodeNotAvail", "waits for nodes that are down or reserved"},
    {"PartitionConfig", "waits since the partition does not allow it"},
    {"PartitionDown", "waits since the partition is down"},
    {"PartitionInactive", "waits since the partition is inactive"},
    {"NodeDown", "waits for a node that is down"},
    {"PartitionTimeLimit", "wants more time than the partition allows", true},
    {"PartitionNodeLimit", "wants more nodes than the partition allows", true},
    {"BadConstraints", "wants what no node has", true},
    {"JobHeldUser", "is held: scontrol release"},
    {"JobHeldAdmin", "is held by the administrator"},
    {"AccountNotAllowed", "has an account that may not use the partition", true},
    {"InvalidAccount", "has an account that does not exist", true},
    {"InvalidQOS", "has a quality of service that does not exist", true},
    {"DependencyNeverSatisfied", "waits for a job that will not succeed", true},
};

const Reason* known_reason(std::string_view reason) {
  const auto found = std::ranges::find(kReasons, reason, &Reason::name);
  return found == std::end(kReasons) ? nullptr : found;
}

}  // namespace

std::string SlurmState::why_pending() const {
  const Reason* known = known_reason(reason);
  const std::string_view words = known ? known->words : "waits";
  return reason.empty() ? std::string(words) : fmt::format("{} ({})", words, printable(reason));
}

bool SlurmState::is_stuck() const {
  const Reason* known = known_reason(reason);
  return phase == Phase::pending && known && known->stuck;
}

SlurmState parse_squeue(std::string_view text) {
  using enum SlurmState::Phase;
  constexpr std::array kOrder{unknown, ended, pending, running};
  const auto rank = [&](SlurmState::Phase phase) { return std::ranges::find(kOrder, phase); };
  SlurmState state;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find('|'), second = line.find('|', first + 1);
    if (second == line.npos) continue;
    SlurmState element;
    element.name = line.substr(0, first);
    element.reason = line.substr(first + 1, second - first - 1);
    element.nodes = line.substr(second + 1);
    element.phase = phase_of(element.name);
    if (rank(element.phase) > rank(state.phase)) state = std::move(element);
  }
  return state;
}

std::unique_ptr<SlurmJob> SlurmJob::submit(const SlurmTasks& tasks, const SlurmWish& wish) {
  const char* allocation = std::getenv("SLURM_JOB_ID");
  if (allocation && !wish.array) {
    require("srun");
    auto job = std::make_unique<SlurmJob>(allocation);
    job->output_ = tasks.directory;
    job->step_ = std::make_unique<ChildProcess>(
        srun_words(tasks, wish),
        ChildOptions{.directory = {},
                     .log = tasks.directory / fmt::format("slurm-{}.out", allocation),
                     .alone = true});
    return job;
  }
  for (const char* command : {"sbatch", "squeue", "scancel"}) require(command);
  const fs::path file = tasks.directory / kSlurmScript;
  std::ofstream(file) << script(tasks, wish);
  const ChildResult result =
      run_child(sbatch_words(tasks, wish, file), {.directory = {}, .alone = true});
  std::string id = last_line(result.output);
  id = id.substr(0, id.find(';'));  // sbatch prints ID;CLUSTER
  if (result.status != 0 || id.empty() || id.find_first_not_of("0123456789") != id.npos) {
    throw Error(fmt::format("Slurm refused the job: {}", complaint(result)));
  }
  auto job = std::make_unique<SlurmJob>(id);
  job->output_ = tasks.directory;
  return job;
}

void SlurmJob::ask_soon() {
  since_ = Clock::now();
  asked_at_ = {};
}

const SlurmState& SlurmJob::state() {
  if (step_) {
    if (state_.phase != SlurmState::Phase::ended && step_->ended()) {
      state_ = {.phase = SlurmState::Phase::ended, .name = "COMPLETED"};
    } else if (state_.phase == SlurmState::Phase::unknown) {
      state_ = {.phase = SlurmState::Phase::running, .name = "RUNNING"};
    }
    return state_;
  }
  if (asking_) {
    if (const auto answer = asking_->ended()) {
      asking_.reset();
      hear(*answer);
    }
    return state_;
  }
  const auto now = Clock::now();
  const auto wait = std::clamp<Clock::duration>((now - since_) / 10, std::chrono::seconds(1),
                                                std::chrono::seconds(15));
  if (now - asked_at_ < wait) return state_;
  asked_at_ = now;
  asking_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{"squeue", "--noheader", "--array", "--states=all", "--jobs=" + id_,
                               "--format=%T|%r|%N"},
      ChildOptions{.directory = {}, .alone = true});
  return state_;
}

void SlurmJob::hear(const ChildResult& answer) {
  if (answer.status == 0) {
    state_ = parse_squeue(answer.output);
    // A job that squeue does not list has ended: Slurm forgets jobs some minutes after their end.
    if (state_.phase == SlurmState::Phase::unknown) state_.phase = SlurmState::Phase::ended;
  } else if (answer.errors.find("Invalid job id") != std::string::npos) {
    state_ = {.phase = SlurmState::Phase::ended};
  } else {
    state_.trouble = complaint(answer);
  }
}

bool SlurmJob::cancel(double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  if (step_) {
    step_->kill(SIGTERM);
    while (Clock::now() < until && state_.phase != SlurmState::Phase::ended) {
      if (step_->ended()) state_.phase = SlurmState::Phase::ended;
      ::poll(nullptr, 0, 20);
    }
    return state_.phase == SlurmState::Phase::ended;
  }
  ChildProcess cancelling({"scancel", id_}, {.directory = {}, .alone = true});
  while (Clock::now() < until) {
    if (const auto result = cancelling.ended()) return result->status == 0;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

std::string SlurmJob::last_words() const {
  std::string words;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(output_, error)) {
    if (!entry.path().filename().string().starts_with("slurm-" + id_)) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    constexpr std::streamoff kEnd = 1 << 14;
    file.seekg(0, std::ios::end);
    file.seekg(std::max<std::streamoff>(file.tellg() - kEnd, 0));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (std::string line = last_line(text); !line.empty()) words = std::move(line);
  }
  return words;
}

}  // namespace flor::cli
