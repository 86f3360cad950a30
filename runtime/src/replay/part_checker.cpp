#include "replay/part_checker.h"

#include "maintain/shared_view.h"

#include <exception>
#include <utility>

namespace flor::detail {

PartChecker::PartChecker(std::unique_ptr<Findings> findings, Assignment& assignment,
                         std::unique_ptr<ValueCheck> values, Comparison& comparison,
                         NewValueFacts facts, OnFailure on_failure)
    : findings_(std::move(findings)),
      values_(std::move(values)),
      comparison_(comparison),
      assignment_(assignment),
      facts_(facts),
      on_failure_(std::move(on_failure)),
      keeper_(*findings_, assignment) {}

template <typename Call>
void PartChecker::guard(const Call& call) {
  if (!failure_.empty()) return;
  try {
    call();
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

std::string PartChecker::take_content(const LoggedContent& logged, bool handed) {
  std::string reference = findings_->write_object(logged.item, logged.content);
  if (handed) values_->know(reference, logged.item, logged.content);
  return reference;
}

std::string PartChecker::know_content(const LoggedContent& logged) {
  std::string reference = store::object_reference(logged.item, logged.content);
  values_->know(reference, logged.item, logged.content);
  return reference;
}

void PartChecker::take_value(std::int64_t part, store::Value value, bool plugged) {
  if (values_->is_new(part, value, plugged)) keeper_.hold(part, std::move(value));
}

void PartChecker::end_epoch(std::int64_t epoch, const std::string& main_loop,
                            const ExecutedLoops& executed, bool outside) {
  guard([&] { values_->end_epoch(epoch, main_loop, executed, outside); });
}

void PartChecker::end_outside(std::int64_t part) {
  guard([&] { values_->end_outside(part); });
}

void PartChecker::forget(std::int64_t epoch) {
  guard([&] { values_->forget(epoch); });
}

void PartChecker::complete(std::int64_t part, bool whole, double seconds) {
  guard([&] {
    NewValueFacts facts = facts_;
    const store::ReplayResult result = comparison_.take(part);
    facts.whole = whole;
    facts.otherwise = facts.otherwise || comparison_.is_doubted();
    facts.compared = result.values_compared + result.states_compared > 0;
    parts_.push_back(
        {.part = part, .result = result, .found = verdict_of_new(facts), .seconds = seconds});
    keeper_.complete(parts_.back());
    if (environment_) note_proof(result);
  });
}

/// Only a walk that has met no difference since it began proves what it comes to.
void PartChecker::note_proof(const store::ReplayResult& result) {
  using enum store::Verdict;
  walk_broke_ = walk_broke_ || (result.verdict != verified && result.verdict != unverified);
  std::vector<store::CheckpointName> names = std::exchange(reproduced_, {});
  if (!walk_broke_) proven_.insert(proven_.end(), names.begin(), names.end());
}

void PartChecker::keep(bool now) {
  guard([&] {
    keeper_.keep(now);
    if (proven_.empty()) return;
    assignment_.proved({*environment_, std::exchange(proven_, {})});
  });
}

void PartChecker::fail(std::string_view why) {
  if (!failure_.empty()) return;
  failure_ = why;
  if (on_failure_) on_failure_(failure_);
}

}  // namespace flor::detail
