// The way of a resumed program from the beginning of an iteration to a step inside it. Code that is
// executed again on the way logs recorded values again.
#pragma once

#include "session/journal.h"

#include <flor/store/store.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace flor::detail {

/// Recorded values by their identities (value_identity).
using ValuesOnWay = std::map<std::string, store::Value>;
/// The values that were logged in the point's iteration, outside of its nested loops. None if the
/// point is not inside an iteration.
ValuesOnWay values_on_way(const store::Catalog& catalog, std::int64_t run,
                          const store::ResumePoint& point);

/// Compares values that are logged on the way with the recorded ones, which are kept. To be used by
/// the background thread, unless noted otherwise.
class RecordedWay {
 public:
  /// To be called before the background thread exists.
  void know(ValuesOnWay recorded) { recorded_ = std::move(recorded); }
  /// Returns false if the recorded value has replaced `value`; its content is stored already.
  bool compare(store::Value& value, const LoggedContent* content);
  /// Describes the first value that was logged differently; empty if there is none. Any thread may
  /// call it when no more values are logged.
  const std::string& difference() const { return difference_; }
  void forget();

  // For any thread: mark the begin and the end of the way.
  void enter() { entered_ = true; }
  void leave() { entered_ = false; }
  bool entered() const { return entered_; }

 private:
  std::atomic<bool> entered_{false};
  ValuesOnWay recorded_;
  std::string difference_;
};

}  // namespace flor::detail
