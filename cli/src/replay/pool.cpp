#include "replay/pool.h"

#include <flor/store/catalog.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace flor::cli {
namespace {

using store::part_outside;

constexpr double kSmall = 1e-9;  // seconds; no epoch counts as free

enum class Edge { begin, end };

/// Whether the state at this edge of the epoch is stored.
bool is_stored(const RunFacts& facts, std::int64_t epoch, Edge edge) {
  return std::ranges::any_of(facts.loops, [&](const LoopFacts& loop) {
    const std::int64_t boundary = epoch - loop.first_epoch + (edge == Edge::end ? 1 : 0);
    return loop.boundaries.contains(boundary) && epoch >= loop.first_epoch &&
           epoch < loop.first_epoch + loop.iterations;
  });
}

/// Takes one of every `stride` epochs out of `epochs`, of these the first whose `edge` is stored.
std::set<std::int64_t> take_spread(const RunFacts& facts, std::set<std::int64_t>& epochs,
                                   std::size_t stride, Edge edge = Edge::begin) {
  const std::vector<std::int64_t> all(epochs.begin(), epochs.end());
  std::set<std::int64_t> taken;
  for (std::size_t i = 0; i < all.size(); i += stride) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(stride, all.size() - i));
    const auto stored =
        std::find_if(begin, end, [&](std::int64_t epoch) { return is_stored(facts, epoch, edge); });
    taken.insert(stored == end ? *begin : *stored);
  }
  for (const std::int64_t epoch : taken) epochs.erase(epoch);
  return taken;
}

}  // namespace

std::vector<std::set<std::int64_t>> waves_of(const RunFacts& facts,
                                             const std::set<std::int64_t>& epochs,
                                             EpochOrder order) {
  constexpr std::size_t kFew = 4, kFirst = 10, kSecond = 3;
  std::vector<std::set<std::int64_t>> waves;
  std::set<std::int64_t> left = epochs;
  if (order == EpochOrder::coarse && epochs.size() >= kFew) {
    waves.push_back(take_spread(facts, left, std::clamp<std::size_t>(left.size() / 2, 2, kFirst)));
    if (left.size() > kFirst) waves.push_back(take_spread(facts, left, kSecond));
  }
  if (!left.empty()) waves.push_back(std::move(left));
  return waves;
}

std::set<std::int64_t> sample_of(const RunFacts& facts, std::set<std::int64_t> epochs,
                                 std::int64_t count) {
  if (epochs.empty()) return {};
  std::size_t parts = static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
  std::set<std::int64_t> last;
  if (parts > 1) {
    last = {*epochs.rbegin()};
    epochs.erase(*epochs.rbegin());
    --parts;
  }
  const std::size_t stride = std::max<std::size_t>((epochs.size() + parts - 1) / parts, 1);
  std::set<std::int64_t> sample = take_spread(facts, epochs, stride, Edge::end);
  sample.merge(last);
  return sample;
}

ReplayPool::ReplayPool(RunFacts facts, const std::set<std::int64_t>& parts, int workers,
                       EpochOrder order)
    : facts_(std::move(facts)), workers_(std::max(workers, 1)), order_(order) {
  for (std::size_t epoch = 0; epoch < facts_.epochs.size(); ++epoch) {
    asked_.add(cost_of(static_cast<std::int64_t>(epoch)));
    passed_.add(facts_.epochs[epoch].passed);
  }
  for (const std::int64_t part : parts) {
    if (part < 0) {
      sections_.insert(-1 - part);
    } else {
      later_cost_ += cost_of(part);
    }
  }
  for (auto& wave : waves_of(facts_, {parts.lower_bound(0), parts.end()}, order)) {
    later_.push_back(std::move(wave));
  }
  open_next_wave();
}

/// Once nothing of the earlier waves is open any more: what workers hold of them may come back.
void ReplayPool::open_next_wave() {
  if (!open_.empty() || later_.empty()) return;
  open_ = std::move(later_.front());
  later_.pop_front();
  for (const std::int64_t epoch : open_) open_cost_ += cost_of(epoch);
  later_cost_ = later_.empty() ? 0 : later_cost_ - open_cost_;
  pieces_.reset();
}

double ReplayPool::cost_of(std::int64_t part) const {
  return part < 0 ? 0 : std::max(facts_.epochs.at(static_cast<std::size_t>(part)).asked, kSmall);
}

double ReplayPool::Sums::of(std::int64_t first, std::int64_t end) const {
  return before_.at(static_cast<std::size_t>(end)) - before_.at(static_cast<std::size_t>(first));
}

