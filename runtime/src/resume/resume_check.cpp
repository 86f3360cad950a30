#include "resume/resume_check.h"

#include "base/process_facts.h"
#include "index/catalog/resume_point.h"
#include "protocol/value_text.h"
#include "replay/recorded_run.h"
#include "state/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace flor::detail {
namespace {

constexpr double kShare = 0.01, kLeastSeconds = 10;

/// The checkpoints that one rank has stored in one main loop.
struct StoredCourse {
  std::set<std::int64_t> boundaries;
  std::map<std::int64_t, double> seconds;  ///< by iteration
  double computed = 0;
};

Record record_of(const store::Catalog& catalog, const store::Run& run, Copied copied) {
  Record record(catalog, run);
  if (copied == Copied::left_out) record.leave_out_copied(catalog);
  return record;
}

/// The iterations of one rank that can be checked.
StoredCourse stored_of(const store::Catalog& catalog, const store::Run& run, std::int64_t main_loop,
                       Copied copied) {
  StoredCourse stored{.boundaries = record_of(catalog, run, copied).boundaries(main_loop),
                      .seconds = {}};
  for (const store::Iteration& iteration : catalog.iterations(run.id)) {
    stored.computed += iteration.seconds;
    if (iteration.main_loop == main_loop) stored.seconds[iteration.iteration] = iteration.seconds;
  }
  return stored;
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

CheckPlan plan_whole(const store::Catalog& catalog, const std::vector<store::Run>& ranks,
                     const store::ResumePoint& point, std::optional<double> budget,
                     Copied copied) {
  CheckPlan plan;
  std::set<std::int64_t> common;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    StoredCourse stored = stored_of(catalog, ranks[i], point.main_loop, copied);
    plan.budget =
        std::max(plan.budget, budget.value_or(std::max(kShare * stored.computed, kLeastSeconds)));
    std::erase_if(stored.boundaries, [&](std::int64_t boundary) {
      return boundary >= point.iteration || !stored.seconds.contains(boundary) ||
             (i > 0 && !common.contains(boundary));
    });
    common = std::move(stored.boundaries);
    if (!common.empty()) {
      plan.recorded = std::max(plan.recorded, stored.seconds[*common.rbegin()]);
    }
  }
  if (!point.boundary || point.iteration == 0) {
    plan.why_not = "no epoch of its loop is complete";
  } else if (common.empty()) {
    plan.why_not = "no epoch has its beginning stored";
  } else {
    plan.iteration = *common.rbegin();
  }
  return plan;
}

/// Whether the iteration can be begun from its stored boundary, and the loop be reached without
/// executing another loop.
bool can_be_led_to(const store::Catalog& catalog, const Record& record, std::int64_t main_loop,
                   std::int64_t iteration, const std::string& loop) {
  if (!record.boundaries(main_loop).contains(iteration)) return false;
  for (const store::LoopExecution& execution : catalog.executions(record.run())) {
    if (execution.main_loop != main_loop || execution.iteration != iteration) continue;
    if (execution.loop == loop) return true;
    if (!record.checkpoint({.kind = store::CheckpointKind::loop_end,
                            .main_loop = main_loop,
                            .iteration = iteration,
                            .loop = execution.loop})) {
      return false;
    }
  }
  return false;
}

/// Plans to execute a section of an iteration again, in one rank.
std::optional<CheckPlan> plan_stretch(const store::Store& store, std::int64_t run,
                                      const Record& record, const store::ResumePoint& point) {
  if (!point.boundary) return std::nullopt;
  const auto begin = store::step_before(store.catalog(), run, point);
  CheckPlan plan;
  plan.iteration = point.iteration;
  Stretch& stretch = plan.stretch.emplace();
  stretch.loop = point.loop;
  Elapsed before;
  if (begin) {
    const auto name = store::parse_step_name(begin->key.loop);
    stretch = {.loop = name->loop, .from = name->step, .to = {}};
    before = elapsed_at(store, begin->id);
  }
  store::CheckpointKey end{.kind = store::CheckpointKind::step,
                           .main_loop = point.main_loop,
                           .iteration = point.iteration,
                           .loop = store::step_name(point.loop, point.step)};
  if (!point.loop.empty()) {
    const auto checkpoint = record.checkpoint(end);
    if (!checkpoint) return std::nullopt;
    stretch.to = point.step;
    plan.recorded = elapsed_at(store, *checkpoint).loop - before.loop;
    return plan;
  }
  plan.iteration = point.iteration - 1;
  if (!begin ||
      !can_be_led_to(store.catalog(), record, point.main_loop, plan.iteration, stretch.loop)) {
    return std::nullopt;
  }
  end = {.kind = store::CheckpointKind::loop_end,
         .main_loop = point.main_loop,
         .iteration = plan.iteration,
         .loop = stretch.loop};
  plan.recorded = record.execution(end)->seconds - before.loop;
  return plan;
}

std::optional<CheckPlan> plan_stretch(const store::Store& store,
                                      const std::vector<store::Run>& ranks,
                                      const store::ResumePoint& point, double budget,
                                      Copied copied) {
  std::optional<CheckPlan> plan;
  for (const store::Run& rank : ranks) {
    const Record record = record_of(store.catalog(), rank, copied);
    const auto own = plan_stretch(store, rank.id, record, point);
    if (!own || (plan && plan->stretch != own->stretch)) return std::nullopt;
    const double recorded = std::max(own->recorded, plan ? plan->recorded : 0);
    plan = own;
    plan->recorded = recorded;
  }
  if (plan) plan->budget = budget;
  return plan;
}

}  // namespace

