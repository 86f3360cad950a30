#include "watch/coordinator.h"

#include "output/text.h"
#include "output/time.h"
#include "watch/run_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::JobReport;

/// What other processes do is learnt of by the bell; this is the net.
constexpr milliseconds kLook{60'000};
/// Between tries to write what cannot be written.
constexpr milliseconds kFirstPause{200}, kLongestPause{10'000};
/// See `next_lease`.
constexpr milliseconds kHidden{1000};
/// Somebody waits for the end of a watch that ends when it is idle.
constexpr seconds kPatience{60};

void drain(int descriptor) {
  char buffer[sizeof(signalfd_siginfo)];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
}

template <typename T>
void put_before(std::vector<T> first, std::vector<T>& rest) {
  first.insert(first.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
  rest = std::move(first);
}

bool is_verdict(const JobReport& report) {
  return report.kind == JobReport::Kind::done || report.kind == JobReport::Kind::failed;
}

std::unique_ptr<CheckpointSource> open_source(const store::Store& store, const WatchPlan& plan) {
  if (plan.scopes.empty()) {
    return std::make_unique<DirectoryWatch>(plan.directories, plan.finding);
  }
  return std::make_unique<RunWatch>(store::Store::open(store.home(), store::OpenMode::existing),
                                    plan.scopes, plan.finding.poll);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

WatchCoordinator::WatchCoordinator(store::Store& store, store::JobQueue& queue, WatchPlan plan,
                                   Say say, Note note)
    : store_(store),
      queue_(queue),
      memory_(store),
      plan_(std::move(plan)),
      say_(std::move(say)),
      note_(std::move(note)),
      owner_(store::new_run_key()),
      lock_(store.lock_run(owner_)),
      watch_(open_source(store, plan_)) {
  ::signal(SIGIO, SIG_IGN);  // of leases on files that somebody wants to write
  if (!lock_) throw Busy("another process holds this watch's lock: try again");
  std::filesystem::create_directories(store.home() / "logs" / "jobs");
  orders_.owner = owner_;
  orders_.retries = plan_.retries;
  orders_.lease_us = std::chrono::microseconds(plan_.lease).count();
  for (const WatchPlan::Judge& judge : plan_.judges) {
    const EvaluatorSpec& spec = judge.group.evaluator;
    const std::int64_t evaluator = queue_.add_evaluator(spec.text(), spec.digest());
    groups_.push_back(std::make_unique<WorkerGroup>(judge.group, evaluator, store, note_));
  }
  more_.assign(groups_.size(), true);
  queue_.bell();  // from now on
  sigset_t stopping;
  ::sigemptyset(&stopping);
  ::sigaddset(&stopping, SIGINT);
  ::sigaddset(&stopping, SIGTERM);
  signals_ = ::signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK);
  pairs_.resize(watch_->places().size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) open_pairs(i);
  enter();
}

WatchCoordinator::~WatchCoordinator() {
  finder_.reset();
  if (signals_ >= 0) ::close(signals_);
}

void WatchCoordinator::open_pairs(std::size_t place) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const WatchPlan::Judge& judge = plan_.judges[i];
    if (judge.directory && *judge.directory != plan_.directories[place]) continue;
    Pair& pair = pairs_[place].emplace_back();
    pair.group = groups_[i].get();
    open_pair(place, pair, judge.group.evaluator.text());
  }
  forget_what_all_know(place);
}

/// What was there when a directory was watched for the first time is not judged, unless that is
/// asked for; what came since is.
void WatchCoordinator::open_pair(std::size_t place, Pair& pair, const std::string& spec) {
  std::vector<store::Sighting> present;
  if (!plan_.existing) {
    for (const auto& [path, file] : watch_->present(place)) {
      present.push_back({0, path, file, {}});
    }
  }
  const auto opened =
      memory_.add(watch_->places()[place], spec, plan_.arguments, queue_.name(), present);
  pair.watch = opened.id;
  const std::vector<store::Sighting> seen = memory_.sightings(opened.id);
  for (const store::Sighting& sighting : seen) {
    if (!sighting.content && plan_.existing) continue;
    pair.known[sighting.path] = sighting.file;
    if (!plan_.existing || watch_->identify_at(sighting.path) != sighting.file) continue;
    orders_.additions.push_back({.content = *sighting.content,
                                 .evaluator = pair.group->evaluator(),
                                 .arguments = plan_.arguments,
                                 .path = sighting.path});
  }
  take_over(pair, spec, seen);
}

/// What was still to be judged when the evaluator was edited is judged as it is now: nobody would
/// do the old jobs, and what was seen is not found again.
void WatchCoordinator::take_over(const Pair& pair, const std::string& spec,
                                 const std::vector<store::Sighting>& seen) {
  std::set<std::int64_t> older;
  for (const store::Evaluator& one : queue_.evaluators()) {
    if (one.spec == spec && one.id != pair.group->evaluator()) older.insert(one.id);
  }
  if (older.empty()) return;
  std::multimap<store::Digest, std::int64_t> open;
  for (const store::JobState state : {store::JobState::queued, store::JobState::failed}) {
    for (const store::Job& job : queue_.jobs({.state = state})) {
      const bool is_old = older.contains(job.what.evaluator);
      if (is_old && job.what.arguments == plan_.arguments) {
        open.emplace(job.what.content, job.lease.job);
      }
    }
  }
  store::JobOrders orders{.owner = owner_, .retries = plan_.retries};
  store::JobFilter replaced;
  for (const store::Sighting& sighting : seen) {
    if (!sighting.content || !open.contains(*sighting.content)) continue;
    if (watch_->identify_at(sighting.path) != sighting.file) continue;
    orders.additions.push_back({.content = *sighting.content,
                                .evaluator = pair.group->evaluator(),
                                .arguments = plan_.arguments,
                                .path = sighting.path});
    const auto [begin, end] = open.equal_range(*sighting.content);
    for (auto job = begin; job != end; ++job) replaced.ids.push_back(job->second);
  }
  if (replaced.ids.empty()) return;
  queue_.exchange(orders);  // first, so that nothing is lost between
  queue_.cancel(replaced);
}

/// Such files are never read, and need not be remembered twice.
void WatchCoordinator::forget_what_all_know(std::size_t place) {
  std::vector<Pair>& pairs = pairs_[place];
  if (pairs.empty()) return;
  const auto known = pairs.front().known;
  for (const auto& [path, file] : known) {
    const bool all = std::ranges::all_of(pairs, [&](const Pair& pair) {
      const auto found = pair.known.find(path);
      return found != pair.known.end() && found->second == file;
    });
    if (!all) continue;
    watch_->know(place, path, file);
    for (Pair& pair : pairs) pair.known.erase(path);
  }
}

/// Says who watches, to those who ask and to those who delete checkpoints.
void WatchCoordinator::enter() {
  store::Watcher self{.key = owner_, .pid = ::getpid(), .host = host_name()};
  const std::vector<std::string> places = watch_->places();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const WatchPlan::Judge& judge = plan_.judges[i];
    self.workers += static_cast<std::int64_t>(judge.group.workers);
    for (const std::string& place : places) {
      if (judge.directory && judge.directory->string() != place) continue;
      self.places.push_back({place, judge.group.evaluator.text()});
    }
    // One that judges what others have found.
    if (places.empty()) self.places.push_back({"", judge.group.evaluator.text()});
  }
  entry_.emplace(store_, self);
  files_.emplace(store::Store::open(store_.home(), store::OpenMode::existing), owner_,
                 plan_.handover);
  // For evaluators that read a checkpoint in place.
  ::setenv("FLOR_HOME", store_.home().c_str(), 1);
}

