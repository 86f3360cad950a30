#include "watch/evaluators/cluster_group.h"

#include "file/home_files.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Work that is sent ahead to each seat, in seconds and in jobs at most: a file takes a while to
/// become visible on the other machine.
constexpr double kAheadOfSeat = 0.5;
constexpr double kMostAheadOfSeat = 16;
/// A job that has lost so many seats is assumed to have killed them.
constexpr int kMostLosses = 3;
/// How often in a row all seats may end before one was ready.
constexpr int kMostFailures = 3;
/// Pause before asking again for seats after a refusal, if there have been seats before.
constexpr seconds kAgain{10};

/// Makes a directory for messages to seats. Private, because the evaluator's command is written in
/// it.
void make_for_seats(const fs::path& directory) {
  std::error_code error;
  store::make_private_directory(directory, error);
  if (error) {
    throw Error(fmt::format("cannot make the directory {}: {}", printable(directory.string()),
                            error.message()));
  }
}

json lease_json(const store::Lease& lease) { return {{"job", lease.job}, {"token", lease.token}}; }

}  // namespace

ClusterGroup::ClusterGroup(GroupPlan plan, std::int64_t evaluator, ClusterPlan cluster, Note note)
    : plan_(std::move(plan)),
      evaluator_(evaluator),
      cluster_(std::move(cluster)),
      note_(std::move(note)),
      beat_(std::max(milliseconds(1), cluster_.silence / kSilentBeats)) {}

ClusterGroup::~ClusterGroup() {
  try {
    stop();
  } catch (const std::exception& error) {
    note_(error.what());
  }
}

void ClusterGroup::start() { make_for_seats(cluster_.directory); }

void ClusterGroup::add_descriptors(std::vector<pollfd>& waiting) const {
  waiting.push_back({starting_.descriptor(), POLLIN, 0});
}

ClusterGroup::Clock::time_point ClusterGroup::due() const {
  if (is_started_) return std::min(pace_.next(), next_beat_);
  if (starter_) return next_beat_;
  return backlog_.empty() ? Clock::time_point::max() : next_start_;
}

void ClusterGroup::hear(const Tell& tell) {
  if (starter_ && Clock::now() >= next_beat_) beat();
  if (is_started_ && pace_.is_due()) look(tell);
  if (has_work()) busy_ = Clock::now();
  look_after_seats();
}

/// Tells the seats that the watch is alive. If that cannot be written, they end after a while.
void ClusterGroup::beat() {
  next_beat_ = Clock::now() + beat_;
  if (!watch_) return;
  try {
    watch_->append(seat::line(seat::kBeat, true));
  } catch (const Error& error) {
    note_(error.what());
    watch_.reset();
  }
}

void ClusterGroup::look(const Tell& tell) {
  bool something = find_seats();
  for (const auto& [name, seat] : seats_) {
    if (seat->is_gone) continue;
    const auto lines = seat->said.read();
    for (const std::string& line : lines) {
      if (!seat->is_gone) heed(*seat, line, tell);
    }
    const auto now = Clock::now();
    if (!lines.empty()) {
      seat->heard = now;
      something = true;
    } else if (!seat->is_gone && now - seat->heard > cluster_.silence) {
      lose(*seat,
           fmt::format("has been silent for {} s",
                       std::chrono::duration<double>(cluster_.silence).count()),
           tell);
    }
  }
  pace_.looked(something);
}

bool ClusterGroup::find_seats() {
  bool something = false;
  std::error_code error;
  for (fs::directory_iterator walk(round_, error); !error && walk != fs::directory_iterator();
       walk.increment(error)) {
    if (walk->path().extension() != ".said") continue;
    const std::string name = walk->path().stem();
    if (seats_.contains(name)) continue;
    auto seat = std::make_unique<ClusterSeat>(ClusterSeat{.name = name,
                                            .host = {},
                                            .job = {},
                                            .said = store::LineLogReader(walk->path()),
                                            .told = {}});
    seats_.emplace(name, std::move(seat));
    something = true;
  }
  return something;
}

/// Handles a message of a seat. One that cannot be parsed comes from another version of flor.
void ClusterGroup::heed(ClusterSeat& seat, const std::string& line, const Tell& tell) {
  try {
    hear(seat, line, tell);
  } catch (const json::exception&) {
    fatal_ = "the workers are of another version of flor (--remote-flor): this one is needed";
    lose(seat, "says what is not understood", tell);
  }
}

