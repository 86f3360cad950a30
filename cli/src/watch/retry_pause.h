// Something that fails for now, and is tried again after pauses that grow.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace flor::cli {

/// Knows since when it fails, why, and when the next try is due. Pure: every function that depends
/// on the time is given it. Not thread-safe.
class RetryPause {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  /// The pause after the first failure, and the longest: each is twice as long as the one before.
  RetryPause(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest) {}

  /// A try has failed. True: it is the first since a success.
  bool failed(Time now, std::string why) {
    const bool begins = !since_;
    pause_ = begins ? first_ : std::min(pause_ * 2, longest_);
    next_ = now + pause_;
    why_ = std::move(why);
    if (begins) since_ = now;
    return begins;
  }
  /// A try has succeeded. True: the one before had failed.
  bool succeeded() {
    const bool ends = since_.has_value();
    since_.reset();
    return ends;
  }

  /// Whether the latest try has failed.
  bool fails() const { return since_.has_value(); }
  /// Whether no pause lasts.
  bool may_try(Time now) const { return !since_ || now >= next_; }
  /// When the next try is due; the end of time if nothing fails.
  Time next() const { return since_ ? next_ : Time::max(); }
  /// When it will have failed for so long; the end of time if nothing fails.
  Time end_of(Milliseconds patience) const { return since_ ? *since_ + patience : Time::max(); }
  /// Why the latest failure came.
  const std::string& why() const { return why_; }

 private:
  Milliseconds first_, longest_, pause_{0};
  std::optional<Time> since_;
  Time next_{};
  std::string why_;
};

}  // namespace flor::cli
