#include "resume_check.h"

#include "process.h"
#include "record.h"
#include "value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace flor::detail {
namespace {

constexpr double kShare = 0.01, kLeastSeconds = 10;

/// Of a run, and of one main loop of it.
struct StoredCourse {
  std::set<std::int64_t> boundaries;
  std::map<std::int64_t, double> seconds;  ///< by iteration
  double computed = 0;
};

StoredCourse stored_of(const store::Catalog& catalog, const store::Run& run,
                       std::int64_t main_loop) {
  StoredCourse stored{.boundaries = Record(catalog, run).boundaries(main_loop), .seconds = {}};
  for (const store::Iteration& iteration : catalog.iterations(run.id)) {
    stored.computed += iteration.seconds;
    if (iteration.main_loop == main_loop) stored.seconds[iteration.iteration] = iteration.seconds;
  }
  return stored;
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

CheckPlan plan_check(const store::Catalog& catalog, const store::Run& run,
                     const store::ResumePoint& point, std::optional<double> budget) {
  CheckPlan plan;
  if (!point.boundary || point.iteration == 0) {
    plan.why_not = "no epoch of its loop is complete";
    return plan;
  }
  std::vector<store::Run> ranks{run};
  if (run.start.rank) ranks = catalog.ranks(run.start.rank->group);
  std::set<std::int64_t> common;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    StoredCourse stored = stored_of(catalog, ranks[i], point.main_loop);
    std::erase_if(stored.boundaries, [&](std::int64_t boundary) {
      return boundary >= point.iteration || !stored.seconds.contains(boundary) ||
             (i > 0 && !common.contains(boundary));
    });
    common = std::move(stored.boundaries);
    plan.budget =
        std::max(plan.budget, budget.value_or(std::max(kShare * stored.computed, kLeastSeconds)));
    if (common.empty()) break;
    plan.recorded = std::max(plan.recorded, stored.seconds[*common.rbegin()]);
  }
  if (common.empty()) {
    plan.why_not = "no epoch has its beginning stored";
  } else if (ranks.size() > 1 && plan.recorded > plan.budget) {
    // Ranks wait for each other, so that none may leave an epoch before the others do.
    plan.why_not = fmt::format("an epoch takes {}: --flor_check SECONDS allows that",
                               print_seconds(plan.recorded));
  } else {
    plan.iteration = *common.rbegin();
  }
  return plan;
}

ResumeCheck::ResumeCheck(const store::Store& store, std::int64_t run, std::int64_t epoch,
                         const std::string& main_loop, bool exact)
    : epoch_(epoch), exact_(exact), values_(store, run, comparison_, SameProgram{}) {
  for (const store::Value& value : store.catalog().values({.run = run,
                                                           .names = {},
                                                           .first_epoch = epoch,
                                                           .last_epoch = epoch,
                                                           .recorded = true,
                                                           .hindsight = false})) {
    const std::string& path = value.place.path;
    if (path.substr(0, path.find('/')) == main_loop) ++recorded_[value.name];
  }
}

double ResumeCheck::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void ResumeCheck::keep(const store::Value& value) {
  if (!values_.is_new(epoch_, value, false)) {
    ++seen_[value.name];
  } else if (exact_) {
    comparison_.difference(epoch_, fmt::format("{} at {}: {} was not recorded", value.name,
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
  return fmt::format("epoch {} computed again{}, {} and {} equal ({})", epoch_,
                     is_cut() ? " up to " + cut_ : "", plural(result.values_compared, "value"),
                     plural(result.states_compared, "state"), print_seconds(seconds()));
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
