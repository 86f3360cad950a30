#include "schedule/adaptive.h"

#include <algorithm>

namespace flor::detail {
namespace {

using store::StorageReason;

/// The weight of a new measurement in the running mean.
constexpr double kWeight = 0.3;

}  // namespace

void Adaptive::Mean::add(double value, bool first) {
  mean = first ? value : (1 - kWeight) * mean + kWeight * value;
  last = value;
}

double Adaptive::Mean::expected() const { return std::max(mean, last); }

void Adaptive::add(const IterationCost& cost) {
  const bool first = !measured_;
  measured_ = estimated_ = true;
  charged_.add(cost.charged, first);
  whole_.add(cost.training + cost.background, first);
  bytes_.add(static_cast<double>(cost.bytes), first);
}

void Adaptive::estimate(const IterationCost& checkpoint, std::int64_t checkpoints) {
  if (measured_) return;
  estimated_ = true;
  const auto times = static_cast<double>(checkpoints);
  charged_.add(times * checkpoint.charged, true);
  whole_.add(times * (checkpoint.training + checkpoint.background), true);
  bytes_.add(static_cast<double>(checkpoint.bytes), true);
}

/// How much more a state of this size costs. A larger state costs in proportion; a smaller one has
/// fixed costs.
double Adaptive::growth(std::uint64_t bytes) const {
  const double known = bytes_.mean;
  return known > 0 ? std::max(1.0, static_cast<double>(bytes) / known) : 1.0;
}

double Adaptive::materialization(std::uint64_t bytes) const {
  return growth(bytes) * charged_.mean;
}

double Adaptive::worst_case(std::uint64_t bytes) const { return growth(bytes) * whole_.expected(); }

double Adaptive::computation() const {
  return iterations_ > 0 ? computed_at_end_ / static_cast<double>(iterations_) : 0;
}

double Adaptive::restore_factor(std::uint64_t bytes) const {
  const double m = materialization(bytes);
  const double size = std::max(bytes_.mean, static_cast<double>(bytes));
  return m > 0 ? size / restore_rate_ / m : 0;
}

bool Adaptive::spread_out(const Situation& now) const {
  const double since = now.computed - computed_at_stored_;
  const double each = iterations_ > 0 ? recent_ : now.computed;
  const double rest =
      now.remaining ? static_cast<double>(*now.remaining) * each : std::max(now.computed, each);
  const double budget = epsilon_ * (now.computed + rest) - now.cost;
  const double affordable = budget / std::max(materialization(now.bytes), 1e-12);
  // Half an iteration too early is nearer to the ideal point than half an iteration too late.
  return (since + each / 2) * affordable >= since + rest;
}

Choice Adaptive::decide(const Situation& now) const {
  if (!estimated_) return {StorageReason::unmeasured};
  if (now.cost + worst_case(now.bytes) > epsilon_ * now.computed) return {StorageReason::budget};
  const double m = materialization(now.bytes);
  const double share = std::min(1 / (1 + restore_factor(now.bytes)), epsilon_);
  // The formula with n * C = computed. Its second use of epsilon keeps the mean cost within the
  // budget.
  if (m * static_cast<double>(stored_ + 1) >= now.computed * share && m > 0) {
    return {StorageReason::gain};
  }
  if (!spread_out(now)) return {StorageReason::spread};
  if (now.writing) return {StorageReason::late};
  return {StorageReason::worthwhile};
}

void Adaptive::stored(double computed) {
  ++stored_;
  computed_at_stored_ = computed;
}

void Adaptive::completed(double computed) {
  const double own = std::max(0.0, computed - computed_at_end_);
  recent_ = iterations_ == 0 ? own : (1 - kWeight) * recent_ + kWeight * own;
  computed_at_end_ = computed;
  ++iterations_;
}

}  // namespace flor::detail
