// The way to a step inside an iteration: code that is executed again logs again what is recorded.
#pragma once

#include "session/journal.h"

#include <flor/store/store.h>

#include <atomic>
#include <map>
#include <string>

namespace flor::detail {

/// Compares values that are logged on the way with the recorded ones, which stay. Belongs to the
/// background thread, but where it says otherwise.
class RecordedWay {
 public:
  /// The values of the iteration of the point that were logged outside of its nested loops. Before
  /// there is a background thread.
  void know(const store::Catalog& catalog, std::int64_t run, const store::ResumePoint& point);
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
  std::map<std::string, store::Value> recorded_;  // by identity
  std::string difference_;
};

}  // namespace flor::detail
