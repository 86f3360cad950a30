// WatchCoordinator: which evaluators judge which places, and edits of evaluators.
#include "output/terminal_text.h"
#include "watch/watch_coordinator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace flor::cli {
namespace {

using store::JobReport;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

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

/// Checkpoints that existed when a directory was watched for the first time are judged only with
/// `existing`; later ones always are.
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
  take_over(pair.group->evaluator(), spec, seen);
}

/// Hands jobs that waited when the evaluator was edited to its new version: no worker would do the
/// old jobs, and their checkpoints are not found again. The old jobs are dropped, so that they can
/// be added again if the edit is undone.
void WatchCoordinator::take_over(std::int64_t evaluator, const std::string& spec,
                                 const std::vector<store::Sighting>& seen) {
  std::set<std::int64_t> older;
  for (const store::Evaluator& one : queue_.evaluators()) {
    if (one.spec == spec && one.id != evaluator) older.insert(one.id);
  }
  if (older.empty()) return;
  store::JobOrders orders{.owner = owner_, .retries = plan_.retries};
  // Leases of a watch that has died are free from now on.
  orders.lease_us = orders_.lease_us;
  orders.requests = {{evaluator, 0}};
  queue_.exchange(orders);
  orders.requests.clear();
  std::multimap<store::Digest, std::int64_t> open;
  for (const store::JobState state : {store::JobState::queued, store::JobState::failed}) {
    for (const store::Job& job : queue_.jobs({.state = state})) {
      const bool is_old = older.contains(job.what.evaluator);
      if (is_old && job.what.arguments == plan_.arguments) {
        open.emplace(job.what.content, job.lease.job);
      }
    }
  }
  std::set<std::int64_t> replaced;
  for (const store::Sighting& sighting : seen) {
    if (!sighting.content || !open.contains(*sighting.content)) continue;
    if (watch_->identify_at(sighting.path) != sighting.file) continue;
    orders.additions.push_back({.content = *sighting.content,
                                .evaluator = evaluator,
                                .arguments = plan_.arguments,
                                .path = sighting.path});
    const auto [begin, end] = open.equal_range(*sighting.content);
    for (auto job = begin; job != end; ++job) replaced.insert(job->second);
  }
  if (replaced.empty()) return;
  queue_.exchange(orders);  // first, so that nothing is lost between
  for (const store::JobState state : {store::JobState::queued, store::JobState::failed}) {
    queue_.drop({.state = state, .ids = replaced});
  }
}

/// Lets the source skip files that all evaluators know: they are never read, nor remembered twice.
void WatchCoordinator::forget_what_all_know(std::size_t place) {
  std::vector<Pair>& pairs = pairs_[place];
  if (pairs.empty()) return;
  const auto known = pairs.front().known;
  for (const auto& [path, file] : known) {
    const bool all = std::ranges::all_of(pairs, [&path = path, &file = file](const Pair& pair) {
      const auto found = pair.known.find(path);
      return found != pair.known.end() && found->second == file;
    });
    if (!all) continue;
    watch_->know(place, path, file);
    for (Pair& pair : pairs) pair.known.erase(path);
  }
}

/// Announces this watch to processes that list watches and to those that delete checkpoints.
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
    // A watch that judges jobs which other processes have added.
    if (places.empty()) self.places.push_back({"", judge.group.evaluator.text()});
  }
  entry_.emplace(store_, self);
  files_.emplace(store::Store::open(store_.home(), store::OpenMode::existing), owner_,
                 plan_.handover);
  // For evaluators that read a checkpoint in place.
  ::setenv("FLOR_HOME", store_.home().c_str(), 1);
}

/// Workers of an edited evaluator begin no more jobs. When they have finished the current ones, new
/// workers replace them.
void WatchCoordinator::notice_edits() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const bool was_edited = guards_[i].due() != Clock::time_point::max();
    if (!guards_[i].look()) continue;
    const EvaluatorSpec& spec = plan_.judges[i].group.evaluator;
    if (!was_edited) {
      note_(fmt::format("{} was edited: what waits is judged by it as it is now",
                        printable(spec.file.string())));
    }
    for (const store::Lease& lease : groups_[i]->take_waiting()) {
      orders_.reports.push_back({lease, JobReport::Kind::back});
    }
    const bool is_quiet = !exchange_.is_busy() && !failing_since_ && preparing_.empty();
    if (!guards_[i].is_settled() || !groups_[i]->leases().empty() || !is_quiet) continue;
    if (const auto evaluator = take_over_edited(i)) renew(i, *evaluator);
  }
}

WatchCoordinator::Clock::time_point WatchCoordinator::next_edit() const {
  auto due = Clock::time_point::max();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i]->leases().empty()) due = std::min(due, guards_[i].due());
  }
  return preparing_.empty() && !failing_since_ ? due : Clock::time_point::max();
}

/// Hands waiting jobs to the evaluator's new version, whose number this returns; nothing if the
/// queue cannot be written at the moment. The source may be asked meanwhile, beside the finder's
/// thread.
std::optional<std::int64_t> WatchCoordinator::take_over_edited(std::size_t index) {
  const std::string spec = plan_.judges[index].group.evaluator.text();
  try {
    const std::int64_t evaluator = queue_.add_evaluator(spec, guards_[index].digest());
    for (const std::vector<Pair>& pairs : pairs_) {
      for (const Pair& pair : pairs) {
        if (pair.group != groups_[index].get()) continue;
        take_over(evaluator, spec, memory_.sightings(pair.watch));
      }
    }
    return evaluator;
  } catch (const Damaged&) {
    throw;
  } catch (const Error&) {  // the next exchange reports it
    guards_[index].postpone();
    look_ = true;
    return std::nullopt;
  }
}

void WatchCoordinator::renew(std::size_t index, std::int64_t evaluator) {
  const WatchPlan::Judge& judge = plan_.judges[index];
  const EvaluationGroup* const old = groups_[index].get();
  for (store::NewJob& job : orders_.additions) {
    if (job.evaluator == old->evaluator()) job.evaluator = evaluator;
  }
  std::unique_ptr<EvaluationGroup> group = open_group(judge, evaluator);
  for (std::vector<Pair>& pairs : pairs_) {
    for (Pair& pair : pairs) {
      if (pair.group == old) pair.group = group.get();
    }
  }
  groups_[index] = std::move(group);
  groups_[index]->start();
  guards_[index].accept();
  more_[index] = look_ = true;
}

}  // namespace flor::cli
