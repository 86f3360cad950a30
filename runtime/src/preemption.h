// The signals by which a cluster says that a job has to go. A recording takes a checkpoint and ends
// at its next step; see docs/resume.md.
#pragma once

#include <atomic>
#include <csignal>
#include <string_view>

namespace flor::detail {

/// The signal that asked for the end: SIGTERM, SIGUSR1, or 0.
inline std::atomic<int> pending_signal{0};

/// Installs the handlers where the program has none; a second SIGTERM then ends the process at
/// once. Async-signal-safe otherwise: the handlers only note the signal.
void watch_signals() noexcept;

/// The default actions again, where the handlers are still Flor's. Async-signal-safe.
void unwatch_signals() noexcept;

/// "SIGTERM"
std::string_view signal_name(int number);

}  // namespace flor::detail
