// The work of a replaying process: fixed from the beginning, or handed out piece by piece.
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

/// Belongs to the session's thread, unless stated otherwise. The epochs of a piece are replayed in
/// order, by one process.
class Assignment {
 public:
  virtual ~Assignment() = default;

  /// The next piece for a process at this place; empty if there is none.
  virtual Epochs next(const Position& position) = 0;
  /// Whether values logged before the first main loop (0), or after the n-th, are this process's.
  virtual bool keeps(std::int64_t section) const = 0;
  /// The same, for this or any later section.
  virtual bool keeps_from(std::int64_t section) const = 0;
  /// Nothing from this section on is this process's: it may end rather than execute it.
  virtual bool may_end(std::int64_t section) const = 0;
  /// Parts are durable. On the background thread.
  virtual void completed(const std::vector<store::ReplayedPart>& parts) = 0;
  virtual void report(const WorkDone& work) = 0;
  /// No more work is wanted: keep complete parts and end. On the background thread.
  virtual bool called_off() const = 0;
};

/// The segment PID/NGPUS, or a list of epochs. The code before the loops belongs to the process
/// that holds the first epoch, that after a loop to the one that holds its last. `first`: the first
/// epoch of a run that was forked; code after earlier loops belongs to it, too.
std::unique_ptr<Assignment> fixed_assignment(std::vector<Epochs> epochs,
                                             const std::vector<store::MainLoop>& loops,
                                             std::int64_t first = 0);
/// A list of epochs, and nothing outside the loops.
std::unique_ptr<Assignment> epochs_alone(std::vector<Epochs> epochs);

}  // namespace flor::detail