ExitStatus WatchCoordinator::run() {
  for (const auto& group : groups_) group->start();
  finder_.emplace(*watch_);
  next_heartbeat_ = Clock::now() + plan_.lease / 3;
  next_look_ = Clock::now() + kLook;
  for (;;) {
    wait();
    if (stop_) break;
    wind_down();
    take_news();
    take_verdicts();
    take_replies();
    take_files();
    for (const auto& group : groups_) group->dispatch();
    begin_exchange();
    publish();
    if (has_ended()) break;
    if (plan_.until_idle && is_idle()) return status();
  }
  give_back();
  return stop_ ? ExitStatus::interrupted : status();
}

/// Of who was asked to end: what nobody has begun is given back.
void WatchCoordinator::wind_down() {
  if (stop_request_ == store::StopRequest::none) return;
  for (const auto& group : groups_) {
    for (const store::Lease& lease : group->take_waiting()) {
      orders_.reports.push_back({lease, JobReport::Kind::back});
    }
  }
}

bool WatchCoordinator::has_ended() const {
  if (stop_request_ != store::StopRequest::drain) return stop_request_ != store::StopRequest::none;
  return leases().empty() && !has_orders() && !exchange_.is_busy() && !sync_.is_busy() &&
         accepted_.empty();
}

void WatchCoordinator::wait() {
  std::vector<pollfd> waiting{
      {queue_.bell(), POLLIN, 0},         {signals_, POLLIN, 0},
      {finder_->descriptor(), POLLIN, 0}, {exchange_.descriptor(), POLLIN, 0},
      {sync_.descriptor(), POLLIN, 0},    {entry_->descriptor(), POLLIN, 0},
      {files_->descriptor(), POLLIN, 0}};
  for (const auto& group : groups_) group->add_descriptors(waiting);
  const auto left = std::chrono::ceil<milliseconds>(due() - Clock::now());
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (waiting[0].revents != 0) {
    queue_.hush();
    look_ = true;
    next_heartbeat_ = Clock::now();  // somebody may have cancelled what we are at
  }
  if (waiting[1].revents != 0) {
    drain(signals_);
    stop_ = true;
  }
  const bool is_time = Clock::now() >= next_look_;
  if (waiting[5].revents != 0 || is_time) stop_request_ = entry_->asked();
  look_ = look_ || is_time;
}

