#include "watch/edit_guard.h"

#include "watch/evaluators/complete_files.h"

#include <utility>

namespace flor::cli {
namespace {

/// Time without a change after which a file counts as saved: editors write a file in pieces.
constexpr std::chrono::milliseconds kSettle{500};

}  // namespace

EditGuard::EditGuard(EvaluatorSpec evaluator, Now now)
    : evaluator_(std::move(evaluator)),
      now_(std::move(now)),
      file_(identify(evaluator_.file)),
      known_(evaluator_.digest()),
      digest_(known_) {}

bool EditGuard::look() {
  auto present = identify(evaluator_.file);
  if (present == file_) return changed_.has_value();
  file_ = std::move(present);
  digest_ = evaluator_.digest();
  changed_ = digest_ == known_ ? std::nullopt : std::optional(now_());
  return changed_.has_value();
}

bool EditGuard::is_settled() const { return changed_ && file_ && now_() >= due(); }

EditGuard::Clock::time_point EditGuard::due() const {
  if (!changed_) return Clock::time_point::max();
  return file_ ? *changed_ + kSettle : now_() + kSettle;  // a missing file may come back
}

}  // namespace flor::cli
