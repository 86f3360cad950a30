#include <flor/store/error.h>
#include <flor/store/keep_rules.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace flor::store {
namespace {

using Group = Candidate::Group;

/// Returns 0 for a number, 1 for a missing score, 2 for NaN; smaller is better.
int quality(const Score& score) { return !score ? 1 : std::isnan(*score) ? 2 : 0; }

/// Strict order: false for equal scores.
bool is_better(const Score& a, const Score& b, ScoreOrder order) {
  if (const int qa = quality(a), qb = quality(b); qa != qb || qa != 0) return qa < qb;
  return order == ScoreOrder::min ? *a < *b : *a > *b;
}

class Decider {
 public:
  Decider(std::span<const Candidate> candidates, const KeepRules& rules)
      : candidates_(candidates), rules_(rules), decisions_(candidates.size()) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      groups_[static_cast<std::size_t>(candidates[i].group)].push_back(i);
      decisions_[i].ranks.resize(rules.best.size());
    }
  }

  Decisions decide(Weigher* weigher) {
    for (const std::vector<std::size_t>& group : groups_) decide(group);
    bool fits = true;
    if (weigher) fits = fit(*weigher);
    return {std::move(decisions_), fits};
  }

 private:
  void keep(std::size_t candidate, const Reason& reason) {
    decisions_[candidate].kept = true;
    decisions_[candidate].reasons.push_back(reason);
  }

  void decide(const std::vector<std::size_t>& group) {
    for (const std::size_t i : group) {
      if (candidates_[i].needed) keep(i, {.rule = Reason::Rule::resume});
      if (candidates_[i].awaited) keep(i, {.rule = Reason::Rule::awaited});
    }
    for (std::size_t i = 0; i < rules_.best.size(); ++i) rank(group, i);
    if (rules_.last) keep_last(group, *rules_.last);
    if (rules_.every) keep_every(group, *rules_.every);
    const bool asked =
        std::ranges::any_of(rules_.best, [](const BestRule& rule) { return !rule.implied; });
    const bool only_under = !rules_.last && !rules_.every && !asked;
    for (const std::size_t i : group) decisions_[i].kept |= only_under;
    // No rule defines the best, so the newest is kept.
    if (rules_.best.empty() && !group.empty()) {
      keep(group.back(), {.rule = Reason::Rule::newest});
    }
  }

  void rank(const std::vector<std::size_t>& group, std::size_t rule) {
    std::vector<Score> scores;
    scores.reserve(group.size());
    for (const std::size_t i : group) scores.push_back(candidates_[i].scores.at(rule));
    std::int64_t rank = 0;
    for (const std::size_t place : ranking(scores, rules_.best[rule].order, rules_.tie)) {
      const std::size_t i = group[place];
      decisions_[i].ranks[rule] = ++rank;
      if (rank <= rules_.best[rule].count) {
        keep(i, {.rule = Reason::Rule::best, .best = rule, .rank = rank});
      } else if (rules_.unscored && !scores[place]) {
        keep(i, {.rule = Reason::Rule::unscored, .best = rule});
      }
    }
  }

  void keep_last(const std::vector<std::size_t>& group, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(group.size());
    for (std::int64_t i = std::max<std::int64_t>(0, size - count); i < size; ++i) {
      keep(group[static_cast<std::size_t>(i)], {.rule = Reason::Rule::last});
    }
  }

  void keep_every(const std::vector<std::size_t>& group, std::int64_t n) {
    for (const std::size_t i : group) {
      const Candidate& candidate = candidates_[i];
      const std::int64_t count = candidate.number + (candidate.group == Group::epoch ? 1 : 0);
      if (count % n == 0) keep(i, {.rule = Reason::Rule::every});
    }
  }

  /// True if the candidate is kept even beyond KeepRules::under: it is needed, awaited, or the
  /// best.
  bool must_stay(std::size_t candidate) const {
    return std::ranges::any_of(decisions_[candidate].reasons, [](const Reason& reason) {
      using enum Reason::Rule;
      return reason.rule == resume || reason.rule == newest || reason.rule == awaited ||
             (reason.rule == best && reason.rank == 1);
    });
  }

  /// Returns the kept candidates that may be dropped, worst first: by the first rule of `best`, or,
  /// without such rules, oldest first.
  std::vector<std::size_t> worst_first() const {
    std::vector<std::size_t> order;
    if (rules_.best.empty()) {
      order.resize(candidates_.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
    } else {
      std::vector<Score> scores;
      for (const Candidate& candidate : candidates_) scores.push_back(candidate.scores.front());
      order = ranking(scores, rules_.best.front().order, rules_.tie);
      std::ranges::reverse(order);
    }
    std::erase_if(order, [this](std::size_t i) { return !decisions_[i].kept || must_stay(i); });
    return order;
  }

  bool fit(Weigher& weigher) {
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      if (!decisions_[i].kept) weigher.drop(i);
    }
    if (!rules_.under) return true;
    for (const std::size_t i : worst_first()) {
      if (weigher.bytes() <= *rules_.under) break;
      weigher.drop(i);
      decisions_[i].kept = false;
      decisions_[i].over = true;
    }
    return weigher.bytes() <= *rules_.under;
  }

  std::span<const Candidate> candidates_;
  const KeepRules& rules_;
  std::array<std::vector<std::size_t>, 2> groups_;
  std::vector<Decision> decisions_;
};

void require_positive(std::optional<std::int64_t> count, std::string_view what) {
  if (count && *count < 1) {
    throw UsageError(fmt::format("{} {}: at least 1 checkpoint has to be kept", what, *count));
  }
}

}  // namespace

std::string_view to_string(ScoreOrder order) { return order == ScoreOrder::min ? "min" : "max"; }

std::vector<std::size_t> ranking(std::span<const Score> scores, ScoreOrder order, Tie tie) {
  std::vector<std::size_t> places(scores.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (tie == Tie::newer) std::ranges::reverse(places);
  std::ranges::stable_sort(
      places, [&](std::size_t a, std::size_t b) { return is_better(scores[a], scores[b], order); });
  return places;
}

KeepRules rules_of(const CheckpointStrategy& strategy) {
  if (strategy.num_to_keep && *strategy.num_to_keep < 1) {
    throw UsageError(fmt::format(
        "CheckpointStrategy: num_to_keep is {}: it is at least 1, or left out to keep all",
        *strategy.num_to_keep));
  }
  KeepRules rules;
  rules.tie = strategy.tie;
  if (!strategy.num_to_keep) return rules;
  if (strategy.score_attribute.empty()) {
    rules.last = strategy.num_to_keep;
  } else {
    rules.best = {{*strategy.num_to_keep, strategy.score_attribute, strategy.score_order}};
  }
  return rules;
}

void check_rules(const KeepRules& rules) {
  if (rules.empty()) {
    throw UsageError(
        "nothing says what to keep: --last N, --best N:METRIC:min|max, --every N, "
        "--under SIZE");
  }
  require_positive(rules.last, "--last");
  require_positive(rules.every, "--every");
  for (const BestRule& rule : rules.best) require_positive(rule.count, "--best");
  if (rules.unscored && rules.best.empty()) {
    throw UsageError("--unscored is about the scores of --best, which is not given");
  }
}

Decisions decide(std::span<const Candidate> candidates, const KeepRules& rules, Weigher* weigher) {
  return Decider(candidates, rules).decide(weigher);
}

}  // namespace flor::store
