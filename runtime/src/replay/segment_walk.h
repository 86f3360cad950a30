// How a replay reaches its epochs: which of them a main loop visits, from which stored boundary it
// starts, what it passes through on the way, and in which state the code after the loop runs.
#pragma once

#include "protocol/plan.h"
#include "protocol/protocol.h"
#include "session/runtime.h"
#include "verdict/verdict.h"
#include "worker/assignment.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// The replay around a walk, which carries out what the walk decides.
class WalkHost {
 public:
  virtual ~WalkHost() = default;

  /// Brings the program into the state before an iteration of the loop, or, with the number of its
  /// iterations, into that at its end. False: it is not stored. Throws Error where it does not fit
  /// the objects that the program has by now, and Damaged where the store is damaged.
  virtual bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration) = 0;
  /// The next epochs for a program at this place; empty: there are none, or none for now.
  virtual Epochs next_piece(const Position& position) = 0;
  /// Whether the stored state answers for this iteration, so that it is not executed.
  virtual bool is_answered_from_store(const store::MainLoop& loop,
                                      std::int64_t iteration) const = 0;
  /// Lets it answer.
  virtual void answer_from_store(Frame& main, std::int64_t iteration) = 0;
};

/// The record as a walk needs it. What it refers to must outlive the walk.
struct WalkedRecord {
  const std::vector<store::MainLoop>& loops;
  /// By main loop: the iterations before which the state is stored, and the number of all where the
  /// state at the end is.
  const std::map<std::int64_t, std::set<std::int64_t>>& boundaries;
  std::int64_t epochs = 0;
  bool finished = false;  ///< the run came to its end
};

/// One program's way through the main loops of its record, in the order in which the program comes
/// to them. A piece is a range of epochs that the assignment gives out; the target is the part of
/// it that lies in the present main loop.
///
/// A walk is weak while it starts from the nearest stored state, and strong when it executes all
/// epochs from the first stored one. A weak walk becomes strong where a stored state does not fit
/// the program, as in one that registers objects while it trains.
///
/// Belongs to the session's thread. All functions but the accessors may throw what WalkHost throws.
/// Warnings go to stderr, and differences from the record to the comparison.
class SegmentWalk {
 public:
  /// The arguments must outlive the walk. `piece`: the first one, before any loop begins.
  SegmentWalk(WalkedRecord record, Epochs piece, const Assignment& assignment,
              const Registry& registry, Comparison& comparison, WalkHost& host, bool strong)
      : record_(record),
        assignment_(assignment),
        registry_(registry),
        comparison_(comparison),
        host_(host),
        strong_(strong),
        piece_(piece) {}

  /// A recorded main loop begins. Sets its place, limits and first iteration in the frame. Nothing:
  /// neither this loop nor code after it is this process's, so the program may end.
  std::optional<LoopScope::Start> begin(const store::MainLoop& loop, Frame& frame,
                                        bool random_access);
  /// A main loop begins that is not in the record. It is visited if it was added after the
  /// recorded ones; the record of a run that was interrupted ends before it. Throws Error if
  /// recorded loops are still to come.
  LoopScope::Start begin_new(Frame& frame);
  /// The range of the loop was stepped to the iteration in the frame: whether the boundary there
  /// was not restored yet. Asking again says yes.
  bool must_restore(std::int64_t iteration);
  /// An iteration begins.
  void enter(const Frame& frame) { catching_up_ = frame.index < target_.first; }
  /// An iteration has ended, and `frame.index` counts it.
  LoopScope::Move leave(Frame& frame);
  /// An iteration of a new loop has ended, or was left.
  void count_new_epoch() { ++epochs_added_; }

  /// The program left the loop by itself: the epochs that it should have visited.
  Epochs unvisited(const Frame& frame) const;
  /// The loop has ended. False: the program may end, as after `begin`.
  bool end(const Frame& frame);
  /// Before the code after the loop runs: gives it the state in which the record left the loop.
  void restore_end(const Frame& frame);
  void close() { loop_ = nullptr; }

  /// The part that a comparison now counts for: on the way to a target, the target.
  std::int64_t part_of(const Frame& main) const;
  /// The number of recorded main loops that were begun: the section that values logged outside the
  /// loops belong to.
  std::int64_t section() const { return section_; }
  /// The recorded main loop that is being replayed; null between loops.
  const store::MainLoop* loop() const { return loop_; }
  /// Whether the present iteration lies on the way to the target.
  bool catching_up() const { return catching_up_; }
  /// Whether an epoch was not executed, since the program began.
  bool skipped() const { return skipped_; }

 private:
  LoopScope::Start pass_by(Frame& frame);
  LoopScope::Start visit(Frame& frame, bool random_access);
  std::optional<std::int64_t> restore_start();
  const std::set<std::int64_t>& boundaries() const;
  void aim_at(Frame& frame, Epochs target);
  void take_piece(const Frame& frame, bool goes_back);
  Epochs next_target(const Frame& frame) const;
  void answer_from_store(Frame& frame);
  LoopScope::Move go_on(Frame& frame);
  LoopScope::Move jump(Frame& frame);
  bool goes_back() const;
  bool builds_on() const;
  bool restore_ahead(std::int64_t ahead, std::int64_t here);
  bool is_over() const { return piece_.empty() && assignment_.may_end(section_); }

  const WalkedRecord record_;
  const Assignment& assignment_;
  const Registry& registry_;
  Comparison& comparison_;
  WalkHost& host_;
  bool strong_;
  std::int64_t section_ = 0;
  const store::MainLoop* loop_ = nullptr;
  bool random_access_ = false;  // the range of `loop_` can be stepped over, in both directions
  std::vector<std::string> registered_;  // when `loop_` began
  std::optional<std::int64_t> restored_;  // its boundary that was restored before it is begun
  Epochs piece_;   // replayed now, or next; may span main loops
  Epochs target_;  // the part of it in this main loop, in its iterations
  bool catching_up_ = false;
  bool skipped_ = false;
  std::int64_t epochs_added_ = 0;  // of main loops that are new
};

}  // namespace flor::detail
