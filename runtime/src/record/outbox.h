// Values, updates and progress that wait to be written to the catalog. A write that fails removes
// nothing: it is made again when the store works.
#pragma once

#include "session/journal.h"

#include <flor/store/catalog.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace flor::detail {

/// Logged values. Belongs to one thread.
class ValueOutbox {
 public:
  /// As much may wait: some millions of numbers, or some hundred tensors.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{256} << 20;

  /// They are written by so many: more would keep other writers waiting, and leave the caches.
  static constexpr std::size_t kAtOnce = 65'536;

  explicit ValueOutbox(std::uint64_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  /// One value always has room.
  bool has_room() const { return bytes_ < bytes_max_; }
  void add(store::Value value);
  /// The value becomes the reference of its content when that is written.
  void add(store::Value value, LoggedContent content);
  bool empty() const { return values_.empty() && contents_.empty(); }
  std::size_t size() const { return values_.size(); }
  /// The epochs of the waiting values.
  std::set<std::int64_t> epochs() const;
  /// Epochs of the values whose content has to be written first.
  std::set<std::int64_t> epochs_of_contents() const;

  // True: something was written. They throw what their function throws; whatever was not written
  // then keeps waiting.
  bool flush_contents(const std::function<std::string(const LoggedContent&)>& write);
  bool flush(const std::function<void(std::span<const store::Value>)>& write);
  /// Calls `write` once, with all values whose contents are written, even if there are none.
  void hand_on(const std::function<void(std::span<const store::Value>)>& write);

 private:
  struct WithContent {
    store::Value value;
    LoggedContent content;
  };

  void forget_values();

  std::uint64_t bytes_max_, bytes_ = 0;
  std::vector<store::Value> values_;
  std::uint64_t values_bytes_ = 0;  // of bytes_
  std::deque<WithContent> contents_;
};

/// Small changes of the catalog that depend on their order. Belongs to one thread.
class UpdateOutbox {
 public:
  using Update = std::function<void(store::Catalog&)>;
  static constexpr std::size_t kCountMax = 100'000;

  bool add(Update update);  ///< false: there is no room for it
  bool empty() const { return updates_.empty(); }
  bool flush(store::Catalog& catalog);  ///< true: something was written

 private:
  std::deque<Update> updates_;
};

/// The progress of the run since the last write: in one transaction for many iterations, since
/// those of a loop over batches take less time than a disk needs. Thread-safe.
class ProgressOutbox {
 public:
  static constexpr std::size_t kCountMax = std::size_t{1} << 22;

  // False: there is no room for it.
  bool add(const store::Iteration& iteration);
  bool add(const store::LoopExecution& execution);
  void put(const store::MainLoop& loop);  ///< only the latest state of a loop counts
  void put(std::vector<store::StorageDecision> decisions, const store::Recording& recording);
  /// Calls `write` with all of it, even if there is none. Throws what that throws, and all of it
  /// waits as before.
  void hand_on(const std::function<void(const store::Progress&)>& write);
  /// The same, into the catalog. True: something was written.
  bool flush(store::Catalog& catalog, std::int64_t run);

 private:
  bool has_room() const {
    return progress_.iterations.size() + progress_.executions.size() < kCountMax;
  }

  std::mutex mutex_;
  store::Progress progress_;
};

}  // namespace flor::detail