std::int64_t ReplayPool::interval_begin(const LoopFacts& loop, std::int64_t iteration) const {
  const auto after = loop.boundaries.upper_bound(iteration);
  return after == loop.boundaries.begin() ? 0 : *std::prev(after);
}

bool ReplayPool::is_leaving(const LoopFacts& loop, Epochs epochs) const {
  return loop.leaves && epochs.end == loop.first_epoch + loop.iterations;
}

/// The first main loop with open epochs that the worker can still reach; nullopt if there is none.
std::optional<std::size_t> ReplayPool::loop_for(const Position& position) const {
  for (auto i = static_cast<std::size_t>(position.main_loop); i < facts_.loops.size(); ++i) {
    const LoopFacts& loop = facts_.loops[i];
    const bool here = i == static_cast<std::size_t>(position.main_loop);
    const bool behind_too = !here || position.reach == Reach::any;
    const auto found = open_.lower_bound(loop.first_epoch + (behind_too ? 0 : position.iteration));
    if (found != open_.end() && *found < loop.first_epoch + loop.iterations) return i;
  }
  return std::nullopt;
}

double ReplayPool::cost(std::size_t number, Epochs epochs, const Position& position) const {
  const LoopFacts& loop = facts_.loops[number];
  const std::int64_t first = epochs.first - loop.first_epoch;
  std::int64_t begin = interval_begin(loop, first);
  const bool here = static_cast<std::int64_t>(number) == position.main_loop &&
                    position.iteration >= begin && position.iteration <= first;
  if (here) begin = position.iteration;
  // Equal epochs must have equal costs, but differences of large sums may differ by rounding.
  double total = epochs.count() == 1 ? cost_of(epochs.first) : asked_.of(epochs.first, epochs.end);
  if (begin < first) total += passed_.of(loop.first_epoch + begin, epochs.first);
  if (!here) {
    total += facts_.epochs.at(static_cast<std::size_t>(loop.first_epoch + begin)).restore;
  }
  return total;
}

/// The open epochs of a loop in atoms: consecutive epochs without a boundary between them.
std::vector<ReplayPool::Atom> ReplayPool::atoms(std::size_t number,
                                                const Position& position) const {
  const LoopFacts& loop = facts_.loops[number];
  const bool behind_too =
      static_cast<std::int64_t>(number) != position.main_loop || position.reach == Reach::any;
  std::vector<Atom> result;
  auto at = open_.lower_bound(loop.first_epoch + (behind_too ? 0 : position.iteration));
  for (; at != open_.end() && *at < loop.first_epoch + loop.iterations; ++at) {
    const bool joins = !result.empty() && result.back().epochs.end == *at &&
                       !loop.boundaries.contains(*at - loop.first_epoch);
    if (joins) {
      ++result.back().epochs.end;
    } else {
      result.push_back({.epochs = {*at, *at + 1}, .cost = 0});
    }
  }
  // A worker that executes the leaving iteration cannot return to the loop, so that atom comes
  // last.
  if (result.size() > 1 && is_leaving(loop, result.back().epochs)) result.pop_back();
  for (Atom& atom : result) atom.cost = cost(number, atom.epochs, position);
  return result;
}

Epochs ReplayPool::choose(std::size_t number, const Position& position) const {
  const std::vector<Atom> all = atoms(number, position);
  if (order_ == EpochOrder::walks) return all.front().epochs;
  const double limit = open_cost_ / (2.0 * workers_);
  std::size_t first = 0;
  if (position.reach == Reach::any || static_cast<std::int64_t>(number) != position.main_loop) {
    const auto largest = std::ranges::max_element(all, {}, &Atom::cost);
    if (largest->cost >= limit) return halved(number, *largest, position);
    const std::int64_t here = facts_.loops[number].first_epoch + position.iteration;
    double best = -1, run = 0;
    for (std::size_t i = all.size(); i-- > 0;) {
      const bool joined = i + 1 < all.size() && all[i].epochs.end == all[i + 1].epochs.first;
      run = all[i].cost + (joined ? run : 0);
      const bool next =
          static_cast<std::int64_t>(number) == position.main_loop && all[i].epochs.first == here;
      const double worth = next ? INFINITY : run;
      if (worth >= best) {
        best = worth;
        first = i;
      }
    }
  } else if (all.front().cost >= limit) {
    return halved(number, all.front(), position);
  }
  Epochs piece = all[first].epochs;
  double sum = all[first].cost;
  for (std::size_t i = first + 1; i < all.size() && all[i].epochs.first == piece.end; ++i) {
    sum += all[i].cost;
    if (sum > limit) break;
    piece.end = all[i].epochs.end;
  }
  return piece;
}

