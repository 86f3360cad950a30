#include "replay/launch_facts.h"

#include "checkpoint/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace flor::cli {
namespace {

constexpr double kBytesPerSecond = 1e9;  // assumed until a restore was measured
constexpr double kLoad = 1e-3;           // seconds to find and open a checkpoint

/// The seconds that loading each checkpoint takes, by its place; a boundary has an empty loop.
class Loads {
 public:
  Loads(const store::Catalog& catalog, const store::Run& run) {
    const double rate = catalog.restore_rate().value_or(kBytesPerSecond);
    for (const store::CheckpointInfo& info : store::reachable_checkpoints(catalog, run.id)) {
      seconds_[{info.key.main_loop, info.key.iteration, info.key.loop}] =
          kLoad + static_cast<double>(info.raw_bytes) / rate;
    }
  }
  const double* find(std::int64_t loop, std::int64_t iteration, const std::string& nested) const {
    const auto found = seconds_.find({loop, iteration, nested});
    return found == seconds_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, double> seconds_;
};

bool is_probed(const std::string& loop, const std::vector<std::string>& probes) {
  return std::ranges::count(probes, loop.substr(0, loop.find('~'))) > 0;
}

/// The part of a loop that is executed for the chosen steps.
double share_of(const store::LoopExecution& execution, const detail::StepChoice& steps) {
  if (steps.empty() || execution.iterations <= 0) return 1;
  return static_cast<double>(steps.end_in(execution.iterations)) /
         static_cast<double>(execution.iterations);
}

EpochCost cost_of(const store::Iteration& iteration,
                  const std::vector<const store::LoopExecution*>& nested, const Loads& loads,
                  const std::vector<std::string>& probes, const detail::StepChoice& steps) {
  const double whole = std::max(iteration.seconds - iteration.record_seconds, 0.0);
  EpochCost cost{.asked = whole, .passed = whole, .restore = 0};
  for (const store::LoopExecution* execution : nested) {
    const double* load = loads.find(iteration.main_loop, iteration.iteration, execution->loop);
    if (!load) continue;
    const double saved = execution->seconds - *load;
    cost.passed -= saved;
    const double share = is_probed(execution->loop, probes) ? share_of(*execution, steps) : 0;
    if (share < 1) cost.asked -= saved - share * execution->seconds;
  }
  cost.asked = std::max(cost.asked, 0.0);
  cost.passed = std::max(cost.passed, 0.0);
  return cost;
}

}  // namespace

RunFacts replay_facts(const store::Catalog& catalog, const store::Run& run,
                      const std::vector<std::string>& probes, const detail::StepChoice& steps) {
  RunFacts facts;
  const Loads loads(catalog, run);
  const auto fork = catalog.fork(run.id);
  for (const store::MainLoop& loop : catalog.main_loops(run.id)) {
    LoopFacts& known = facts.loops.emplace_back();
    known.first_epoch = loop.first_epoch;
    known.iterations = loop.iterations;
    known.leaves = loop.broke;
    for (std::int64_t i = 0; i <= loop.iterations; ++i) {
      if (fork && i < loop.iterations && fork->is_others(loop.ordinal, i)) continue;
      if (loads.find(loop.ordinal, i, {})) known.boundaries.insert(i);
    }
    facts.epochs.resize(static_cast<std::size_t>(loop.first_epoch + loop.iterations));
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const store::LoopExecution*>> nested;
  const std::vector<store::LoopExecution> executions = catalog.executions(run.id);
  for (const store::LoopExecution& execution : executions) {
    nested[{execution.main_loop, execution.iteration}].push_back(&execution);
  }
  double inside = 0;
  for (const store::Iteration& iteration : catalog.iterations(run.id)) {
    inside += iteration.seconds;
    const auto loop = static_cast<std::size_t>(iteration.main_loop);
    if (loop >= facts.loops.size()) continue;
    const auto epoch =
        static_cast<std::size_t>(facts.loops[loop].first_epoch + iteration.iteration);
    if (epoch >= facts.epochs.size()) continue;
    EpochCost& cost = facts.epochs[epoch];
    cost = cost_of(iteration, nested[{iteration.main_loop, iteration.iteration}], loads, probes,
                   steps);
    const double* load = loads.find(iteration.main_loop, iteration.iteration, {});
    cost.restore = load ? *load : 0;
  }
  if (run.finished_us) {
    const double whole = static_cast<double>(*run.finished_us - run.start.started_us) / 1e6;
    facts.startup = std::max(whole - inside, 0.0);
  }
  return facts;
}

void expect_loads_alone(RunFacts& facts) {
  for (const LoopFacts& loop : facts.loops) {
    for (std::int64_t i = 0; i < loop.iterations; ++i) {
      if (!loop.boundaries.contains(i + 1)) continue;
      const auto epoch = static_cast<std::size_t>(loop.first_epoch + i);
      if (epoch >= facts.epochs.size()) continue;
      // The boundary after an epoch is the boundary before the next one.
      const bool known = epoch + 1 < facts.epochs.size() && i + 1 < loop.iterations;
      facts.epochs[epoch].asked = facts.epochs[known ? epoch + 1 : epoch].restore;
    }
  }
}

std::set<std::int64_t> parts_of(const std::vector<store::MainLoop>& loops,
                                const std::vector<Epochs>& epochs, std::int64_t first) {
  std::set<std::int64_t> parts;
  for (const Epochs& range : epochs) {
    for (std::int64_t epoch = range.first; epoch < range.end; ++epoch) parts.insert(epoch);
  }
  if (parts.contains(first)) parts.insert(store::part_outside(0));
  for (const store::MainLoop& loop : loops) {
    const std::int64_t last = std::max(loop.first_epoch + loop.iterations - 1, first);
    if (loop.ended && parts.contains(last)) parts.insert(store::part_outside(loop.ordinal + 1));
  }
  return parts;
}

void add(store::ReplayResult& sum, const store::ReplayResult& more) {
  sum.values_compared += more.values_compared;
  sum.values_different += more.values_different;
  sum.states_compared += more.states_compared;
  sum.states_different += more.states_different;
  sum.values_found += more.values_found;
  if (sum.first_difference.empty()) sum.first_difference = more.first_difference;
  const auto either = [&](store::Verdict verdict) {
    return sum.verdict == verdict || more.verdict == verdict;
  };
  sum.verdict = either(store::Verdict::differs)                 ? store::Verdict::differs
                : either(store::Verdict::doubtful)              ? store::Verdict::doubtful
                : sum.values_compared + sum.states_compared > 0 ? store::Verdict::verified
                                                                : store::Verdict::unverified;
}

std::string print_parts(const std::set<std::int64_t>& parts) {
  std::vector<std::string> texts;
  std::size_t outside = 0;
  for (auto at = parts.begin(); at != parts.end();) {
    const std::int64_t first = *at++;
    if (first < 0) {
      ++outside;
      continue;
    }
    std::int64_t last = first;
    while (at != parts.end() && *at == last + 1) last = *at++;
    texts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last));
  }
  std::string text;
  for (const std::string& range : texts) text += (text.empty() ? "" : ", ") + range;
  if (!text.empty()) {
    text = (texts.size() == 1 && text.find('.') == text.npos ? "epoch " : "epochs ") + text;
  }
  if (outside > 0 && text.empty()) text = "what is outside the loops";
  return text;
}

}  // namespace flor::cli
