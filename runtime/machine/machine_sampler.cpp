#include "machine/machine_sampler.h"

#include "index/values/machine.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace flor::detail {
namespace {

constexpr std::size_t kAtOnce = 16;
/// Values that wait at most, where the store does not take any: newer ones are dropped.
constexpr std::size_t kWaitingMax = 65'536;
constexpr double kFirstPause = 1;

/// To 0.1 %, which leaves little to store of each number.
double rounded(double value) {
  constexpr int kBits = 10;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, kBits)), exponent - kBits);
}

double seconds_between(MachineSampler::Time first, MachineSampler::Time last) {
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace

void MachineSampler::tick(Time now, std::int64_t epoch, bool ends) {
  if (last_ && now < next_ && !ends) return;
  const double passed = last_ ? seconds_between(*last_, now) : 0;
  if (ends && passed < kFirstPause) return;
  const double began = options_.used();
  const std::vector<Measure> measures = options_.read();
  const auto second =
      static_cast<std::int64_t>(options_.run_seconds + seconds_between(options_.start, now));
  // A first reading says nothing of what grows. A place has one sample.
  const bool counts = last_ && second > last_second_ && values_.size() < kWaitingMax;
  const auto add = [&](const Measure& measure, double value) {
    values_.push_back(store::machine_value(measure.name, epoch, second, rounded(value)));
  };
  for (const Measure& measure : measures) {
    if (!measure.grows) {
      if (counts) add(measure, measure.value);
      continue;
    }
    const auto [before, is_new] = before_.try_emplace(measure.name, measure.value);
    const double growth = measure.value - std::exchange(before->second, measure.value);
    if (counts && !is_new && growth >= 0) add(measure, growth / passed);
  }
  if (counts) {
    last_second_ = second;
    ++samples_;
    ++waiting_;
  }
  settle_pause(now, options_.used() - began);
}

/// The first reading may have loaded a library, and tells nothing of the cost of the others.
void MachineSampler::settle_pause(Time now, double cost) {
  pause_ = std::min(last_ ? 2 * pause_ : kFirstPause, options_.pause);
  const double pause = last_ ? std::max(pause_, cost / options_.share) : pause_;
  last_ = now;
  next_ = now + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(pause));
}

std::vector<store::Value> MachineSampler::take(bool all) {
  if (waiting_ == 0 || (!all && waiting_ < std::min(kAtOnce, (samples_ + 1) / 2))) return {};
  waiting_ = 0;
  return std::exchange(values_, {});
}

double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace flor::detail
