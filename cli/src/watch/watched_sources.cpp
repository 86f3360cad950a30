#include "watch/watched_sources.h"

#include <flor/store/error.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace flor::cli {

WatchedSources::WatchedSources(const store::Store& store, store::JobQueue& queue,
                               std::unique_ptr<CheckpointSource> source, const WatchPlan& plan,
                               const Evaluators& evaluators, JobDesk& desk, WatchNote note)
    : queue_(queue),
      memory_(store),
      plan_(plan),
      evaluators_(evaluators),
      desk_(desk),
      note_(std::move(note)),
      source_(std::move(source)) {}

void WatchedSources::open() {
  const std::vector<std::string> places = source_->places();
  pairs_.resize(places.size());
  for (std::size_t place = 0; place < places.size(); ++place) {
    for (std::size_t i = 0; i < evaluators_.size(); ++i) {
      const auto& directory = evaluators_.judge(i).directory;
      if (directory && directory->string() != places[place]) continue;
      Pair& pair = pairs_[place].emplace_back();
      pair.evaluator = i;
      open_pair(place, pair);
    }
    forget_what_all_know(place);
  }
}

store::NewJob WatchedSources::job(const store::Digest& content, std::int64_t evaluator,
                                  const std::string& path) const {
  return {.content = content, .evaluator = evaluator, .arguments = plan_.arguments, .path = path};
}

void WatchedSources::open_pair(std::size_t place, Pair& pair) {
  const std::int64_t number = evaluators_.number(pair.evaluator);
  const std::string spec = evaluators_.spec(pair.evaluator);
  std::vector<store::Sighting> present;
  if (!plan_.existing) {
    for (const auto& [path, file] : source_->present(place)) {
      present.push_back({0, path, file, {}});
    }
  }
  const auto opened =
      memory_.add(source_->places()[place], spec, plan_.arguments, queue_.name(), present);
  pair.watch = opened.id;
  const std::vector<store::Sighting> seen = memory_.sightings(opened.id);
  for (const store::Sighting& sighting : seen) {
    if (!sighting.content && plan_.existing) continue;
    pair.known[sighting.path] = sighting.file;
    if (!plan_.existing || source_->identify_at(sighting.path) != sighting.file) continue;
    desk_.add(job(*sighting.content, number, sighting.path));
  }
  take_over(number, spec, seen);
}

void WatchedSources::take_over(std::size_t evaluator, std::int64_t number) {
  for (const std::vector<Pair>& pairs : pairs_) {
    for (const Pair& pair : pairs) {
      if (pair.evaluator != evaluator) continue;
      take_over(number, evaluators_.spec(evaluator), memory_.sightings(pair.watch));
    }
  }
}

/// Adds the jobs that waited when the evaluator was edited for its new version: no worker would do
/// the old jobs, and the finder does not report their checkpoints again. The old jobs are dropped,
/// so that they can be added again if the edit is undone. This may ask the source while the
/// finder's thread uses it.
void WatchedSources::take_over(std::int64_t number, const std::string& spec,
                               const std::vector<store::Sighting>& seen) {
  std::set<std::int64_t> older;
  for (const store::Evaluator& one : queue_.evaluators()) {
    if (one.spec == spec && one.id != number) older.insert(one.id);
  }
  if (older.empty()) return;
  store::JobOrders orders = desk_.terms();
  // An exchange frees the leases of a watch that has died.
  orders.requests = {{number, 0}};
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
    if (source_->identify_at(sighting.path) != sighting.file) continue;
    orders.additions.push_back(job(*sighting.content, number, sighting.path));
    const auto [begin, end] = open.equal_range(*sighting.content);
    for (auto job = begin; job != end; ++job) replaced.insert(job->second);
  }
  if (replaced.empty()) return;
  queue_.exchange(orders);  // before the drop, so that nothing is lost if this process is killed in
                            // between
  for (const store::JobState state : {store::JobState::queued, store::JobState::failed}) {
    queue_.drop({.state = state, .ids = replaced});
  }
}

/// Lets the source skip files that all evaluators of the place know, so that they are neither read
/// nor remembered twice.
void WatchedSources::forget_what_all_know(std::size_t place) {
  std::vector<Pair>& pairs = pairs_[place];
  if (pairs.empty()) return;
  const auto known = pairs.front().known;
  for (const auto& [path, file] : known) {
    const bool all = std::ranges::all_of(pairs, [&path = path, &file = file](const Pair& pair) {
      const auto found = pair.known.find(path);
      return found != pair.known.end() && found->second == file;
    });
    if (!all) continue;
    source_->know(place, path, file);
    for (Pair& pair : pairs) pair.known.erase(path);
  }
}

void WatchedSources::take(Finder::News news) {
  if (!news.failure.empty()) throw Error(news.failure);
  for (const std::string& remark : news.remarks) note_(remark);
  for (const FoundCheckpoint& found : news.found) {
    for (Pair& pair : pairs_[found.place]) {
      const auto known = pair.known.find(found.path);
      const bool is_known = known != pair.known.end() && known->second == found.file;
      if (known != pair.known.end()) pair.known.erase(known);
      if (is_known) continue;
      desk_.add(job(found.content, evaluators_.number(pair.evaluator), found.path));
      desk_.saw({pair.watch, found.path, found.file, found.content});
    }
  }
  is_idle_ = news.is_idle;
  incomplete_ = std::move(news.incomplete);
}

}  // namespace flor::cli