Elapsed elapsed_at(const store::Store& store, std::int64_t checkpoint) {
  Elapsed elapsed;
  const store::CheckpointReader reader(store, checkpoint);
  const auto item = reader.find(kElapsedItem);
  if (!item) return elapsed;
  const std::vector<std::byte> content = reader.read(*item);
  if (content.size() == sizeof elapsed) std::memcpy(&elapsed, content.data(), sizeof elapsed);
  return elapsed;
}

CheckPlan plan_check(const store::Store& store, const store::Run& run,
                     const store::ResumePoint& point, std::optional<double> budget,
                     Copied copied) {
  const store::Catalog& catalog = store.catalog();
  std::vector<store::Run> ranks{run};
  if (run.start.rank) ranks = catalog.ranks(run.start.rank->group);
  CheckPlan whole = plan_whole(catalog, ranks, point, budget, copied);
  if (whole.iteration >= 0 && whole.fits()) return whole;
  const auto stretch = plan_stretch(store, ranks, point, whole.budget, copied);
  // Ranks wait for each other, so none of several may leave an epoch before the others do.
  const bool cut = ranks.size() == 1;
  if (stretch && (cut || stretch->fits())) return *stretch;
  if (whole.iteration >= 0 && !cut) {
    whole.iteration = -1;
    whole.why_not = fmt::format("an epoch takes {}: --flor_check SECONDS allows that",
                                print_seconds(whole.recorded));
  }
  return whole;
}

ResumeCheck::ResumeCheck(const store::Store& store, std::int64_t run, std::int64_t epoch,
                         const std::string& main_loop, const std::optional<Stretch>& stretch,
                         bool exact)
    : epoch_(epoch),
      stretch_(stretch),
      exact_(exact),
      values_(store, run, comparison_, SameProgram{}) {
  for (const store::Value& value : store.catalog().values({.run = run,
                                                           .names = {},
                                                           .first_epoch = epoch,
                                                           .last_epoch = epoch,
                                                           .recorded = true,
                                                           .hindsight = false})) {
    if (expects(value, main_loop)) ++recorded_[value.name];
  }
}

bool ResumeCheck::expects(const store::Value& recorded, const std::string& main_loop) const {
  const std::string& path = recorded.place.path;
  if (path.substr(0, path.find('/')) != main_loop) return false;
  if (!stretch_) return true;
  const std::string loop = main_loop + "/" + stretch_->loop;
  const std::int64_t step = recorded.place.step;
  return (path == loop || path.starts_with(loop + "/")) && step >= stretch_->from &&
         (!stretch_->to || step < *stretch_->to);
}

double ResumeCheck::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void ResumeCheck::keep(const store::Value& value) {
  if (!values_.is_new(epoch_, value, false)) {
    ++seen_[value.name];
  } else if (exact_ && !values_.was_left_out(value)) {
    comparison_.difference(epoch_, fmt::format("{} at {}: {} was not recorded", value_title(value),
                                               print_place(value.place), print_value(value)));
  }
}

void ResumeCheck::cut(const std::string& where) {
  if (cut_.empty()) cut_ = where;
}

void ResumeCheck::conclude() {
  if (is_cut() || !exact_) return;
  for (const auto& [name, count] : recorded_) {
    const std::int64_t missing = count - seen_[name];
    if (missing <= 0) continue;
    comparison_.difference(epoch_,
                           fmt::format("{} was recorded {} in epoch {} and came {}", name,
                                       plural(count, "time"), epoch_, plural(seen_[name], "time")));
  }
}

bool ResumeCheck::passed() const { return comparison_.result().verdict != store::Verdict::differs; }

std::string ResumeCheck::outcome() const {
  const store::ReplayResult result = comparison_.result();
  return fmt::format("epoch {} computed again{}, {} and {} equal ({})", epoch_, extent(),
                     plural(result.values_compared, "value"),
                     plural(result.states_compared, "state"), print_seconds(seconds()));
}

std::string ResumeCheck::extent() const {
  if (!stretch_) return is_cut() ? " up to " + cut_ : "";
  const std::string from = fmt::format(" from step {} of {}", stretch_->from, stretch_->loop);
  if (is_cut()) return from + " up to " + cut_;
  return from +
         (stretch_->to ? fmt::format(" up to step {}", *stretch_->to - 1) : " up to its end");
}

std::string ResumeCheck::difference() const {
  const store::ReplayResult result = comparison_.result();
  const std::vector<std::string> lines = comparison_.lines();
  return fmt::format("{} of {} and {} of {} differ, first {}", result.values_different,
                     plural(result.values_compared, "value"), result.states_different,
                     plural(result.states_compared, "state"),
                     lines.empty() ? std::string("none") : lines.front());
}

}  // namespace flor::detail
