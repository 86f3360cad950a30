#include "watch/evaluators/worker_group.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using Message = EvaluatorProcess::Message;

/// Work that is leased ahead for each worker, in seconds and in jobs at most, so that a worker does
/// not wait while the queue is busy.
constexpr double kAhead = 0.02;
constexpr double kMostAhead = 64;
/// Deaths in a row, per worker, before one was ready, after which the evaluator counts as broken.
constexpr std::size_t kDeathsBeforeReady = 5;
constexpr milliseconds kLogPause{1000};

void limit_log(const std::filesystem::path& log) {
  std::error_code error;
  if (std::filesystem::file_size(log, error) <= kLogLimit || error) return;
  std::filesystem::resize_file(log, 0, error);  // the log is opened for appending, so writing
                                                // continues at its new end
  std::ofstream(log, std::ios::app)
      << fmt::format("[flor: the first {} MiB were removed]\n", kLogLimit >> 20);
}

}  // namespace

std::filesystem::path job_logs(const store::Store& store) { return store.home() / "logs" / "jobs"; }

std::filesystem::path job_log(const std::filesystem::path& logs, const store::Lease& lease) {
  return logs / fmt::format("{}.{}.log", lease.job, lease.token);
}

std::filesystem::path job_log(const store::Store& store, const store::Lease& lease) {
  return job_log(job_logs(store), lease);
}

WorkerGroup::WorkerGroup(GroupPlan plan, std::int64_t evaluator, std::filesystem::path logs,
                         Note note)
    : plan_(std::move(plan)),
      evaluator_(evaluator),
      logs_(std::move(logs)),
      note_(std::move(note)),
      processes_(plan_.evaluator) {}

void WorkerGroup::start() {
  slots_.resize(std::max<std::size_t>(1, plan_.workers));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!plan_.gpus.empty()) {
      slots_[i].environment["CUDA_VISIBLE_DEVICES"] = plan_.gpus[i % plan_.gpus.size()];
    }
    slots_[i].process = processes_.start(slots_[i].environment);
  }
}

void WorkerGroup::add_descriptors(std::vector<pollfd>& waiting) const {
  if (processes_.descriptor() >= 0) waiting.push_back({processes_.descriptor(), POLLIN, 0});
  for (const Slot& slot : slots_) waiting.push_back({slot.process->descriptor(), POLLIN, 0});
}

WorkerGroup::Clock::time_point WorkerGroup::due() const {
  auto due = Clock::time_point::max();
  for (const Slot& slot : slots_) {
    if (!slot.job) continue;
    due = std::min(due, std::max(next_limit_, slot.began + kLogPause));
    if (plan_.timeout) due = std::min(due, slot.began + *plan_.timeout);
  }
  return due;
}

void WorkerGroup::hear(const Tell& tell) {
  try {
    processes_.hear();
    for (Slot& slot : slots_) {
      for (const Message& answer : slot.process->answers()) {
        hear(slot, answer, tell);
        if (answer.kind == Message::Kind::died) break;  // the slot has a new process
      }
    }
    end_overdue(tell);
    limit_logs();
  } catch (const Error&) {
    hear_last(tell);
    throw;
  }
}

/// Takes results that have arrived, after it is known that the evaluator cannot continue.
void WorkerGroup::hear_last(const Tell& tell) {
  for (Slot& slot : slots_) {
    if (!slot.process) continue;
    for (const Message& answer : slot.process->answers()) {
      const bool is_verdict =
          answer.kind == Message::Kind::result || answer.kind == Message::Kind::error;
      if (is_verdict) hear(slot, answer, tell);
    }
  }
}

