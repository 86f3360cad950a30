// Detects edits of an evaluator's file while the evaluator is in use.
#pragma once

#include "queue/sightings.h"
#include "watch/evaluators/evaluator.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace flor::cli {

/// Compares the file on disk with the version that the workers have loaded. Not thread-safe.
class EditGuard {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Takes the file as it is at the moment for the version that the workers have loaded.
  explicit EditGuard(EvaluatorSpec evaluator, Now now = Clock::now);

  /// Checks the file, which is cheap while it is untouched. Returns true if its content differs
  /// from what the workers have loaded, or it is gone. Workers must not get a job then: their
  /// result would be recorded for an evaluator with another digest.
  bool look();
  /// Whether `look` returned true and the file has been unchanged for long enough that the editor
  /// has probably written all of it.
  bool is_settled() const;
  /// Restarts the wait for `is_settled`.
  void postpone() {
    if (changed_) changed_ = now_();
  }
  /// The earliest time at which `is_settled` may become true; Clock::time_point::max() if there was
  /// no edit.
  Clock::time_point due() const;
  /// Declares that the workers have loaded the file as `look` last saw it.
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
