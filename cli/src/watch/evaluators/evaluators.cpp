#include "watch/evaluators/evaluators.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace flor::cli {
namespace {

/// Files made ahead for each worker, besides the file of its current job.
constexpr std::size_t kFilesAhead = 2;

}  // namespace

std::size_t jobs_to_lease(const LeaseFacts& facts) {
  if (facts.rests) return 0;
  std::size_t most = facts.could_take;
  if (facts.needs_room) {
    const std::size_t room = (1 + kFilesAhead) * std::max<std::size_t>(1, facts.workers);
    most = std::min(most, room > facts.held ? room - facts.held : 0);
  }
  return most > facts.coming ? most - facts.coming : 0;
}

void Evaluators::add(
    const WatchPlan::Judge& judge,
    const std::function<std::int64_t(const std::string&, const std::string&)>& number) {
  EditGuard guard(judge.group.evaluator, now_);
  const std::int64_t evaluator = number(judge.group.evaluator.text(), guard.digest());
  all_.push_back({judge, std::move(guard), open_(judge, evaluator)});
}

void Evaluators::start() {
  for (const One& one : all_) one.group->start();
}

void Evaluators::stop() {
  for (const One& one : all_) one.group->stop();
}

void Evaluators::add_descriptors(std::vector<pollfd>& waiting) const {
  for (const One& one : all_) one.group->add_descriptors(waiting);
}

Evaluators::Clock::time_point Evaluators::due() const {
  auto due = Clock::time_point::max();
  for (const One& one : all_) due = std::min(due, one.group->due());
  return due;
}

void Evaluators::hear(const EvaluationGroup::Tell& tell) {
  for (const One& one : all_) one.group->hear(tell);
}

void Evaluators::give(store::LeasedJob job) {
  const auto found = std::ranges::find(
      all_, job.what.evaluator, [](const One& one) { return one.group->evaluator(); });
  found->group->give(std::move(job));
}

void Evaluators::dispatch() {
  for (const One& one : all_) one.group->dispatch();
}

LeaseFacts Evaluators::facts(std::size_t place) const {
  const One& one = all_[place];
  return {.could_take = one.group->wanted(),
          .held = one.group->leases().size(),
          .workers = one.judge.group.workers,
          .rests = one.is_edited()};
}

std::vector<store::Lease> Evaluators::leases() const {
  std::vector<store::Lease> all;
  for (const One& one : all_) std::ranges::copy(one.group->leases(), std::back_inserter(all));
  return all;
}

std::vector<store::Lease> Evaluators::take_waiting() {
  std::vector<store::Lease> all;
  for (const One& one : all_) {
    std::ranges::copy(one.group->take_waiting(), std::back_inserter(all));
  }
  return all;
}

void Evaluators::call_off(const store::Lease& lease) {
  for (const One& one : all_) one.group->call_off(lease);
}

bool Evaluators::is_ready() const {
  return std::ranges::all_of(all_, [](const One& one) { return one.group->is_ready(); });
}

Evaluators::Edits Evaluators::look_for_edits() {
  Edits edits;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    One& one = all_[i];
    const bool was_edited = one.is_edited();
    if (!one.guard.look()) continue;
    if (!was_edited) edits.noticed.push_back(one.judge.group.evaluator.file.string());
    std::ranges::copy(one.group->take_waiting(), std::back_inserter(edits.unstarted));
    if (one.guard.is_settled() && one.group->leases().empty()) edits.replaceable.push_back(i);
  }
  return edits;
}

Evaluators::Clock::time_point Evaluators::next_edit() const {
  auto due = Clock::time_point::max();
  for (const One& one : all_) {
    if (one.group->leases().empty()) due = std::min(due, one.guard.due());
  }
  return due;
}

void Evaluators::replace(std::size_t place, std::int64_t number) {
  One& one = all_[place];
  one.group = open_(one.judge, number);
  one.group->start();
  one.guard.accept();
}

}  // namespace flor::cli