void ClusterGroup::hear(ClusterSeat& seat, const std::string& line, const Tell& tell) {
  const json said = json::parse(line, nullptr, false);
  if (!said.is_object() || said.empty()) return;
  const std::string what = said.begin().key();
  const json& value = said.begin().value();
  if (what == seat::kHello) {
    seat.host = value.at("host").get<std::string>();
    seat.job = value.at("job").get<std::string>();
    seat.restart = std::atoll(value.at("restart").get<std::string>().c_str());
    seat.told = std::make_unique<store::LineLogWriter>(round_ / (seat.name + ".told"), true);
    for (const auto& [name, other] : seats_) {
      const bool is_former = other->job == seat.job && other->restart < seat.restart;
      if (is_former && !other->is_gone) lose(*other, "was requeued", tell);
    }
  } else if (what == seat::kReady) {
    seat.is_ready = was_ready_ = is_promising_ = true;
  } else if (what == seat::kResult) {
    take_result(seat, value, tell);
  } else if (what == seat::kNote) {
    note_(fmt::format("{}: {}", printable(seat.host), printable(value.get<std::string>())));
  } else if (what == seat::kFatal) {
    fatal_ = value.get<std::string>();
    lose(seat, fatal_, tell);
  } else if (what == seat::kBye) {
    lose(seat, "was taken away", tell);
  }
}

void ClusterGroup::take_result(ClusterSeat& seat, const json& result, const Tell& tell) {
  const store::Lease lease{result.at("job").get<std::int64_t>(),
                           result.at("token").get<std::int64_t>()};
  const auto job = std::ranges::find(seat.jobs, lease, &store::LeasedJob::lease);
  if (job == seat.jobs.end()) return;  // called off in the meantime
  Verdict verdict{.job = std::move(*job),
                  .good = result.at("good").get<bool>(),
                  .text = result.at("text").get<std::string>(),
                  .seconds = result.at("seconds").get<double>()};
  seat.jobs.erase(job);
  losses_.erase(lease);
  mean_seconds_ = mean_seconds_ ? 0.8 * *mean_seconds_ + 0.2 * verdict.seconds : verdict.seconds;
  tell(std::move(verdict));
}

/// Marks a seat as lost: its later messages are ignored, and other seats get its jobs.
void ClusterGroup::lose(ClusterSeat& seat, const std::string& why, const Tell& tell) {
  seat.is_gone = true;
  seat.is_ready = false;
  seat.told.reset();
  if (starter_) {
    starter_->look_soon();
    note_(fmt::format("the worker on {} {}{}", printable(seat.host), printable(why),
                      seat.jobs.empty() ? "" : ": another does what it was at"));
  }
  for (auto job = seat.jobs.rbegin(); job != seat.jobs.rend(); ++job) {
    if (job + 1 == seat.jobs.rend() && ++losses_[job->lease] >= kMostLosses) {  // only the first
                                                                                // job had been
                                                                                // begun
      losses_.erase(job->lease);
      tell({.job = std::move(*job),
            .text = fmt::format("{} workers were lost that were at it; the last one {}",
                                kMostLosses, why)});
    } else {
      backlog_.push_front(std::move(*job));
    }
  }
  seat.jobs.clear();
}

std::size_t ClusterGroup::ahead() const {
  if (!mean_seconds_) return 0;
  return static_cast<std::size_t>(kAheadOfSeat /
                                  std::max(*mean_seconds_, kAheadOfSeat / kMostAheadOfSeat));
}

std::size_t ClusterGroup::wanted() const {
  std::size_t room = 0;
  bool is_there = false;
  for (const auto& [name, seat] : seats_) {
    if (!seat->is_ready) continue;
    is_there = true;
    room += 1 + ahead() - std::min(1 + ahead(), seat->jobs.size());
  }
  // Without seats, takes a single job, only to know that seats are needed; other watches may take
  // the rest until Slurm has room.
  if (!is_there) room = 1;
  return room > backlog_.size() ? room - backlog_.size() : 0;
}

void ClusterGroup::dispatch() {
  while (!backlog_.empty()) {
    ClusterSeat* best = nullptr;
    for (const auto& [name, seat] : seats_) {
      const bool has_room = seat->is_ready && seat->jobs.size() < 1 + ahead();
      if (has_room && (!best || seat->jobs.size() < best->jobs.size())) best = seat.get();
    }
    if (!best) break;
    store::LeasedJob job = std::move(backlog_.front());
    backlog_.pop_front();
    json what = lease_json(job.lease);
    what["path"] = job.what.path;
    what["arguments"] = job.what.arguments;
    best->lines.push_back(seat::line(seat::kJudge, what));
    best->jobs.push_back(std::move(job));
  }
  tell_seats();
}

void ClusterGroup::tell_seats() {
  for (const auto& [name, seat] : seats_) {
    if (seat->lines.empty()) continue;
    const auto lines = std::exchange(seat->lines, {});
    if (!seat->told) continue;
    try {
      seat->told->append(lines);
      pace_.looked(true);
    } catch (const Error& error) {
      lose(*seat, fmt::format("cannot be told anything: {}", error.what()),
           [this](Verdict verdict) { backlog_.push_front(std::move(verdict.job)); });
    }
  }
}

std::vector<store::Lease> ClusterGroup::leases() const {
  std::vector<store::Lease> all;
  for (const store::LeasedJob& job : backlog_) all.push_back(job.lease);
  for (const auto& [name, seat] : seats_) {
    for (const store::LeasedJob& job : seat->jobs) all.push_back(job.lease);
  }
  return all;
}

