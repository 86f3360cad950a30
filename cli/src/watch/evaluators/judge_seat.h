// A seat on a node of a cluster: a process that evaluates checkpoints for a watch on another
// machine.
#pragma once

#include <filesystem>

namespace flor::cli {

/// `flor __judge DIRECTORY`, run in each task of a Slurm job: takes a seat in the directory
/// (evaluators/seat_protocol.h), and evaluates checkpoints until the watch releases it or is silent
/// for too long. Opens no store. Returns the exit status.
int run_judge_seat(const std::filesystem::path& directory);

}  // namespace flor::cli
