#include "record/training_news.h"

#include "base/process_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flor::detail {

void LongEpochs::begin(std::int64_t epoch, Time now) {
  const std::lock_guard lock(mutex_);
  began_ = now;
  epoch_ = epoch;
  marks_ = 0;
  loop_.clear();
}

void LongEpochs::enter(std::string_view loop) {
  const std::lock_guard lock(mutex_);
  loop_ = loop;
  step(0);
}

void LongEpochs::end() {
  const std::lock_guard lock(mutex_);
  began_.reset();
}

std::int64_t LongEpochs::minutes_of_next_mark() const {
  const std::size_t more = std::max(marks_ + 1, kMarks.size()) - kMarks.size();
  return kMarks[std::min(marks_, kMarks.size() - 1)] +
         kMarks.back() * static_cast<std::int64_t>(more);
}

std::optional<std::string> LongEpochs::running(Time now) {
  const std::lock_guard lock(mutex_);
  if (!began_) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - *began_).count();
  std::int64_t passed = 0;
  for (; seconds >= 60.0 * static_cast<double>(minutes_of_next_mark()); ++marks_) {
    passed = minutes_of_next_mark();
  }
  // If epochs take a few minutes each, the lines about ended epochs say enough.
  if (passed == 0 || (passed == kMarks.front() && since_line_ + seconds < kPause)) return {};
  std::string line = passed < 60 ? fmt::format("epoch {} has taken {} min", epoch_, passed)
                                 : fmt::format("epoch {} has taken {} h", epoch_, passed / 60);
  if (!loop_.empty()) line += fmt::format(", step {} of {}", step_.load(), loop_);
  return line;
}

std::optional<std::string> LongEpochs::completed(std::int64_t epoch, std::int64_t done,
                                                 std::int64_t count, double seconds) {
  const std::lock_guard lock(mutex_);
  began_.reset();
  ++epochs_;
  seconds_ += seconds;
  since_line_ += seconds;
  if (seconds < kLong || since_line_ < kPause) return std::nullopt;
  since_line_ = 0;
  std::string line = fmt::format("epoch {} took {}", epoch, print_seconds(seconds));
  if (count > done) {
    const double left = seconds_ / static_cast<double>(epochs_) * static_cast<double>(count - done);
    line += fmt::format("; {} of {} are done, the others take about {}", done, count,
                        print_seconds(left));
  }
  return line;
}

std::optional<std::string> NanWatch::note(std::uint32_t id, std::string_view name,
                                          std::int64_t epoch, double value) {
  if (epoch < 0) return std::nullopt;
  const auto [entry, is_new] = metrics_.try_emplace(id);
  Metric& metric = entry->second;
  if (is_new) {
    metric.name = name;
    metric.first = epoch;
  }
  std::optional<std::string> line;
  if (epoch > metric.last) {
    const std::int64_t complete = metric.last;
    if (!is_new && metric.nan_since <= complete && !metric.said) {
      metric.said = true;
      line = fmt::format("{} was NaN in all of epoch {}: the training goes on, and is recorded",
                         metric.name, complete);
    }
    metric.last = epoch;
    if (std::isnan(value) && metric.nan_since == kNever) metric.nan_since = epoch;
  }
  if (!std::isnan(value)) {
    metric.nan_since = kNever;
    metric.said = false;
  }
  return line;
}

std::vector<std::string> NanWatch::at_end() const {
  std::vector<std::string> lines;
  for (const auto& [id, metric] : metrics_) {
    if (metric.nan_since == kNever) continue;
    lines.push_back(metric.nan_since <= metric.first
                        ? fmt::format("{} was never a number: it is NaN in all epochs", metric.name)
                        : fmt::format("{} is NaN since epoch {}", metric.name, metric.nan_since));
  }
  return lines;
}

}  // namespace flor::detail
