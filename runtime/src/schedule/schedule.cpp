#include "schedule/schedule.h"

#include <algorithm>
#include <utility>

namespace flor::detail {

using store::StorageReason;

Schedule::Schedule(const Flags& flags) : every_(flags.every.value_or(0)), policy_(flags.epsilon) {}

void Schedule::set_rule(const Flags& flags) {
  every_ = flags.every.value_or(0);
  policy_ = Adaptive(flags.epsilon);
}

double Schedule::computed(const Now& now) const {
  const double elapsed = elapsed_ + now.iteration_seconds - now.flor_seconds;
  return std::max(0.0, elapsed - ledger_.totals().background);
}

/// Passes new measurements on to the policy.
void Schedule::learn() {
  for (const auto& batch : ledger_.finished()) {
    if (batch == entry_) entry_written_ = true;
    if (batch->kind != Batch::Kind::single) policy_.add(batch->cost);
  }
  if (!entry_) return;
  IterationCost cost = ledger_.cost_of(*entry_);
  if (entry_written_) return policy_.estimate(cost, checkpoints_);
  // Until the entry checkpoint is written, its encoding counts like its copying. This decides
  // whether to hurry the writer: the first copy goes into fresh memory, which takes about as long
  // as encoding it.
  constexpr double kOfCopying = 1.5;
  cost.background = std::max(cost.background, kOfCopying * cost.training);
  cost.charged = cost.training + cost.background;
  policy_.estimate(cost, 1);
}

StorageReason Schedule::choose(const Now& now) {
  const bool last = now.count && now.iteration + 1 == static_cast<std::int64_t>(*now.count);
  if (last) return StorageReason::last;  // tried regardless of earlier failures
  if (every_ > 0 && (now.iteration + 1) % every_ != 0) return StorageReason::not_every;
  if (now.degraded) return StorageReason::degraded;
  if (every_ > 0) return StorageReason::every;
  const StorageReason own = weigh(now);
  if (!agree_) return own;
  const bool stored = agree_(now.main_loop, now.iteration, store::is_stored(own));
  if (stored == store::is_stored(own)) return own;
  return stored ? StorageReason::worthwhile : StorageReason::ranks;
}

bool Schedule::is_spent() const {
  const store::Recording now = recording();
  return now.cost > now.epsilon * now.computed;
}

/// The policy's decision for this process alone.
StorageReason Schedule::weigh(const Now& now) {
  learn();
  // A resumed run begins without an entry checkpoint, from which the cost would be known.
  if (!entry_ && !policy_.knows_cost() && !std::exchange(measuring_, true)) {
    return StorageReason::measured;
  }
  Situation situation{.computed = computed(now),
                      .cost = ledger_.totals().cost,
                      .remaining = {},
                      .writing = now.writing,
                      .bytes = 0};
  if (now.count) situation.remaining = static_cast<std::int64_t>(*now.count) - now.iteration - 1;
  Choice choice = policy_.decide(situation);
  if (choice.stored()) {  // only then is it worthwhile to measure the size of the state
    situation.bytes = now.bytes();
    choice = policy_.decide(situation);
  }
  return choice.reason;
}

std::shared_ptr<Batch> Schedule::open_single() {
  entry_ = ledger_.open(Batch::Kind::single);
  entry_written_ = false;
  return entry_;
}

void Schedule::begin_iteration() {
  reason_.reset();
  batch_ = nullptr;
  checkpoints_ = std::max(checkpoints_, due_);
  due_ = 0;
}

bool Schedule::stores(const Now& now) {
  if (!reason_) {
    const StorageReason reason = choose(now);
    reason_ = reason;
    if (store::is_stored(reason)) {
      ++stored_;
      const bool chosen = reason == StorageReason::worthwhile;
      batch_ = ledger_.open(chosen ? Batch::Kind::chosen : Batch::Kind::forced);
      if (chosen) policy_.stored(computed(now));
    }
  }
  return store::is_stored(*reason_);
}

void Schedule::force(const Now& now, StorageReason reason) {
  if (reason_ && store::is_stored(*reason_)) return;
  reason_ = now.degraded ? StorageReason::degraded : reason;
  if (now.degraded) return;
  ++stored_;
  batch_ = ledger_.open(Batch::Kind::forced);
}

void Schedule::end_iteration(const Now& now) {
  ledger_.close(batch_);
  elapsed_ += now.iteration_seconds - now.flor_seconds;
  ++iterations_;
  Now ended = now;
  ended.iteration_seconds = ended.flor_seconds = 0;
  policy_.completed(computed(ended));
  note(ended, reason_.value_or(now.degraded ? StorageReason::degraded : StorageReason::budget));
}

void Schedule::note(const Now& now, StorageReason reason) {
  const double cost = ledger_.totals().cost;
  range_changed_ = true;
  if (!ranges_.empty()) {
    store::StorageDecision& last = ranges_.back();
    if (last.main_loop == now.main_loop && last.reason == reason &&
        last.last + 1 == now.iteration) {
      last.last = now.iteration;
      last.cost = cost;
      last.computed = computed(now);
      return;
    }
  }
  ranges_.push_back({now.main_loop, now.iteration, now.iteration, reason, cost, computed(now)});
}

void Schedule::ended_with_last_iteration() {
  if (ranges_.empty() || store::is_stored(ranges_.back().reason)) return;
  ++stored_;
  range_changed_ = true;
  store::StorageDecision& last = ranges_.back();
  if (last.first == last.last) {
    last.reason = StorageReason::end;
    return;
  }
  store::StorageDecision end = last;
  --last.last;
  end.first = end.last;
  end.reason = StorageReason::end;
  ranges_.push_back(end);
}

std::vector<store::StorageDecision> Schedule::decisions() {
  if (!std::exchange(range_changed_, false)) return {};
  std::vector<store::StorageDecision> changed = ranges_;
  ranges_.erase(ranges_.begin(), ranges_.end() - 1);
  return changed;
}

store::Recording Schedule::recording() const {
  const Ledger::Totals totals = ledger_.totals();
  return {.every = every_,
          .epsilon = policy_.epsilon(),
          .materialization = policy_.materialization(),
          .computation = policy_.computation(),
          .restore_factor = policy_.restore_factor(),
          .cost = totals.cost,
          .computed = std::max(0.0, elapsed_ - totals.background),
          .forced = totals.forced,
          .startup = startup_,
          .iterations = iterations_,
          .stored = stored_};
}

}  // namespace flor::detail
