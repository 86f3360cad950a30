// A seat: a process on some machine that runs workers of a replay there, one after the other, for a
// dispatcher that it knows only through the directory that they share (cluster/session.h).
#pragma once

#include <filesystem>
#include <string>

namespace flor::cli {

/// This machine, as Slurm calls it, which may have several nodes on one; else as it calls itself.
std::string node_name();

/// Runs until it is told to leave, is asked to by a signal, or nobody has told it anything for a
/// while. `directory`: of the session. Returns the exit status.
int run_seat(const std::filesystem::path& directory);

/// How often to look for news: rarely after a long silence, so that looking costs two per cent of
/// what is waited for at the most, and little of the file server's time.
int look_after_ms(double seconds_of_silence);

}  // namespace flor::cli
