// A seat: a process on some machine that runs workers of a replay, one after another, for `flor
// replay`. The two communicate only through a directory that both see (seats/seat_session.h).
#pragma once

#include <filesystem>
#include <string>

namespace flor::cli {

/// This machine's name: the name of the Slurm node (one machine may have several), else the host
/// name.
std::string node_name();

/// Runs a seat until the dispatcher or a signal ends it, or it hears nothing for too long.
/// `directory`: of the session. Returns the exit status.
int run_seat(const std::filesystem::path& directory);

/// Milliseconds to wait before looking for new messages. Grows with the silence, so that polling
/// delays a message by at most 2 % of the time waited, and costs the file server little.
int look_after_ms(double seconds_of_silence);

}  // namespace flor::cli
