// Which work a replaying process has: fixed from the beginning, or handed out in pieces.
#pragma once

#include "protocol/plan.h"
#include "protocol/protocol.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// The work that one replaying process is given. To be used by the session's thread, unless noted
/// otherwise. The epochs of a piece are replayed in order, by one process.
class Assignment {
 public:
  virtual ~Assignment() = default;

  /// The next piece for a process at this position; empty if there is none.
  virtual Epochs next(const Position& position) = 0;
  /// Whether this process keeps the values of a section outside the main loops. Section 0 is before
  /// the first main loop, section n after the n-th.
  virtual bool keeps(std::int64_t section) const = 0;
  /// Whether this process keeps the values of this section or of any later one.
  virtual bool keeps_from(std::int64_t section) const = 0;
  /// Whether nothing from this section on is this process's, so that it may end instead of
  /// executing it.
  virtual bool may_end(std::int64_t section) const = 0;
  /// Called when these parts are durable. On the background thread.
  virtual void completed(const std::vector<store::ReplayedPart>& parts) = 0;
  virtual void report(const WorkDone& work) = 0;
  /// Called with states that a walk has proven (WalkOrder). On the background thread.
  virtual void proved(const ProvedStates&) {}
  /// Whether no more work is wanted: the process should keep its complete parts and end. On the
  /// background thread.
  virtual bool called_off() const = 0;
};

/// A fixed assignment: the segment PID/NGPUS, or a list of epochs. Code before the loops belongs to
/// the process that has the first epoch, code after a loop to the process that has the loop's last
/// epoch. `first` is the first epoch that a forked run computed itself; code after earlier loops
/// belongs to it, too.
std::unique_ptr<Assignment> fixed_assignment(std::vector<Epochs> epochs,
                                             const std::vector<store::MainLoop>& loops,
                                             std::int64_t first = 0);
/// A fixed list of epochs, and nothing outside the loops.
std::unique_ptr<Assignment> epochs_alone(std::vector<Epochs> epochs);

}  // namespace flor::detail
