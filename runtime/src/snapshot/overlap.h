// Which snapshots are still being copied while the program goes on, where the program has to wait
// for them, and whether it wrote too early.
#pragma once

#include "base/background_thread.h"
#include "snapshot/late_copies.h"
#include "snapshot/snapshot.h"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// The body of a nested loop begins, or the code after it, or an iteration of the main loop.
enum class Edge : char { body = 'b', tail = 't', iteration = 'i' };

/// Snapshots with late copies are handed on once they are known to be right: at the first fence or
/// edge of a loop at which they are complete and no version has moved. Not by the copying thread,
/// since libtorch moves the version after the write, not before.
///
/// A stretch of the program reaches from one edge of a loop to the next. It may overlap with
/// copying once it was seen to write nothing before its end, or before its own first fence.
///
/// Thread-safe; `edge` and `add` are for the session's thread.
class Overlap {
 public:
  /// `dropped`: says why a snapshot was dropped; called once, since nothing overlaps from then on.
  explicit Overlap(std::function<void(std::string why)> dropped) : dropped_(std::move(dropped)) {}
  ~Overlap();
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  /// Null if the snapshot was dropped.
  using Then = std::function<void(std::optional<TakenSnapshot>)>;
  /// Calls `then` with the complete snapshot: now, or in a later call of this object; in the order
  /// of `add` in any case.
  void add(TakenSnapshot taken, Then then);

  /// A stretch begins. Waits for the copies unless it may overlap with them.
  void edge(std::string_view main_loop, std::string_view nested, Edge edge);
  /// The program may write next. All added snapshots are handed on or dropped when this returns.
  void fence();

  /// Hands on complete snapshots, without waiting.
  void settle();

  /// Whether, by the program's promise, the tensors that the last snapshot left to late copies were
  /// not written: it was taken at the end of a loop, and since then there was neither a fence nor a
  /// stretch that is waited for, nor the body of another loop.
  bool untouched() const {
    const std::lock_guard lock(mutex_);
    return untouched_;
  }

  /// CPU time that copying in the background has taken so far.
  double cpu_seconds() const { return priority_->cpu_seconds(); }

  /// Something has overlapped; for the session's thread.
  bool active() const { return copier_ != nullptr; }
  /// False after a program was found to break the rules.
  bool allowed() const { return allowed_.load(std::memory_order_relaxed); }

 private:
  struct Waiting {
    TakenSnapshot taken;
    Then then;
    /// Added since the last edge. Judged later, so that finding a program that writes too early
    /// does not depend on the speed of the copying.
    bool fresh = true;
  };
  struct Stretch {
    bool seen = false;
    bool writes = false;
  };

  void finish();
  void hand_on();
  bool is_right(const LateCopies& copies);
  void note_stretch();
  void publish();

  std::function<void(std::string)> dropped_;
  std::atomic<bool> allowed_{true};
  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  bool untouched_ = false;
  std::shared_ptr<LateCopies> latest_;     // of a snapshot that was taken since the last edge
  std::shared_ptr<LateCopies> reference_;  // at the beginning of the current stretch, where known
  std::map<std::string, Stretch, std::less<>> stretches_;
  Stretch* stretch_ = nullptr;  // the current one, until it is judged
  /// The copier's own: a program that waits for a copy does not wait for the disk.
  std::shared_ptr<store::BackgroundPriority> priority_ =
      std::make_shared<store::BackgroundPriority>();
  std::unique_ptr<Background> copier_;
};

}  // namespace flor::detail