WatchCoordinator::Clock::time_point WatchCoordinator::due() const {
  auto due = next_look_;
  for (const auto& group : groups_) due = std::min(due, group->due());
  if (exchange_.is_busy()) return due;
  if (failing_since_) return std::min(due, next_try_);
  if (look_ || has_orders()) return Clock::now();
  if (!leases().empty()) due = std::min(due, next_heartbeat_);
  return std::min(due, next_lease());
}

/// When there may be a job for a worker that is free.
WatchCoordinator::Clock::time_point WatchCoordinator::next_lease() const {
  bool wants = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (wanted(*groups_[i]) == 0) continue;
    if (more_[i]) return Clock::now();
    wants = true;
  }
  if (!wants || !next_us_) return Clock::time_point::max();
  // Not a moment too early. If it is over, that was a job for somebody who is busy, and may hide
  // when there is one for the others.
  const std::int64_t left = *next_us_ - now_us();
  return left < 0 ? asked_ + kHidden : Clock::now() + std::chrono::microseconds(left + 1000);
}

void WatchCoordinator::take_news() {
  Finder::News news = finder_->take();
  if (!news.failure.empty()) throw Error(news.failure);
  for (const std::string& remark : news.remarks) note_(remark);
  for (const Found& found : news.found) {
    for (Pair& pair : pairs_[found.place]) {
      const auto known = pair.known.find(found.path);
      const bool is_known = known != pair.known.end() && known->second == found.file;
      if (known != pair.known.end()) pair.known.erase(known);
      if (is_known) continue;
      orders_.additions.push_back({.content = found.content,
                                   .evaluator = pair.group->evaluator(),
                                   .arguments = plan_.arguments,
                                   .path = found.path});
      orders_.sightings.push_back({pair.watch, found.path, found.file, found.content});
    }
  }
  finder_idle_ = news.is_idle;
  incomplete_ = std::move(news.incomplete);
}

/// A checkpoint of Flor's own is made ready before a worker gets it.
void WatchCoordinator::hand_over(const store::LeasedJob& job) {
  if (!is_reference(job.what.path)) return groups_[index_of(job.what.evaluator)]->give(job);
  preparing_.emplace(job.lease, job);
  files_->make(job.lease, job.what);
}

void WatchCoordinator::take_files() {
  for (const CheckpointFiles::Made& made : files_->take()) {
    auto node = preparing_.extract(made.lease);
    if (node.empty()) {  // called off meanwhile
      files_->drop(made.lease);
      continue;
    }
    store::LeasedJob& job = node.mapped();
    if (made.gone) {
      note_(printable(made.failure));
      queue_.cancel({.ids = {made.lease.job}});
    } else if (!made.failure.empty()) {
      note_verdict({.job = job, .text = made.failure});
    } else {
      references_[made.lease] = std::exchange(job.what.path, made.path.string());
      groups_[index_of(job.what.evaluator)]->give(std::move(job));
    }
  }
}

