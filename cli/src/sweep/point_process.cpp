#include "sweep/point_process.h"

#include "index/catalog/labels.h"
#include "output/terminal_text.h"
#include "process/child.h"
#include "process/stop_signals.h"
#include "protocol/sweep_fact.h"
#include "sweep/sweep_runs.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace flor::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time for a program to take its last checkpoint and end; then it is killed.
constexpr std::chrono::seconds kPointGrace{30};
/// Pause between two looks at what the runs of the sweep have logged.
constexpr milliseconds kPointLook{500};
/// Pause between two checks whether the program, or an earlier recording of the point, has ended.
constexpr milliseconds kPointTry{50};
/// Time to wait for an earlier recording of the same point to end.
constexpr std::chrono::seconds kPointPatience{600};

/// The signal that asks a program to end. Not SIGTERM: a second SIGTERM ends a program at once,
/// without a checkpoint, and when a Slurm job is cancelled, Slurm sends the first one to every
/// process. A program with Flor takes SIGUSR1 like a first SIGTERM, however often it comes.
constexpr int kAskToEnd = SIGUSR1;

std::string last_words_in(const std::filesystem::path& log) {
  constexpr std::streamoff kEnd = 1 << 14;
  std::ifstream in(log, std::ios::binary);
  in.seekg(0, std::ios::end);
  in.seekg(std::max<std::streamoff>(in.tellg() - kEnd, 0));
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

class PointRecorder {
 public:
  PointRecorder(const std::string& home, const std::string& sweep, std::size_t point)
      : store_(store::Store::open(home, store::OpenMode::existing)),
        plan_(require_plan(sweep)),
        point_(point),
        order_(PointOrder::decode(arguments())) {
    if (point_ >= plan_.points.size()) throw NotFound(fmt::format("no point {}", point_));
  }

  PointReport record() {
    const auto lock = await_lock();
    PointState state = present();
    if (!lock || state.is_done()) return report(state);
    if (state.run && state.run->state == store::RunState::running) {
      PointReport result = report(state);
      result.words = fmt::format("run {} is recorded by another process", state.run->key);
      return result;
    }
    const bool resumes = state.run.has_value();
    int status = execute(
        *lock, resumes ? plan_.continuing(point_, state.run->key) : plan_.beginning(point_));
    // The program did not reach the state in which the run was interrupted, so a new run is begun.
    if (resumes && status == static_cast<int>(ExitStatus::differs) && !asked_) {
      status = execute(*lock, plan_.beginning(point_));
    }
    state = present();
    PointReport result = report(state);
    constexpr int kKilled = 128;
    result.hopeless = !state.run && !asked_ && status < kKilled;
    if (!result.done && result.words.empty()) result.words = fmt::format("status {}", status);
    return result;
  }

 private:
  SweepPlan require_plan(const std::string& sweep) const {
    auto plan = read_plan(*store_, sweep);
    if (!plan) throw NotFound(fmt::format("there is no sweep {}", printable(sweep)));
    return *std::move(plan);
  }
  static std::string arguments() {
    const char* text = std::getenv("FLOR_ARGUMENTS");
    return text ? text : "";
  }

  PointState present() const { return point_states(*store_, plan_)[point_]; }

  PointReport report(const PointState& state) const {
    PointReport report;
    report.done = state.is_done();
    report.state = state.text();
    if (state.run) {
      report.run = state.run->key;
      report.epochs = state.run->epochs;
    }
    if (!report.done) report.words = last_words_in(point_log(*store_, plan_, point_));
    return report;
  }

  /// Waits until no other process records the point, and locks it. Returns nullopt if this process
  /// must end first. Throws Busy if the other process does not end.
  std::optional<SweepLock> await_lock() {
    const auto until = Clock::now() + kPointPatience;
    for (;;) {
      if (auto lock = SweepLock::of_point(*store_, plan_, point_)) return lock;
      pollfd waiting{signals_.descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, static_cast<int>(kPointTry.count())) > 0 && signals_.came()) {
        asked_ = true;
        return std::nullopt;
      }
      if (Clock::now() < until) continue;
      throw Busy(fmt::format(
          "{} is held by a process left over from an earlier recording: end that process",
          printable(fmt::format("{}.lock", point_))));
    }
  }

  int execute(const SweepLock& lock, std::vector<std::string> words) {
    ChildOptions options{.directory = plan_.directory,
                         .environment = {{"FLOR_HOME", store_->home().string()},
                                         {detail::kSweepVariable, plan_.name},
                                         {"FLOR_ARGUMENTS", std::nullopt},
                                         {"FLOR_CHECKPOINT", std::nullopt}},
                         .log = point_log(*store_, plan_, point_),
                         .inherited = lock.descriptor(),
                         .alone = true};
    if (order_.threads > 0) {
      options.environment["OMP_NUM_THREADS"] = std::to_string(order_.threads);
    }
    ChildProcess child(std::move(words), options);
    next_look_ = Clock::now() + kPointLook;
    for (;;) {
      if (const auto result = child.ended()) return result->status;
      wait(child);
    }
  }

  void wait(const ChildProcess& child) {
    pollfd waiting{signals_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(kPointTry.count()));
    if (signals_.came()) ask_to_end(child);
    if (asked_) {
      if (Clock::now() >= deadline_) child.kill(SIGKILL);
      return;
    }
    if (!order_.stop || Clock::now() < next_look_) return;
    next_look_ = Clock::now() + kPointLook;
    if (!is_poor_now()) return;
    // The tag is set first: if this process is killed in between, the run counts as done.
    store::change_tags(*store_, run_->id, std::vector<std::string>{kStoppedTag}, {});
    ask_to_end(child);
  }

  void ask_to_end(const ChildProcess& child) {
    child.kill(kAskToEnd);
    if (!asked_) deadline_ = Clock::now() + kPointGrace;
    asked_ = true;
  }

  /// Whether the run is poor. Judges only if the run has made an epoch since the last call.
  bool is_poor_now() {
    store_->catalog().follow();
    if (!run_) {
      const PointState state = present();
      if (!state.run || state.run->state != store::RunState::running) return false;
      run_ = state.run;
    } else if (const auto run = store_->catalog().run(run_->id);
               run && run->epochs > run_->epochs) {
      run_ = run;
    } else {
      return false;
    }
    const StopRule& rule = *order_.stop;
    const MetricCourse own = course_of(*store_, *run_, rule.goal.metric);
    std::vector<MetricCourse> others;
    for (const PointState& state : point_states(*store_, plan_)) {
      if (!state.run || state.run->id == run_->id) continue;
      others.push_back(course_of(*store_, *state.run, rule.goal.metric));
    }
    // Several epochs may have ended since the last call.
    for (; judged_ < own.size(); ++judged_) {
      const MetricCourse until(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(judged_) + 1);
      if (is_poor(others, until, rule.goal.order, rule.after)) return true;
    }
    return false;
  }

  StopSignals signals_{SIGINT, SIGTERM, SIGHUP, kAskToEnd};
  std::shared_ptr<store::Store> store_;
  SweepPlan plan_;
  std::size_t point_;
  PointOrder order_;
  std::optional<store::Run> run_;  // the run that the program records, as last read
  std::size_t judged_ = 0;         // number of its epochs that were judged
  bool asked_ = false;             // whether the program was asked to end
  Clock::time_point deadline_, next_look_;
};

