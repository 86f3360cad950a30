#include "curves/course.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flor::cli {
namespace {

constexpr double kSecond = 1e6;

/// Element `index` of the list, or its last one if the list is shorter; 0 if it is empty.
template <typename T>
T at_or_last(const std::vector<T>& list, std::int64_t index) {
  if (list.empty()) return T{};
  return list[std::min(static_cast<std::size_t>(std::max<std::int64_t>(index, 0)),
                       list.size() - 1)];
}

/// How many epochs ahead of the known ones a number is accepted. A larger number comes from a
/// catalog of another machine that claims nonsense.
constexpr std::int64_t kAheadMax = 100'000;

template <typename T>
void put(std::vector<T>& list, std::int64_t index, T value) {
  if (index < 0 || index - std::ssize(list) > kAheadMax) return;
  const auto at = static_cast<std::size_t>(index);
  if (list.size() <= at) list.resize(at + 1);
  list[at] = value;
}

}  // namespace

std::optional<Axis> axis_named(std::string_view text) {
  for (const Axis axis : {Axis::epoch, Axis::step, Axis::time}) {
    if (text == to_string(axis)) return axis;
  }
  return std::nullopt;
}

Axis parse_axis(std::string_view text) {
  if (const auto axis = axis_named(text)) return *axis;
  throw UsageError(fmt::format("--by {}: use epoch, step or time", printable(text)));
}

std::string_view to_string(Axis axis) {
  switch (axis) {
    case Axis::epoch:
      return "epoch";
    case Axis::step:
      return "step";
    case Axis::time:
      return "time";
  }
  return "?";
}

std::string_view nested_loop(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {};
  const std::string_view below = path.substr(slash + 1);
  return below.substr(0, below.find('/'));
}

Course::Course(const store::Catalog& catalog, const store::Run& run, std::int64_t now_us) {
  read_epochs(catalog, run, now_us);
  read_loops(catalog, run);
}

void Course::read_epochs(const store::Catalog& catalog, const store::Run& run,
                         std::int64_t now_us) {
  for (const store::MainLoop& loop : catalog.main_loops(run.id)) {
    first_epochs_[loop.ordinal] = loop.first_epoch;
  }
  std::vector<double> lengths;
  for (const store::Iteration& iteration : catalog.iterations(run.id)) {
    put(lengths, first_epochs_[iteration.main_loop] + iteration.iteration, iteration.seconds);
  }
  before_.push_back(0);
  for (const double length : lengths) before_.push_back(before_.back() + length);
  if (!lengths.empty()) {
    going_on_ = lengths.back();
  } else if (run.state == store::RunState::running) {
    going_on_ = std::max(0.0, static_cast<double>(now_us - run.start.started_us) / kSecond);
  }
  starts_.push_back({0, run.start.started_us});
  for (const store::Resumption& resumption : catalog.resumptions(run.id)) {
    starts_.push_back({resumption.point.epoch, resumption.resumed_us});
  }
}

void Course::read_loops(const store::Catalog& catalog, const store::Run& run) {
  std::int64_t epoch = -1;
  double start = 0;
  for (const store::LoopExecution& execution : catalog.executions(run.id)) {
    const std::int64_t its = first_epochs_[execution.main_loop] + execution.iteration;
    if (its != epoch) start = 0;
    epoch = its;
    Loop& loop = loops_[execution.loop];
    put(loop.steps, epoch, execution.iterations);
    put(loop.seconds, epoch, execution.seconds);
    put(loop.start, epoch, start);
    start += execution.seconds;
  }
  std::int64_t most = 0;
  for (auto& [name, loop] : loops_) {
    loop.before.assign(1, 0);
    for (const std::int64_t steps : loop.steps) loop.before.push_back(loop.before.back() + steps);
    if (loop.before.back() <= most) continue;
    most = loop.before.back();
    longest_ = &loop;
  }
}