/// What the job is called; its file is not needed any more.
std::string WatchCoordinator::found_path(const store::LeasedJob& job) {
  const auto node = references_.extract(job.lease);
  if (node.empty()) return job.what.path;
  files_->drop(job.lease);
  return node.mapped();
}

void WatchCoordinator::call_off(const store::Lease& lease) {
  for (const auto& group : groups_) group->call_off(lease);
  preparing_.erase(lease);
  if (references_.erase(lease) > 0) files_->drop(lease);
}

void WatchCoordinator::take_verdicts() {
  for (const auto& group : groups_) {
    for (Verdict& verdict : group->hear()) note_verdict(std::move(verdict));
  }
}

void WatchCoordinator::note_verdict(Verdict verdict) {
  const bool last = verdict.job.attempt >= plan_.retries.attempts;
  const auto kind = verdict.good ? JobEvent::Kind::done
                    : last       ? JobEvent::Kind::dead
                                 : JobEvent::Kind::failed;
  events_[verdict.job.lease] = {.kind = kind,
                                .job = verdict.job.lease.job,
                                .path = found_path(verdict.job),
                                .text = verdict.text,
                                .seconds = verdict.seconds};
  orders_.reports.push_back({verdict.job.lease,
                             verdict.good ? JobReport::Kind::done : JobReport::Kind::failed,
                             std::move(verdict.text)});
}

bool WatchCoordinator::has_orders() const {
  return !orders_.reports.empty() || !orders_.additions.empty() || !orders_.sightings.empty();
}

void WatchCoordinator::begin_exchange() {
  if (exchange_.is_busy() || (failing_since_ && Clock::now() < next_try_)) return;
  const bool beats = !leases().empty() && Clock::now() >= next_heartbeat_;
  if (!look_ && !has_orders() && !beats && Clock::now() < next_lease()) return;
  add_heartbeats();
  look_ = false;
  asked_ = Clock::now();
  next_look_ = asked_ + kLook;
  orders_.requests.clear();
  for (const auto& group : groups_) {
    const std::size_t count = wanted(*group);
    if (count > 0) orders_.requests.push_back({group->evaluator(), count, plan_.order});
  }
  said_ = orders_;
  orders_.reports.clear();
  orders_.additions.clear();
  orders_.sightings.clear();
  exchange_.begin([this] { return queue_.exchange(said_); });
}

void WatchCoordinator::add_heartbeats() {
  if (Clock::now() < next_heartbeat_) return;
  next_heartbeat_ = Clock::now() + plan_.lease / 3;
  for (const store::Lease& lease : leases()) {
    orders_.reports.push_back({lease, JobReport::Kind::alive});
  }
}

void WatchCoordinator::take_replies() {
  try {
    if (const auto replies = exchange_.take()) note_replies(*replies);
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    keep_orders(error.what());
  }
}

void WatchCoordinator::note_replies(const store::JobReplies& replies) {
  if (failing_since_) note_("the queue can be written again");
  failing_since_.reset();
  std::map<std::int64_t, std::size_t> given;
  for (const store::LeasedJob& job : replies.leases) {
    hand_over(job);
    ++given[job.what.evaluator];
  }
  more_.assign(groups_.size(), true);
  for (const store::LeaseRequest& request : said_.requests) {
    more_[index_of(request.evaluator)] = given[request.evaluator] == request.count;
  }
  next_us_ = replies.next_us;
  for (const std::string& remark : replies.remarks) note_(remark);
  found_nothing_open_ = !next_us_ && said_.reports.empty() && said_.additions.empty();
  for (std::size_t i = 0; i < said_.reports.size(); ++i) {
    obey(said_.reports[i], replies.accepted[i]);
  }
}

/// Results may have taken hours.
void WatchCoordinator::keep_orders(const std::string& reason) {
  const auto now = Clock::now();
  std::erase_if(said_.reports, [](const JobReport& report) { return !is_verdict(report); });
  put_before(std::move(said_.reports), orders_.reports);
  put_before(std::move(said_.additions), orders_.additions);
  put_before(std::move(said_.sightings), orders_.sightings);
  look_ = true;
  pause_ = failing_since_ ? std::min(pause_ * 2, kLongestPause) : kFirstPause;
  next_try_ = now + pause_;
  if (!failing_since_) {
    failing_since_ = now;
    note_(fmt::format("{}; results are kept until it works", reason));
  } else if (plan_.until_idle && now - *failing_since_ > kPatience) {
    throw Error(fmt::format("{}; {} results are lost, what they are of is judged again next time",
                            reason, events_.size()));
  }
}