void WorkerGroup::hear(Slot& slot, const Message& answer, const Tell& tell) {
  const auto cannot = [&](const char* what, const std::string& why) {
    return Error(fmt::format("{} {}: {}", printable(plan_.evaluator.text()), what, printable(why)));
  };
  switch (answer.kind) {
    case Message::Kind::ready:
      slot.is_ready = true;
      deaths_before_ready_ = 0;
      return;
    case Message::Kind::fatal:
      throw cannot("cannot be loaded", answer.text);
    case Message::Kind::result:
      if (!slot.job) return;
      try {
        tell(end(slot, true, result_json(answer.text)));
      } catch (const Error& error) {
        tell(end(slot, false, error.what()));
      }
      return;
    case Message::Kind::error:
      if (slot.job) tell(end(slot, false, answer.text));
      return;
    case Message::Kind::died:
      if (slot.job) {
        tell(end(slot, false, answer.text));
      } else if (!slot.is_ready && ++deaths_before_ready_ >= kDeathsBeforeReady * slots_.size()) {
        throw cannot("does not start", processes_.last_end().value_or(answer.text));
      }
      restart(slot);
      return;
  }
}

Verdict WorkerGroup::end(Slot& slot, bool good, std::string text) {
  const double seconds = std::chrono::duration<double>(Clock::now() - slot.began).count();
  mean_seconds_ = mean_seconds_ ? 0.8 * *mean_seconds_ + 0.2 * seconds : seconds;
  const auto log = job_log(logs_, slot.job->lease);
  std::error_code error;
  if (std::filesystem::file_size(log, error) == 0 && !error) std::filesystem::remove(log, error);
  return {*std::exchange(slot.job, std::nullopt), good, std::move(text), seconds};
}

void WorkerGroup::restart(Slot& slot) {
  slot.process.reset();
  slot.process = processes_.start(slot.environment);
  slot.is_ready = false;
}

void WorkerGroup::end_overdue(const Tell& tell) {
  if (!plan_.timeout) return;
  for (Slot& slot : slots_) {
    if (!slot.job || Clock::now() < slot.began + *plan_.timeout) continue;
    tell(end(slot, false,
             fmt::format("it took longer than {} s (--timeout)",
                         static_cast<double>(plan_.timeout->count()) / 1000)));
    restart(slot);
  }
}

void WorkerGroup::limit_logs() {
  if (Clock::now() < next_limit_) return;
  next_limit_ = Clock::now() + kLogPause;
  for (const Slot& slot : slots_) {
    if (slot.job) limit_log(job_log(logs_, slot.job->lease));
  }
}

std::size_t WorkerGroup::wanted() const {
  std::size_t free = 0;
  for (const Slot& slot : slots_) free += slot.is_ready && !slot.job ? 1 : 0;
  const double ahead = mean_seconds_ ? kAhead / std::max(*mean_seconds_, kAhead / kMostAhead) : 0;
  const std::size_t most = free + slots_.size() * static_cast<std::size_t>(ahead);
  return most > backlog_.size() ? most - backlog_.size() : 0;
}

void WorkerGroup::dispatch() {
  for (Slot& slot : slots_) {
    if (backlog_.empty()) return;
    if (!slot.is_ready || slot.job) continue;
    slot.job = std::move(backlog_.front());
    backlog_.pop_front();
    slot.began = Clock::now();
    slot.process->judge(slot.job->what, job_log(logs_, slot.job->lease));
  }
}

std::vector<store::Lease> WorkerGroup::leases() const {
  std::vector<store::Lease> all;
  for (const Slot& slot : slots_) {
    if (slot.job) all.push_back(slot.job->lease);
  }
  for (const store::LeasedJob& job : backlog_) all.push_back(job.lease);
  return all;
}

std::vector<store::Lease> WorkerGroup::take_waiting() {
  std::vector<store::Lease> waiting;
  for (const store::LeasedJob& job : std::exchange(backlog_, {})) waiting.push_back(job.lease);
  return waiting;
}

void WorkerGroup::call_off(const store::Lease& lease) {
  std::erase_if(backlog_, [&](const store::LeasedJob& job) { return job.lease == lease; });
  for (Slot& slot : slots_) {
    if (!slot.job || slot.job->lease != lease) continue;
    note_(fmt::format("{}: its evaluation was called off", printable(slot.job->what.path)));
    slot.job.reset();
    if (slot.process) restart(slot);
  }
}

bool WorkerGroup::is_ready() const { return std::ranges::all_of(slots_, &Slot::is_ready); }

void WorkerGroup::stop() {
  for (Slot& slot : slots_) slot.process.reset();
}

}  // namespace flor::cli