/// The first part of an atom if several workers finish the atom sooner than one worker would, else
/// the whole.
Epochs ReplayPool::halved(std::size_t number, Atom atom, const Position& position) const {
  const double share = open_cost_ / workers_;
  if (order_ == EpochOrder::walks) return atom.epochs;
  if (atom.epochs.count() < 2 || atom.cost <= share / 4) return atom.epochs;
  constexpr double kWorthIt = 0.75;
  const Position elsewhere{.section = 0, .main_loop = -1, .iteration = 0, .reach = Reach::any};
  double best = kWorthIt * atom.cost;
  Epochs chosen = atom.epochs;
  for (std::int64_t cut = atom.epochs.first + 1; cut < atom.epochs.end; ++cut) {
    const double front = cost(number, {atom.epochs.first, cut}, position);
    // The other workers share the rest. The last of them has the longest way to its piece.
    const std::int64_t others = std::max<std::int64_t>(workers_ - 1, 1);
    const std::int64_t piece = (atom.epochs.end - cut + others - 1) / others;
    const double back = cost(number, {atom.epochs.end - piece, atom.epochs.end}, elsewhere);
    if (std::max(front, back) >= best) continue;
    best = std::max(front, back);
    chosen.end = cut;
  }
  return chosen;
}

/// Takes those open sections among `first..last` that a worker at this position will execute in the
/// right state.
std::vector<std::int64_t> ReplayPool::take_sections(std::int64_t first, std::int64_t last,
                                                    const Position& position) {
  std::vector<std::int64_t> taken;
  for (auto at = sections_.lower_bound(first); at != sections_.end() && *at <= last;) {
    const std::int64_t before = *at - 1;  // the loop after which the section begins
    bool right = true;
    if (before >= 0 && before == position.main_loop) {
      const LoopFacts& loop = facts_.loops.at(static_cast<std::size_t>(before));
      // A worker in the middle of a loop whose end is not stored cannot get the state after it.
      right = loop.boundaries.contains(loop.iterations) || position.iteration == 0 ||
              position.iteration == loop.iterations;
    }
    if (!right) {
      ++at;
      continue;
    }
    taken.push_back(*at);
    at = sections_.erase(at);
  }
  return taken;
}

ReplayPool::NextTask ReplayPool::next(int worker, const Position& position) {
  NextTask answer;
  // A process that has come to a loop has had its walk.
  if (order_ == EpochOrder::walks && position.section > 0) {
    answer.kind = NextTask::Kind::finish;
    return answer;
  }
  if (const auto loop = loop_for(position)) {
    answer.kind = NextTask::Kind::epochs;
    answer.piece = choose(*loop, position);
    answer.keep = take_sections(position.section, static_cast<std::int64_t>(*loop), position);
  } else {
    const auto section = sections_.lower_bound(position.section);
    if (section != sections_.end()) {
      answer.keep = take_sections(*section, *section, position);
    }
    const bool fresh_one_can = has_open() && answer.keep.empty();
    // Sections that the worker was told to keep are still ahead of it: they are executed only if it
    // runs to the end.
    const bool on_its_way = std::ranges::any_of(
        held_[worker], [&](std::int64_t part) { return part <= part_outside(position.section); });
    if (!answer.keep.empty() || fresh_one_can || on_its_way || held_count_ == 0) {
      answer.kind = NextTask::Kind::finish;
    }
  }
  std::deque<std::int64_t>& held = held_[worker];
  const std::size_t before = held.size();
  if (!answer.piece.empty()) pieces_.reset();
  for (const std::int64_t section : answer.keep) {
    if (section == position.section || answer.kind == NextTask::Kind::finish) {
      held.push_back(part_outside(section));
    }
  }
  for (std::int64_t epoch = answer.piece.first; epoch < answer.piece.end; ++epoch) {
    open_.erase(epoch);
    open_cost_ -= cost_of(epoch);
    held_cost_ += cost_of(epoch);
    held.push_back(epoch);
  }
  for (const std::int64_t section : answer.keep) {
    if (!std::ranges::count(held, part_outside(section))) held.push_back(part_outside(section));
  }
  held_count_ += held.size() - before;
  open_next_wave();
  return answer;
}

void ReplayPool::completed(int worker, std::int64_t part) {
  std::deque<std::int64_t>& held = held_[worker];
  const auto found = std::ranges::find(held, part);
  if (found == held.end()) return;
  held.erase(found);
  --held_count_;
  held_cost_ -= cost_of(part);
}

