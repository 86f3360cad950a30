// What a replaying process has to do: fixed from the beginning, or handed out piece by piece.
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

/// Belongs to the session's thread, but for what is said otherwise. The epochs of a piece are
/// replayed in order; a piece is what one process does at a stretch.
class Assignment {
 public:
  virtual ~Assignment() = default;

  /// The next piece for a process at this place; empty if there is none.
  virtual Epochs next(const Position& position) = 0;
  /// What the program logs before its first main loop (0), or after the n-th, is this process's.
  virtual bool keeps(std::int64_t section) const = 0;
  /// The same, for this or any later section.
  virtual bool keeps_from(std::int64_t section) const = 0;
  /// Nothing from this section on is this process's: it may end rather than execute it.
  virtual bool may_end(std::int64_t section) const = 0;
  /// Parts are durable. On the background thread.
  virtual void completed(const std::vector<store::ReplayedPart>& parts) = 0;
  virtual void report(const WorkDone& work) = 0;
  /// Nobody wants more: keep what is complete and end. On the background thread.
  virtual bool called_off() const = 0;
};

/// The segment PID/NGPUS, or a list of epochs. The code before the loops belongs to whoever holds
/// epoch 0, that after a loop to whoever holds its last.
std::unique_ptr<Assignment> fixed_assignment(std::vector<Epochs> epochs,
                                             const std::vector<store::MainLoop>& loops);
/// A list of epochs, and nothing of what lies outside the loops.
std::unique_ptr<Assignment> epochs_alone(std::vector<Epochs> epochs);

}  // namespace flor::detail
