// Checkpoints that are copied while the program goes on: flor::overlapping and flor::fence.
#pragma once

#include <atomic>

namespace flor {

/// Given to flor::checkpoints, lets the large tensors of the objects in that call be copied in the
/// background, while the program does not write them: during the evaluation after the training
/// loop, and the forward and backward passes of the next step.
///
///   auto state = flor::checkpoints(net, optimizer, flor::overlapping);
///
/// In return nothing may write these tensors between the end of a nested loop, or of an iteration
/// of the main loop, and the next flor::fence(). Flor fences by itself at the beginning of each
/// section of the program that it has seen writing them, or not seen yet; a section reaches from
/// one edge of a loop to the next. That is all that most programs need.
///
/// A write that comes too early is found by the tensor's version counter: that checkpoint is
/// dropped, which is reported once, and the run continues without overlapping. docs/checkpoints.md
/// describes writes that the counters do not see. Without effect on replay.
struct Overlapping {};
inline constexpr Overlapping overlapping{};

namespace detail {
/// A fence has something to do.
inline std::atomic<bool> fence_needed{false};
void fence() noexcept;
}  // namespace detail

/// Call it before the program may write the registered state: it helps with the copying, and
/// returns when none is under way. Costs nothing otherwise. In a training step, right before the
/// update:
///
///   loss.backward();
///   flor::fence();
///   optimizer.step();
///
/// Any thread; a thread other than that of the session must call it before it writes.
inline void fence() noexcept {
  if (detail::fence_needed.load(std::memory_order_acquire)) [[unlikely]]
    detail::fence();
}

}  // namespace flor