void WatchCoordinator::obey(const JobReport& report, bool accepted) {
  if (report.kind == JobReport::Kind::alive) {
    if (!accepted) call_off(report.lease);
    return;
  }
  const auto event = events_.find(report.lease);
  if (event == events_.end()) return;
  if (accepted) {
    accepted_.push_back(std::move(event->second));
  } else {
    note_(fmt::format("{}: its result is not wanted any more", printable(event->second.path)));
  }
  events_.erase(event);
}

/// Tells of what has become durable, and begins to make durable what was accepted meanwhile.
void WatchCoordinator::publish() {
  if (sync_.take()) {
    for (const JobEvent& event : std::exchange(syncing_, {})) {
      gave_up_ = gave_up_ || event.kind == JobEvent::Kind::dead;
      say_(event);
    }
  }
  if (sync_.is_busy() || accepted_.empty()) return;
  syncing_ = std::exchange(accepted_, {});
  sync_.begin([this] {
    queue_.sync();
    return true;
  });
}

void WatchCoordinator::give_back() {
  for (const store::Lease& lease : leases()) {
    orders_.reports.push_back({lease, JobReport::Kind::back});
  }
  for (const auto& group : groups_) group->stop();
  while (exchange_.is_busy()) {
    pollfd waiting{exchange_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    take_replies();
  }
  // What has just been leased is given back, too.
  for (const store::Lease& lease : leases()) {
    const JobReport back{lease, JobReport::Kind::back};
    const auto same = [&](const JobReport& report) { return report.lease == lease; };
    if (std::ranges::none_of(orders_.reports, same)) orders_.reports.push_back(back);
  }
  orders_.requests.clear();
  try {
    said_ = std::exchange(orders_, {});
    note_replies(queue_.exchange(said_));
    queue_.sync();
  } catch (const Error& error) {
    if (events_.empty()) throw;
    throw Error(fmt::format("{}; {} results are lost, what they are of is judged again next time",
                            error.what(), events_.size()));
  }
  for (const JobEvent& event : std::exchange(syncing_, {})) say_(event);
  for (const JobEvent& event : std::exchange(accepted_, {})) say_(event);
}

std::size_t WatchCoordinator::index_of(std::int64_t evaluator) const {
  const auto found =
      std::ranges::find(groups_, evaluator, [](const auto& group) { return group->evaluator(); });
  return static_cast<std::size_t>(found - groups_.begin());
}

std::vector<store::Lease> WatchCoordinator::leases() const {
  std::vector<store::Lease> all;
  for (const auto& [lease, job] : preparing_) all.push_back(lease);
  for (const auto& group : groups_) std::ranges::copy(group->leases(), std::back_inserter(all));
  return all;
}

std::size_t WatchCoordinator::wanted(const WorkerGroup& group) const {
  if (stop_request_ != store::StopRequest::none) return 0;
  const auto coming =
      static_cast<std::size_t>(std::ranges::count_if(preparing_, [&](const auto& entry) {
        return entry.second.what.evaluator == group.evaluator();
      }));
  return group.wanted() > coming ? group.wanted() - coming : 0;
}

bool WatchCoordinator::is_idle() {
  // An evaluator that cannot be loaded is to be told of, though there is nothing to judge.
  const bool rests =
      finder_idle_ && !has_orders() && !exchange_.is_busy() && !sync_.is_busy() &&
      accepted_.empty() && leases().empty() &&
      std::ranges::all_of(groups_, [](const auto& group) { return group->is_ready(); });
  if (!rests) {
    found_nothing_open_ = false;
    return false;
  }
  if (!found_nothing_open_ && !next_us_) look_ = true;  // the queue has the last word
  return found_nothing_open_;
}

ExitStatus WatchCoordinator::status() const {
  for (const std::string& path : incomplete_) {
    note_(fmt::format("{} is not complete, and nobody writes it", printable(path)));
  }
  return gave_up_ || !incomplete_.empty() ? ExitStatus::partly_done : ExitStatus::done;
}

}  // namespace flor::cli
