// The signals by which a cluster, or the user at a terminal, asks a program to end. A recording
// then takes a checkpoint and ends at its next step; see docs/interruptions.md.
#pragma once

#include <atomic>
#include <csignal>
#include <string_view>

namespace flor::detail {

/// The signal that was received: SIGTERM, SIGUSR1, SIGINT, or 0.
inline std::atomic<int> pending_signal{0};

/// Installs handlers for signals that the program neither handles nor ignores. The handlers only
/// note the signal. After SIGTERM or SIGINT, another signal of that kind ends the process at once.
void watch_signals() noexcept;

/// Restores the default actions of signals whose handlers are still Flor's. Async-signal-safe.
void unwatch_signals() noexcept;

/// Ends the process by this signal, so that the shell knows the cause and ends a script, too.
/// Buffered output is lost.
void die_of(int number) noexcept;

/// For example "SIGTERM"; "Ctrl-C" for SIGINT.
std::string_view signal_name(int number);

}  // namespace flor::detail
