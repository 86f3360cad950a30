#include "watch/evaluators/judge_seat.h"

#include "file/line_log.h"
#include "process/stop_signals.h"
#include "seats/seat.h"
#include "watch/evaluators/seat_protocol.h"
#include "watch/evaluators/worker_group.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// The value of a variable that Slurm sets in every task; "0" without Slurm.
std::string of_slurm(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "0";
}

/// A name that is unique among all seats of this evaluator; a requeued task gets a new one.
std::string seat_name() {
  return fmt::format("{}.{}.{}-{}", of_slurm("SLURM_JOB_ID"), of_slurm("SLURM_RESTART_COUNT"),
                     of_slurm("SLURM_PROCID"), store::new_run_key());
}

store::Lease lease_of(const json& what) {
  return {what.at("job").get<std::int64_t>(), what.at("token").get<std::int64_t>()};
}

class JudgeSeat {
 public:
  explicit JudgeSeat(const fs::path& directory)
      : plan_(read_seat_plan(directory)),
        said_(directory / (seat_name() + ".said"), true),
        watch_(directory / "watch.log"),
        told_(fs::path(said_.path()).replace_extension(".told")),
        group_(plan_.group, 0, plan_.logs,
               [this](const std::string& note) { say(seat::kNote, note); }) {}
  JudgeSeat(const JudgeSeat&) = delete;
  JudgeSeat& operator=(const JudgeSeat&) = delete;

  int run() {
    say(seat::kHello, {{"host", node_name()},
                       {"job", of_slurm("SLURM_JOB_ID")},
                       {"restart", of_slurm("SLURM_RESTART_COUNT")}});
    try {
      judge();
    } catch (const Error& error) {
      say(seat::kFatal, error.what());
      flush();
      return 1;
    }
    flush();
    return 0;
  }

 private:
  void say(const char* name, const json& value) { lines_.push_back(seat::line(name, value)); }
  void flush() {
    if (lines_.empty()) return;
    said_.append(lines_);
    lines_.clear();
    next_beat_ = Clock::now() + plan_.beat;
  }

  void judge() {
    group_.start();
    while (!ends_) {
      wait();
      group_.hear([this](Verdict verdict) { tell(std::move(verdict)); });
      if (!was_ready_ && group_.is_ready()) say(seat::kReady, true);
      was_ready_ = was_ready_ || group_.is_ready();
      if (pace_.is_due()) listen();
      group_.dispatch();
      if (Clock::now() >= next_beat_) say(seat::kBeat, true);
      flush();
    }
    group_.stop();
  }

  void wait() {
    std::vector<pollfd> waiting{{signals_.descriptor(), POLLIN, 0}};
    group_.add_descriptors(waiting);
    const auto due = std::min({group_.due(), pace_.next(), next_beat_});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left)));
    if (!signals_.came()) return;
    say(seat::kBye, true);
    ends_ = true;
  }

  void tell(Verdict verdict) {
    say(seat::kResult, {{"job", verdict.job.lease.job},
                        {"token", verdict.job.lease.token},
                        {"good", verdict.good},
                        {"text", verdict.text},
                        {"seconds", verdict.seconds}});
    pace_.looked(true);  // another job will come soon
  }

  void listen() {
    const auto of_all = watch_.read(), of_us = told_.read();
    for (const std::string& line : of_all) obey(json::parse(line, nullptr, false));
    for (const std::string& line : of_us) obey(json::parse(line, nullptr, false));
    pace_.looked(!of_us.empty());
    const auto now = Clock::now();
    if (!of_all.empty()) heard_ = now;
    // The watch is dead: its directory is gone, or will be.
    if (now - heard_ > plan_.beat * kSilentBeats) ends_ = true;
  }

  void obey(const json& order) {
    if (!order.is_object()) return;
    if (order.contains(seat::kEnd)) ends_ = true;
    if (order.contains(seat::kCallOff)) group_.call_off(lease_of(order[seat::kCallOff]));
    if (!order.contains(seat::kJudge)) return;
    const json& what = order[seat::kJudge];
    group_.give({.lease = lease_of(what),
                 .what = {.content = {},
                          .arguments = what.at("arguments").get<std::string>(),
                          .path = what.at("path").get<std::string>()}});
  }

  StopSignals signals_;  // the first member, so that no thread receives the signals
  SeatPlan plan_;
  store::LineLogWriter said_;
  store::LineLogReader watch_, told_;
  Pace pace_;
  WorkerGroup group_;
  std::vector<std::string> lines_;  // not written yet
  Clock::time_point heard_ = Clock::now(), next_beat_ = Clock::now();
  bool was_ready_ = false, ends_ = false;
};

}  // namespace

int run_judge_seat(const std::filesystem::path& directory) {
  try {
    return JudgeSeat(directory).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flor: %s\n", error.what());
    return 1;
  }
}

}  // namespace flor::cli
