// The way to a step inside an iteration: code that is executed again logs again what is recorded.
#pragma once

#include "session/journal.h"

#include <flor/store/store.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace flor::detail {

/// By their identities.
using ValuesOnWay = std::map<std::string, store::Value>;
/// The values of the iteration of the point that were logged outside of its nested loops; none
/// where the point is not inside an iteration.
ValuesOnWay values_on_way(const store::Catalog& catalog, std::int64_t run,
                          const store::ResumePoint& point);

/// Compares values that are logged on the way with the recorded ones, which stay. Belongs to the
/// background thread, but where it says otherwise.
class RecordedWay {
 public:
  /// Before there is a background thread.
  void know(ValuesOnWay recorded) { recorded_ = std::move(recorded); }
  /// False: the value is replaced by the recorded one, whose content is stored.
  bool compare(store::Value& value, const LoggedContent* content);
  /// The first value that is logged differently now, in words; empty if none is. Where no value is
  /// logged any more, any thread.
  const std::string& difference() const { return difference_; }
  void forget();

  // Any thread: the way begins, and is over.
  void enter() { entered_ = true; }
  void leave() { entered_ = false; }
  bool entered() const { return entered_; }

 private:
  std::atomic<bool> entered_{false};
  ValuesOnWay recorded_;
  std::string difference_;
};

}  // namespace flor::detail