std::vector<store::Lease> ClusterGroup::take_waiting() {
  std::vector<store::Lease> waiting;
  for (const store::LeasedJob& job : std::exchange(backlog_, {})) waiting.push_back(job.lease);
  for (const auto& [name, seat] : seats_) {
    while (seat->jobs.size() > 1) {  // the first one is being evaluated
      waiting.push_back(seat->jobs.back().lease);
      call_off(waiting.back());
    }
  }
  tell_seats();
  return waiting;
}

void ClusterGroup::call_off(const store::Lease& lease) {
  const auto is_it = [&](const store::LeasedJob& job) { return job.lease == lease; };
  std::erase_if(backlog_, is_it);
  losses_.erase(lease);
  for (const auto& [name, seat] : seats_) {
    if (std::erase_if(seat->jobs, is_it) == 0) continue;
    seat->lines.push_back(seat::line(seat::kCallOff, lease_json(lease)));
  }
}

bool ClusterGroup::has_work() const {
  return !backlog_.empty() ||
         std::ranges::any_of(seats_, [](const auto& entry) { return !entry.second->jobs.empty(); });
}

void ClusterGroup::look_after_seats() {
  if (!starter_) {
    if (!backlog_.empty() && Clock::now() >= next_start_) begin();
    return;
  }
  if (!is_started_) return take_start();
  const bool is_heard =
      std::ranges::any_of(seats_, [](const auto& entry) { return !entry.second->is_gone; });
  if (!is_heard) {
    // As long as a seat sends messages, it counts as alive, whatever Slurm or ssh report.
    if (const auto why = starter_->over()) return note_end(*why);
    note_waiting();
  }
  if (!has_work() && Clock::now() - busy_ > cluster_.idle) release();
}

void ClusterGroup::begin() {
  round_ = cluster_.directory / std::to_string(++rounds_);
  make_for_seats(round_);
  SeatPlan plan{.group = plan_, .logs = cluster_.logs, .beat = beat_};
  plan.group.workers = 1;
  write_seat_plan(round_, plan);
  watch_ = std::make_unique<store::LineLogWriter>(round_ / "watch.log", true);
  is_promising_ = false;
  fatal_.clear();
  busy_ = Clock::now();
  const std::string here = fs::read_symlink("/proc/self/exe");
  const std::string& there = cluster_.engine.flor;
  SlurmTasks tasks;
  tasks.name = cluster_.name;
  tasks.command = {there.empty() ? here : there, "__judge", round_};
  tasks.count = static_cast<int>(plan_.workers);
  tasks.directory = round_;
  starter_ = make_seat_starter(cluster_.engine, tasks);
  beat();
  starting_.begin([starter = starter_.get()] { return starter->start(), true; });
}

void ClusterGroup::take_start() {
  try {
    is_started_ = starting_.take().has_value();
  } catch (const Error& error) {
    starter_.reset();
    if (!was_ready_) throw;
    if (noted_ != error.what()) note_(fmt::format("{}; it is tried again", error.what()));
    noted_ = error.what();
    next_start_ = Clock::now() + kAgain;
  }
}

void ClusterGroup::note_waiting() {
  const std::string text = starter_->waiting_for();
  if (!text.empty() && text != noted_) note_(text);
  noted_ = text;
}

/// Handles the end of all seats that this watch did not cause: their time is over, or their nodes
/// are gone.
void ClusterGroup::note_end(const std::string& why) {
  failures_ = is_promising_ ? 0 : failures_ + 1;
  const bool is_hopeless = !fatal_.empty() || !starter_->may_start_again();
  if (!is_promising_ && (is_hopeless || failures_ >= kMostFailures)) {
    throw Error(fatal_.empty() ? why : fatal_);
  }
  note_(why);
  next_start_ = Clock::now() + seconds(failures_ == 0 ? 0 : 1 << failures_);
  leave();
}

/// Ends the seats because nothing is left to evaluate, so that others can use the nodes.
void ClusterGroup::release() {
  note_("there is nothing to judge: the other machines are given back");
  leave();
}

/// Ends the seats and removes their messages.
void ClusterGroup::leave() {
  try {
    if (watch_) watch_->append(seat::line(seat::kEnd, true));
  } catch (const Error&) {  // the seats end when they notice that the watch is silent
  }
  watch_.reset();
  starter_->stop();
  starter_.reset();
  is_started_ = false;
  seats_.clear();
  noted_.clear();
  std::error_code error;
  fs::remove_all(round_, error);
}

void ClusterGroup::stop() {
  if (!starter_) return;
  if (!is_started_) {
    pollfd waiting{starting_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, -1);  // waits until sbatch returns, because otherwise the job's id would be
                              // lost
    try {
      starting_.take();
    } catch (const Error&) {  // no job was submitted
    }
  }
  for (const auto& [name, seat] : seats_) {
    backlog_.insert(backlog_.end(), std::make_move_iterator(seat->jobs.begin()),
                    std::make_move_iterator(seat->jobs.end()));
  }
  leave();
}

}  // namespace flor::cli