void Course::notice(std::string_view name, std::int64_t epoch, std::int64_t step) {
  if (name.empty() || epoch < 0 || step < 0) return;
  auto found = loops_.find(name);
  if (found == loops_.end()) {
    found = loops_.emplace(name, Loop{}).first;
    found->second.before.assign(1, 0);
  }
  Loop& loop = found->second;
  if (epoch - std::max(std::ssize(loop.steps), std::ssize(before_)) > kAheadMax) return;
  // Only raises a number of steps: a recorded number is never smaller than the truth.
  for (std::int64_t next = std::ssize(loop.steps); next <= epoch; ++next) {
    loop.steps.push_back(0);
    loop.before.push_back(loop.before.back());
  }
  if (step < loop.steps[static_cast<std::size_t>(epoch)]) return;
  for (auto later = static_cast<std::size_t>(epoch) + 1; later < loop.before.size(); ++later) {
    loop.before[later] += step + 1 - loop.steps[static_cast<std::size_t>(epoch)];
  }
  loop.steps[static_cast<std::size_t>(epoch)] = step + 1;
  if (!longest_ || longest_->before.back() < loop.before.back()) longest_ = &loop;
}

std::int64_t Course::steps_in(const Loop& loop, std::int64_t epoch) {
  return at_or_last(loop.steps, epoch);
}

std::int64_t Course::steps_before(const Loop& loop, std::int64_t epoch) {
  const std::int64_t known = std::ssize(loop.steps);
  return at_or_last(loop.before, epoch) +
         std::max<std::int64_t>(0, epoch - known) * at_or_last(loop.steps, known);
}

const Course::Loop* Course::loop_of(const store::Place& place) const {
  const auto found = loops_.find(nested_loop(place.path));
  return found == loops_.end() ? nullptr : &found->second;
}

double Course::length(std::int64_t epoch) const {
  const std::int64_t known = std::ssize(before_) - 1;
  if (epoch < 0 || epoch >= known) return going_on_;
  return before_[static_cast<std::size_t>(epoch) + 1] - before_[static_cast<std::size_t>(epoch)];
}

double Course::seconds_before(std::int64_t epoch) const {
  const std::int64_t known = std::ssize(before_) - 1;
  return at_or_last(before_, epoch) +
         static_cast<double>(std::max<std::int64_t>(0, epoch - known)) * going_on_;
}

double Course::position(Axis axis, const store::Place& place, std::int64_t index,
                        std::int64_t count) const {
  const double one = 1.0 / static_cast<double>(std::max<std::int64_t>(count, 1));
  const double begun = static_cast<double>(index) * one;
  const Loop* loop = place.step >= 0 ? loop_of(place) : nullptr;
  const auto step = static_cast<double>(place.step);
  const double steps =
      loop ? static_cast<double>(std::max(steps_in(*loop, place.epoch), place.step + 1)) : 1;
  const auto epoch = static_cast<double>(place.epoch);
  switch (axis) {
    case Axis::epoch:
      return loop ? epoch + (step + begun) / steps : epoch + begun;
    case Axis::step:
      if (loop) return static_cast<double>(steps_before(*loop, place.epoch)) + step + begun;
      if (!longest_) return epoch + begun;
      return static_cast<double>(steps_before(*longest_, place.epoch)) +
             (begun + one) * static_cast<double>(steps_in(*longest_, place.epoch));
    case Axis::time:
      break;
  }
  return seconds_before(place.epoch) + share(place, begun + one) * length(place.epoch);
}

double Course::share(const store::Place& place, double within) const {
  const Loop* loop = place.step >= 0 ? loop_of(place) : nullptr;
  if (!loop) return within;
  const double whole = length(place.epoch);
  const double steps = static_cast<double>(std::max(steps_in(*loop, place.epoch), place.step + 1));
  const double done = (static_cast<double>(place.step) + within) / steps;
  const double start = at_or_last(loop->start, place.epoch);
  const double seconds = at_or_last(loop->seconds, place.epoch);
  if (seconds <= 0 || whole <= 0) return done;
  return std::min(1.0, (start + done * seconds) / whole);
}

std::int64_t Course::step_number(const store::Place& place) const {
  const Loop* loop = place.step >= 0 ? loop_of(place) : nullptr;
  return loop ? steps_before(*loop, place.epoch) + place.step
              : std::max<std::int64_t>(place.epoch, 0);
}

std::int64_t Course::clock_us(const store::Place& place) const {
  const std::int64_t epoch = std::max<std::int64_t>(place.epoch, 0);
  Start start = starts_.front();
  for (const Start& other : starts_) {
    if (other.epoch <= epoch) start = other;
  }
  const double over = place.epoch < 0 ? 0 : position(Axis::time, place, 0, 1);
  const double seconds = std::max(0.0, over - seconds_before(start.epoch));
  return start.clock_us + static_cast<std::int64_t>(std::llround(seconds * kSecond));
}

}  // namespace flor::cli