/// Leaves the process group that is killed with the worker, so that this process survives its
/// parent long enough to ask the program to end.
void outlive_parent() {
  const pid_t parent = ::getppid();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, kAskToEnd);
  if (::getppid() != parent) ::raise(kAskToEnd);
}

}  // namespace

std::string PointOrder::encode() const {
  json text{{"threads", threads}};
  if (stop) {
    text["stop"] = {{"goal", stop->goal.text()}, {"after", stop->after}};
  }
  return text.dump();
}

PointOrder PointOrder::decode(const std::string& text) {
  try {
    const json order = json::parse(text);
    PointOrder result;
    result.threads = order.at("threads").get<int>();
    if (order.contains("stop")) {
      const json& stop = order["stop"];
      result.stop = {.goal = Goal::parse("goal", stop.at("goal").get<std::string>()),
                     .after = stop.at("after").get<std::size_t>()};
    }
    return result;
  } catch (const json::exception&) {
    throw Error("another version of flor has started this one (--remote-flor)");
  }
}

std::string PointReport::encode() const {
  return json{{"run", run},     {"hopeless", hopeless}, {"done", done},
              {"state", state}, {"epochs", epochs},     {"words", words}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

PointReport PointReport::decode(const std::string& text) {
  try {
    const json report = json::parse(text);
    return {.run = report.at("run").get<std::string>(),
            .hopeless = report.at("hopeless").get<bool>(),
            .done = report.at("done").get<bool>(),
            .state = report.at("state").get<std::string>(),
            .epochs = report.at("epochs").get<std::int64_t>(),
            .words = report.at("words").get<std::string>()};
  } catch (const json::exception&) {
    throw Error("what the process of the point says is not understood (--remote-flor)");
  }
}

int run_point(const std::vector<std::string>& words) {
  try {
    StopSignals early({SIGINT, SIGTERM, SIGHUP, kAskToEnd});  // signals stay pending until they are
                                                              // read
    outlive_parent();
    PointRecorder recorder(words.at(0), words.at(1), std::stoul(words.at(2)));
    fmt::print("{}\n", recorder.record().encode());
    std::fflush(stdout);
    return static_cast<int>(ExitStatus::done);
  } catch (const std::exception& error) {
    fmt::print("{}\n", PointReport{.words = error.what()}.encode());
    std::fflush(stdout);
    return static_cast<int>(ExitStatus::done);
  }
}

}  // namespace flor::cli
