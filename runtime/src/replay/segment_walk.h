// How a replay reaches its epochs: which epochs a main loop visits, from which stored boundary it
// starts, what it executes on the way, and in which state the code after the loop runs.
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

/// Carries out what a walk decides. Implemented by the replay around the walk.
class WalkHost {
 public:
  virtual ~WalkHost() = default;

  /// Brings the program into the state before an iteration of the loop; the total number of
  /// iterations stands for the state at the loop's end. Returns false if that state is not stored.
  /// Throws Error if it does not fit the program's present objects, and Damaged if the store is
  /// damaged.
  virtual bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration) = 0;
  /// Returns the next epochs for a program at this position; empty if there are none, or none yet.
  virtual Epochs next_piece(const Position& position) = 0;
  /// Whether the stored state alone answers for this iteration, so that it need not be executed.
  virtual bool is_answered_from_store(const store::MainLoop& loop,
                                      std::int64_t iteration) const = 0;
  /// Answers for this iteration from the stored state.
  virtual void answer_from_store(Frame& main, std::int64_t iteration) = 0;
};

/// The parts of the record that a walk needs. All that it refers to must outlive the walk.
struct WalkedRecord {
  const std::vector<store::MainLoop>& loops;
  /// The iterations before which the state is stored, by main loop. The total number of iterations
  /// is among them if the state at the loop's end is stored.
  const std::map<std::int64_t, std::set<std::int64_t>>& boundaries;
  std::int64_t epochs = 0;
  bool finished = false;  ///< the run ended in order
};

/// How one program moves through its main loops, in the order in which it reaches them. A piece is
/// a range of epochs that the assignment hands out. The target is the part of the piece that is in
/// the present main loop.
///
/// A walk is weak while it starts from the nearest stored state, and strong when it executes all
/// epochs from the first stored state. A weak walk becomes strong if a stored state does not fit
/// the program, for example one that registers objects while it trains.
///
/// To be used by the session's thread. All functions but the accessors may throw what WalkHost
/// throws. Reports warnings on stderr, and differences from the record to the comparison.
class SegmentWalk {
 public:
  /// The arguments must outlive the walk. `piece` is the first one, taken before any loop begins.
  SegmentWalk(WalkedRecord record, Epochs piece, const Assignment& assignment,
              const Registry& registry, Comparison& comparison, WalkHost& host, bool strong)
      : record_(record),
        assignment_(assignment),
        registry_(registry),
        comparison_(comparison),
        host_(host),
        strong_(strong),
        piece_(piece) {}

  /// Called when a recorded main loop begins. Sets its place, limits and first iteration in
  /// `frame`. Returns nothing if neither this loop nor any code after it belongs to this process,
  /// so that the program may end.
  std::optional<LoopScope::Start> begin(const store::MainLoop& loop, Frame& frame,
                                        bool random_access);
  /// Called when a main loop begins that the record does not have. The loop is visited if it was
  /// added after the recorded ones; if the recorded run was interrupted before it, it is not.
  /// Throws Error if recorded loops should still come.
  LoopScope::Start begin_new(Frame& frame);
  /// Called when the range has been stepped to the iteration in the frame. Returns true if the
  /// boundary there has not been restored yet; a second call for it always returns true.
  bool must_restore(std::int64_t iteration);
  /// Called when an iteration begins.
  void enter(const Frame& frame) { catching_up_ = frame.index < target_.first; }
  /// Called when an iteration has ended; `frame.index` already counts it.
  LoopScope::Move leave(Frame& frame);
  /// Called inside an iteration that has nothing left to answer. Returns true if this process has
  /// no more work, so that the program may end there.
  bool is_over_in(const Frame& frame);
  /// Called when an iteration of a new loop has ended, or was left.
  void count_new_epoch() { ++epochs_added_; }

  /// Called when the program has left the loop by itself. Returns the epochs that it should still
  /// have visited.
  Epochs unvisited(const Frame& frame) const;
  /// Called when the loop has ended. Returns false if this process has no more work, so that the
  /// program may end.
  bool end(const Frame& frame);
  /// Restores the state in which the recording left the loop, before the code after the loop runs.
  void restore_end(const Frame& frame);
  void close() { loop_ = nullptr; }

  /// The part to which a comparison belongs at this point. On the way to a target it is the target.
  std::int64_t part_of(const Frame& main) const;
  /// How many recorded main loops have begun. This is the section to which values logged outside
  /// the loops belong.
  std::int64_t section() const { return section_; }
  /// The recorded main loop that is being replayed; null between loops.
  const store::MainLoop* loop() const { return loop_; }
  /// Whether the present iteration is only executed to reach the target.
  bool catching_up() const { return catching_up_; }
  /// Whether any epoch has been skipped since the program began.
  bool skipped() const { return skipped_; }

 private:
  LoopScope::Start pass_by(Frame& frame);
  LoopScope::Start visit(Frame& frame, bool random_access);
  std::optional<std::int64_t> restore_start();
  const std::set<std::int64_t>& boundaries() const;
  void aim_at(Frame& frame, Epochs target);
  void take_piece(const Frame& frame, std::int64_t iteration);
  Epochs next_target(const Frame& frame) const;
  void answer_from_store(Frame& frame);
  LoopScope::Move go_on(Frame& frame);
  LoopScope::Move jump(Frame& frame);
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
  // The range of `loop_` allows steps in both directions without effects.
  bool random_access_ = false;
  std::vector<std::string> registered_;   // names registered when `loop_` began
  std::optional<std::int64_t> restored_;  // boundary that was restored before the loop begins
  Epochs piece_;                          // replayed now or next; may span main loops
  bool ahead_ = false;  // `piece_` is the next one although the iteration has not ended
  Epochs target_;       // the part of `piece_` in this loop, as its iterations
  bool catching_up_ = false;
  bool skipped_ = false;
  std::int64_t epochs_added_ = 0;  // epochs of main loops that the record does not have
};

}  // namespace flor::detail
