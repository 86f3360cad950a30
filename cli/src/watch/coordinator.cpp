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
#include <exception>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::JobReport;

/// What other processes do is learnt of by the bell; this is the net.
constexpr milliseconds kLook{60'000};
/// The same of who is asked to end.
constexpr milliseconds kAsk{10'000};
/// Between tries to write what cannot be written.
constexpr milliseconds kFirstPause{200}, kLongestPause{10'000};
/// For so long that is tried at the end.
constexpr milliseconds kLastTries{2000};
/// For each worker, besides that of what it is at.
constexpr std::size_t kFilesAhead = 2;
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

/// What the call returns; it is called again until then if it fails.
template <typename Call>
auto insist(std::chrono::steady_clock::time_point until, const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const Damaged&) {
      throw;
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() >= until) throw;
    }
    std::this_thread::sleep_for(kFirstPause);
  }
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
  bell_ = queue_.bell();  // from now on
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
  try {
    watch();
  } catch (const std::exception& error) {
    rescue(error.what());
    throw;
  }
  give_back();
  return stop_ ? ExitStatus::interrupted : status();
}

void WatchCoordinator::watch() {
  for (const auto& group : groups_) group->start();
  finder_.emplace(*watch_);
  next_heartbeat_ = Clock::now() + plan_.lease / 3;
  next_look_ = Clock::now() + kLook;
  next_ask_ = Clock::now() + kAsk;
  for (;;) {
    wait();
    if (stop_) return;
    wind_down();
    take_news();
    take_verdicts();
    take_replies();
    take_files();
    for (const auto& group : groups_) group->dispatch();
    begin_exchange();
    publish();
    if (has_ended() || (plan_.until_idle && is_idle())) return;
    lose_patience();
  }
}

/// It ends because of an error, which its caller tells; what came out before counts.
void WatchCoordinator::rescue(const std::string& reason) {
  try {
    give_back();
  } catch (const std::exception& error) {
    if (error.what() != reason) note_(error.what());
  }
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
  std::vector<pollfd> waiting{{bell_, POLLIN, 0},
                              {signals_, POLLIN, 0},
                              {finder_->descriptor(), POLLIN, 0},
                              {exchange_.descriptor(), POLLIN, 0},
                              {sync_.descriptor(), POLLIN, 0},
                              {entry_->descriptor(), POLLIN, 0},
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
  if (waiting[5].revents != 0 || Clock::now() >= next_ask_) {
    stop_request_ = entry_->asked();
    next_ask_ = Clock::now() + kAsk;
  }
  look_ = look_ || Clock::now() >= next_look_;
}

WatchCoordinator::Clock::time_point WatchCoordinator::due() const {
  auto due = std::min(next_look_, next_ask_);
  for (const auto& group : groups_) due = std::min(due, group->due());
  if (unsynced_since_ && !sync_.is_busy()) due = std::min(due, next_sync_);
  if (next_file_) due = std::min(due, *next_file_);
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
    if (made.end != CheckpointFiles::Made::End::made) files_->drop(made.lease);
    take_file(made, std::move(node.mapped()));
  }
}

void WatchCoordinator::take_file(const CheckpointFiles::Made& made, store::LeasedJob job) {
  using End = CheckpointFiles::Made::End;
  switch (made.end) {
    case End::made:
      file_pause_ = {};
      references_[made.lease] = std::exchange(job.what.path, made.path.string());
      return groups_[index_of(job.what.evaluator)]->give(std::move(job));
    case End::gone:
      note_(printable(made.failure));
      orders_.reports.push_back({made.lease, JobReport::Kind::gone});
      return;
    case End::damaged:
      return note_verdict({.job = std::move(job), .text = made.failure});
    case End::later:
      return postpone(made.lease, made.failure);
  }
}

/// It is no failure of the job that there is no room for its file. Nothing is leased for a while.
void WatchCoordinator::postpone(const store::Lease& lease, const std::string& reason) {
  orders_.reports.push_back({lease, JobReport::Kind::back});
  if (next_file_) return;  // as those that were begun before
  if (file_pause_ == milliseconds::zero()) {
    note_(fmt::format("{}; checkpoints wait until it works", printable(reason)));
  }
  file_pause_ = std::clamp(file_pause_ * 2, kFirstPause, kLongestPause);
  next_file_ = Clock::now() + file_pause_;
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
  if (next_file_ && Clock::now() >= *next_file_) {
    next_file_.reset();
    look_ = true;
  }
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
  found_nothing_open_ = !next_us_ && said_.reports.empty() && said_.additions.empty() &&
                        said_.requests.size() == groups_.size();
  for (std::size_t i = 0; i < said_.reports.size(); ++i) {
    obey(said_.reports[i], replies.accepted[i]);
  }
}

