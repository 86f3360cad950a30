// Values, updates and progress that wait to be written to the catalog. A failed write removes
// nothing: it is repeated when the store works again.
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

/// Logged values that wait. To be used by one thread.
class ValueOutbox {
 public:
  /// How many bytes may wait: some millions of numbers, or some hundred tensors.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{256} << 20;

  /// How many values are written at once. With more, other writers would wait too long, and the
  /// values leave the processor's caches.
  static constexpr std::size_t kAtOnce = 65'536;

  explicit ValueOutbox(std::uint64_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  /// Whether one more value may be added. A single value always has room.
  bool has_room() const { return bytes_ < bytes_max_; }
  void add(store::Value value);
  /// Adds a value that becomes the reference of `content` when that is written.
  void add(store::Value value, LoggedContent content);
  bool empty() const { return values_.empty() && contents_.empty(); }
  std::size_t size() const { return values_.size(); }
  /// The epochs of the waiting values.
  std::set<std::int64_t> epochs() const;
  /// The epochs of the values whose content is not written yet.
  std::set<std::int64_t> epochs_of_contents() const;

  // These return true if something was written. They throw what the passed function throws; what
  // was not written then keeps waiting.
  bool flush_contents(const std::function<std::string(const LoggedContent&)>& write);
  bool flush(const std::function<void(std::span<const store::Value>)>& write);
  /// Calls `write` once with all values whose contents are written, even if there are none.
  void hand_on(const std::function<void(std::span<const store::Value>)>& write);

 private:
  struct WithContent {
    store::Value value;
    LoggedContent content;
  };

  void forget_values();

  std::uint64_t bytes_max_, bytes_ = 0;
  std::vector<store::Value> values_;
  std::uint64_t values_bytes_ = 0;  // the part of bytes_ that values_ has
  std::deque<WithContent> contents_;
};

/// Small changes of the catalog that must be made in order. To be used by one thread.
class UpdateOutbox {
 public:
  using Update = std::function<void(store::Catalog&)>;
  static constexpr std::size_t kCountMax = 100'000;

  bool add(Update update);  ///< false: no room
  bool empty() const { return updates_.empty(); }
  bool flush(store::Catalog& catalog);  ///< true if something was written

 private:
  std::deque<Update> updates_;
};

/// The progress of the run since the last write. Many iterations are written in one transaction,
/// since those of a loop over batches take less time than a write to a disk. Thread-safe.
class ProgressOutbox {
 public:
  static constexpr std::size_t kCountMax = std::size_t{1} << 22;

  // Return false if there is no room.
  bool add(const store::Iteration& iteration);
  bool add(const store::LoopExecution& execution);
  void put(const store::MainLoop& loop);  ///< only the latest state of a loop counts
  void put(std::vector<store::StorageDecision> decisions, const store::Recording& recording);
  /// Calls `write` with all progress, even if there is none. Throws what `write` throws; everything
  /// then keeps waiting.
  void hand_on(const std::function<void(const store::Progress&)>& write);
  /// Writes all progress to the catalog. Returns true if something was written.
  bool flush(store::Catalog& catalog, std::int64_t run);

 private:
  bool has_room() const {
    return progress_.iterations.size() + progress_.executions.size() < kCountMax;
  }

  std::mutex mutex_;
  store::Progress progress_;
};

}  // namespace flor::detail
