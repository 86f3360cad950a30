// Pauses between tries of an operation that fails temporarily; they grow with each failure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace flor::cli {

/// Knows since when and why the operation fails, and when to try again. Pure: the time is a
/// parameter. Not thread-safe.
class RetryPause {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  /// The pause is `first` after the first failure, and doubles with each further one up to
  /// `longest`.
  RetryPause(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest) {}

  /// Reports a failed try. Returns true if it is the first one since a success.
  bool failed(Time now, std::string why) {
    const bool begins = !since_;
    pause_ = begins ? first_ : std::min(pause_ * 2, longest_);
    next_ = now + pause_;
    why_ = std::move(why);
    if (begins) since_ = now;
    return begins;
  }
  /// Reports a successful try. Returns true if the try before had failed.
  bool succeeded() {
    const bool ends = since_.has_value();
    since_.reset();
    return ends;
  }

  /// Whether the latest try has failed.
  bool fails() const { return since_.has_value(); }
  /// Whether the pause is over, or there is none.
  bool may_try(Time now) const { return !since_ || now >= next_; }
  /// The time of the next try; Time::max() if the latest try succeeded.
  Time next() const { return since_ ? next_ : Time::max(); }
  /// When the operation will have failed for as long as `patience`; Time::max() if the latest try
  /// succeeded.
  Time end_of(Milliseconds patience) const { return since_ ? *since_ + patience : Time::max(); }
  /// The reason of the latest failure.
  const std::string& why() const { return why_; }

 private:
  Milliseconds first_, longest_, pause_{0};
  std::optional<Time> since_;
  Time next_{};
  std::string why_;
};

}  // namespace flor::cli