/// Results may have taken hours.
void WatchCoordinator::keep_orders(const std::string& reason) {
  std::erase_if(said_.reports,
                [](const JobReport& report) { return report.kind == JobReport::Kind::alive; });
  put_before(std::move(said_.reports), orders_.reports);
  put_before(std::move(said_.additions), orders_.additions);
  put_before(std::move(said_.sightings), orders_.sightings);
  look_ = true;
  pause_ = failing_since_ ? std::min(pause_ * 2, kLongestPause) : kFirstPause;
  next_try_ = Clock::now() + pause_;
  failure_ = reason;
  if (failing_since_) return;
  failing_since_ = Clock::now();
  note_(fmt::format("{}; results are kept until it works", reason));
}

void WatchCoordinator::lose_patience() const {
  if (!plan_.until_idle) return;
  for (const auto& since : {failing_since_, unsynced_since_}) {
    if (since && Clock::now() - *since > kPatience) throw Error(failure_);
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
  try {
    if (sync_.take()) {
      tell(std::exchange(syncing_, {}));
      unsynced_since_.reset();
    }
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    keep_accepted(error.what());
  }
  if (sync_.is_busy() || accepted_.empty()) return;
  if (unsynced_since_ && Clock::now() < next_sync_) return;
  syncing_ = std::exchange(accepted_, {});
  sync_.begin([this] {
    queue_.sync();
    return true;
  });
}

void WatchCoordinator::tell(const std::vector<JobEvent>& events) {
  for (const JobEvent& event : events) {
    gave_up_ = gave_up_ || event.kind == JobEvent::Kind::dead;
    say_(event);
  }
}

void WatchCoordinator::keep_accepted(const std::string& reason) {
  put_before(std::exchange(syncing_, {}), accepted_);
  next_sync_ = Clock::now() + kFirstPause * 5;
  failure_ = reason;
  if (unsynced_since_) return;
  unsynced_since_ = Clock::now();
  note_(fmt::format("{}; results are not told of until it works", reason));
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
  // What failed may have leased something that it could not tell of.
  if (!has_orders() && !failing_since_ && accepted_.empty() && syncing_.empty()) return;
  orders_.requests.clear();
  said_ = std::exchange(orders_, {});
  try {
    const auto until = Clock::now() + kLastTries;
    note_replies(insist(until, [this] { return queue_.exchange(said_); }));
    insist(until, [this] { return queue_.sync(), true; });
  } catch (const Error& error) {
    const std::size_t lost = events_.size() + syncing_.size() + accepted_.size();
    if (lost == 0) throw;
    throw Error(fmt::format("{}; {} results are lost, what they are of is judged again next time",
                            error.what(), lost));
  }
  tell(std::exchange(syncing_, {}));
  tell(std::exchange(accepted_, {}));
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
  if (stop_request_ != store::StopRequest::none || next_file_) return 0;
  const auto coming =
      static_cast<std::size_t>(std::ranges::count_if(preparing_, [&](const auto& entry) {
        return entry.second.what.evaluator == group.evaluator();
      }));
  std::size_t most = group.wanted();
  if (!plan_.scopes.empty() && plan_.handover != Handover::reference) {
    // Each needs the room of a checkpoint.
    const std::size_t workers = plan_.judges[index_of(group.evaluator())].group.workers;
    const std::size_t room = (1 + kFilesAhead) * std::max<std::size_t>(1, workers);
    const std::size_t taken = group.leases().size();
    most = std::min(most, room > taken ? room - taken : 0);
  }
  return most > coming ? most - coming : 0;
}

bool WatchCoordinator::is_idle() {
  // An evaluator that cannot be loaded is to be told of, though there is nothing to judge.
  const bool rests =
      finder_idle_ && !has_orders() && !next_file_ && !exchange_.is_busy() && !sync_.is_busy() &&
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
