// Whether somebody edits the file of an evaluator while it judges.
#pragma once

#include "queue/sightings.h"
#include "watch/evaluators/evaluator.h"

#include <chrono>
#include <optional>
#include <string>

namespace flor::cli {

/// Not thread-safe.
class EditGuard {
 public:
  using Clock = std::chrono::steady_clock;

  /// The file is now as the workers know it.
  explicit EditGuard(EvaluatorSpec evaluator);

  /// Looks at the file, which is cheap while nobody has touched it. True from when it has another
  /// content than the workers know, or none: what they are given then is not judged by what they
  /// are called.
  bool look();
  /// `look` has said so, and the file has been left alone since for long enough to be whole.
  bool is_settled() const;
  /// It is not to be settled for a while yet.
  void postpone() {
    if (changed_) changed_ = Clock::now();
  }
  /// When that may be; the end of time if nobody has edited it.
  Clock::time_point due() const;
  /// From now on the workers know the file as it was looked at last.
  void accept() {
    known_ = digest_;
    changed_.reset();
  }
  /// What the file is called by as it is now.
  const std::string& digest() const { return digest_; }

 private:
  EvaluatorSpec evaluator_;
  std::optional<store::FileIdentity> file_;
  std::string known_, digest_;
  std::optional<Clock::time_point> changed_;
};

}  // namespace flor::cli
