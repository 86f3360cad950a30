// The signals by which a cluster or the user at the terminal asks a job to end. A recording takes a
// checkpoint and ends at its next step; see docs/interruptions.md.
#pragma once

#include <atomic>
#include <csignal>
#include <string_view>

namespace flor::detail {

/// The signal that asked for the end: SIGTERM, SIGUSR1, SIGINT, or 0.
inline std::atomic<int> pending_signal{0};

/// Installs the handlers where the program has none and the signal is not ignored; after SIGTERM or
/// SIGINT another of them ends the process at once. The handlers only note the signal.
void watch_signals() noexcept;

/// Restores the default actions, where the handlers are still Flor's. Async-signal-safe.
void unwatch_signals() noexcept;

/// Ends the process by this signal, so that the shell that started it knows: a script ends with it.
/// Buffered output is lost.
void die_of(int number) noexcept;

/// "SIGTERM"; "Ctrl-C" for SIGINT.
std::string_view signal_name(int number);

}  // namespace flor::detail
