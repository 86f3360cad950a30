// Snapshots that are still being copied while the program goes on: where the program has to wait
// for them, and whether it wrote to the state too early.
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

/// The section that begins: the body of a nested loop, the code after it (tail), or an iteration of
/// the main loop.
enum class Edge : char { body = 'b', tail = 't', iteration = 'i' };

/// Holds snapshots until their late copies are complete, and then passes them on. A snapshot with
/// late copies is passed on when it is known to be right: at the first fence or edge of a loop at
/// which it is complete and no version has changed. The copying thread cannot decide this, since
/// libtorch changes the version after a write, not before it.
///
/// A stretch is the part of the program from one edge of a loop to the next. Copying may overlap
/// with it if it was seen not to write before its end, or before its own first fence.
///
/// Thread-safe, but `edge` and `add` are only for the session's thread.
class Overlap {
 public:
  /// `dropped` is called with the reason when a snapshot is dropped. This happens once, since
  /// nothing overlaps afterwards.
  explicit Overlap(std::function<void(std::string why)> dropped) : dropped_(std::move(dropped)) {}
  ~Overlap();
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  /// Called with the complete snapshot, or with nothing if it was dropped.
  using Then = std::function<void(std::optional<TakenSnapshot>)>;
  /// Calls `then` with the complete snapshot: at once, or in a later call of this object, and
  /// always in the order of `add`.
  void add(TakenSnapshot taken, Then then);

  /// Called when a stretch begins. Waits for the copies, unless the stretch may overlap with them.
  void edge(std::string_view main_loop, std::string_view nested, Edge edge);
  /// Called before the program may write. On return all added snapshots are passed on or dropped.
  void fence();

  /// Passes on complete snapshots without waiting.
  void settle();

  /// Whether the program has promised not to have written the tensors that the last snapshot left
  /// to late copies. It has if that snapshot was taken at the end of a loop, and since then there
  /// was no fence, no stretch that had to be waited for, and no body of another loop.
  bool untouched() const {
    const std::lock_guard lock(mutex_);
    return untouched_;
  }

  /// CPU time that copying in the background has taken so far, in seconds.
  double cpu_seconds() const { return priority_->cpu_seconds(); }

  /// Whether anything has overlapped yet. For the session's thread.
  bool active() const { return copier_ != nullptr; }
  /// False after a program was found to break the rules.
  bool allowed() const { return allowed_.load(std::memory_order_relaxed); }

 private:
  struct Waiting {
    TakenSnapshot taken;
    Then then;
    /// The snapshot was added since the last edge. It is judged only later, so that the detection
    /// of early writes does not depend on how fast copying is.
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
  std::shared_ptr<LateCopies> latest_;     // of a snapshot taken since the last edge
  // State at the beginning of the present stretch, if known.
  std::shared_ptr<LateCopies> reference_;
  std::map<std::string, Stretch, std::less<>> stretches_;
  Stretch* stretch_ = nullptr;  // the present stretch, until it is judged
  /// A priority of the copier's own: a program that waits for a copy should not wait for the disk.
  std::shared_ptr<store::BackgroundPriority> priority_ =
      std::make_shared<store::BackgroundPriority>();
  std::unique_ptr<Background> copier_;
};

}  // namespace flor::detail
