// Notices edits of an evaluator's file while the evaluator is in use.
#pragma once

#include "queue/sightings.h"
#include "watch/evaluators/evaluator.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace flor::cli {

/// Not thread-safe.
class EditGuard {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// The workers know the file as it is now.
  explicit EditGuard(EvaluatorSpec evaluator, Now now = Clock::now);

  /// Looks at the file, which is cheap while it is untouched. Returns true from when its content
  /// differs from the one that the workers know, or it is gone: a job given to them then would be
  /// judged by a version other than its evaluator's digest says.
  bool look();
  /// Whether `look` returned true, and the file has been left alone since for long enough to be
  /// whole.
  bool is_settled() const;
  /// Delays settling: the wait starts again.
  void postpone() {
    if (changed_) changed_ = now_();
  }
  /// When `is_settled` may become true; the end of time if there was no edit.
  Clock::time_point due() const;
  /// From now on the workers know the file as `look` last saw it.
  void accept() {
    known_ = digest_;
    changed_.reset();
  }
  /// The digest of the evaluator with the file as `look` last saw it.
  const std::string& digest() const { return digest_; }

 private:
  EvaluatorSpec evaluator_;
  Now now_;
  std::optional<store::FileIdentity> file_;
  std::string known_, digest_;
  std::optional<Clock::time_point> changed_;
};

}  // namespace flor::cli
