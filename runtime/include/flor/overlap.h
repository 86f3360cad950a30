// flor::overlapping and flor::fence: checkpoints that are copied while the program goes on.
#pragma once

#include <atomic>

namespace flor {

/// As an argument of flor::checkpoints, lets the large tensors of the objects in that call be
/// copied in the background while the program does not write them: during the evaluation after the
/// training loop, and during the forward and backward passes of the next step.
///
///   auto state = flor::checkpoints(net, optimizer, flor::overlapping);
///
/// In return, nothing may write these tensors between the end of a nested loop (or of an iteration
/// of the main loop) and the next flor::fence(). Flor divides the program into sections, from one
/// start or end of a loop or iteration to the next. It fences by itself at the beginning of each
/// section in which it has seen a write to the tensors, or which it has not seen yet. Most programs
/// need no more than this.
///
/// Flor detects a write that comes too early by the tensor's version counter: it drops that
/// checkpoint, reports this once, and goes on without overlapping. docs/checkpoints.md describes
/// writes that the counters miss. Without effect on replay.
struct Overlapping {};
inline constexpr Overlapping overlapping{};

namespace detail {
/// True if a fence has something to do: copies to wait for, or a section whose writes to look for.
inline std::atomic<bool> fence_needed{false};
void fence() noexcept;
}  // namespace detail

/// Waits until no background copy of registered state is under way, and helps with the copying.
/// Call it before the program may write registered state. Costs nothing if no copy is under way. In
/// a training step, it belongs right before the update:
///
///   loss.backward();
///   flor::fence();
///   optimizer.step();
///
/// May be called from any thread. A thread other than the session's must call it before it writes.
inline void fence() noexcept {
  if (detail::fence_needed.load(std::memory_order_acquire)) [[unlikely]]
    detail::fence();
}

}  // namespace flor