std::optional<std::int64_t> ReplayPool::released(int worker) {
  const std::deque<std::int64_t> parts = std::move(held_[worker]);
  held_.erase(worker);
  held_count_ -= parts.size();
  pieces_.reset();
  for (const std::int64_t part : parts) {
    held_cost_ -= cost_of(part);
    if (part < 0) {
      sections_.insert(-1 - part);
    } else if (open_.insert(part).second) {
      open_cost_ += cost_of(part);
    }
  }
  return parts.empty() ? std::nullopt : std::optional(parts.front());
}

void ReplayPool::give_up(std::int64_t part) {
  pieces_.reset();
  if (part < 0) {
    sections_.erase(-1 - part);
  } else if (open_.erase(part) > 0) {
    open_cost_ -= cost_of(part);
    open_next_wave();
  }
}

std::int64_t ReplayPool::pieces_at_most() const {
  if (!pieces_) pieces_ = count_pieces();
  return *pieces_;
}

std::int64_t ReplayPool::count_pieces() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < facts_.loops.size(); ++i) {
    const Position start{.section = 0, .main_loop = 0, .iteration = 0, .reach = Reach::any};
    for (const Atom& atom : atoms(i, start)) {
      const Epochs half = halved(i, atom, start);
      count += half == atom.epochs ? 1 : atom.epochs.count();
    }
  }
  return std::max<std::int64_t>(count, 1);
}

Simulation simulate(const RunFacts& facts, const RunFacts& actual,
                    const std::set<std::int64_t>& parts, int workers, Reach reach,
                    EpochOrder order) {
  struct Worker {
    double free = 0;
    int number = 0;
    Position position;
    bool operator>(const Worker& other) const {
      return std::tie(free, number) > std::tie(other.free, other.number);
    }
  };
  ReplayPool pool(facts, parts, workers, order);
  Simulation result;
  result.pieces.resize(static_cast<std::size_t>(workers));
  std::priority_queue<Worker, std::vector<Worker>, std::greater<>> queue;
  for (int i = 0; i < workers; ++i) queue.push({actual.startup, i, {}});
  while (!queue.empty()) {
    Worker worker = queue.top();
    queue.pop();
    const ReplayPool::NextTask answer = pool.next(worker.number, worker.position);
    for (const std::int64_t section : answer.keep) {
      pool.completed(worker.number, part_outside(section));
      worker.position.section = std::max(worker.position.section, section + 1);
    }
    if (answer.piece.empty()) {
      if (!answer.keep.empty()) {  // the worker asks again after the section
        worker.position.main_loop = worker.position.section;
        worker.position.iteration = 0;
        queue.push(worker);
      } else if (pool.has_open()) {  // out of this worker's reach: a new process takes its place
        worker.position = {};
        worker.free += actual.startup;
        queue.push(worker);
      }
      continue;
    }
    std::size_t number = 0;
    while (facts.loops[number].first_epoch + facts.loops[number].iterations <= answer.piece.first) {
      ++number;
    }
    const LoopFacts& loop = actual.loops[number];
    const std::int64_t first = answer.piece.first - loop.first_epoch;
    const auto after = loop.boundaries.upper_bound(first);
    std::int64_t begin = after == loop.boundaries.begin() ? 0 : *std::prev(after);
    const Position& at = worker.position;
    const bool here = at.section == static_cast<std::int64_t>(number) + 1 &&
                      at.iteration >= begin && at.iteration <= first;
    const auto& costs = actual.epochs;
    const auto cost = [&](std::int64_t i) -> const EpochCost& {
      return costs[static_cast<std::size_t>(loop.first_epoch + i)];
    };
    if (here) {
      begin = at.iteration;
    } else {
      worker.free += cost(begin).restore;
    }
    for (std::int64_t i = begin; i < first; ++i) worker.free += cost(i).passed;
    for (std::int64_t epoch = answer.piece.first; epoch < answer.piece.end; ++epoch) {
      worker.free += cost(epoch - loop.first_epoch).asked;
      result.work += cost(epoch - loop.first_epoch).asked;
      pool.completed(worker.number, epoch);
    }
    worker.position = {.section = static_cast<std::int64_t>(number) + 1,
                       .main_loop = static_cast<std::int64_t>(number),
                       .iteration = answer.piece.end - loop.first_epoch,
                       .reach = reach};
    result.pieces[static_cast<std::size_t>(worker.number)].push_back(answer.piece);
    result.seconds = std::max(result.seconds, worker.free);
    queue.push(worker);
  }
  return result;
}

}  // namespace flor::cli
