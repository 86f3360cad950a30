// A seat: a process on some machine that runs workers of a replay there, one after another, for a
// dispatcher that it knows only through the directory that they share (seats/seat_session.h).
#pragma once

#include <filesystem>
#include <string>

namespace flor::cli {

/// This machine's name: Slurm's, which may have several nodes on one machine, else its own.
std::string node_name();

/// Runs until it is told to leave, by the dispatcher or a signal, or hears nothing for a while.
/// `directory`: of the session. Returns the exit status.
int run_seat(const std::filesystem::path& directory);

/// How long to wait before looking for news: longer after a long silence, so that looking delays
/// news by at most two per cent of the time waited, and costs the file server little.
int look_after_ms(double seconds_of_silence);

}  // namespace flor::cli
