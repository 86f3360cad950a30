// A seat on a node of a cluster, from the inside: a process that judges the jobs of a watch.
#pragma once

#include <filesystem>

namespace flor::cli {

/// `flor __judge DIRECTORY`, in each task of a job: takes a seat in the directory (see
/// evaluators/seat_protocol.h) and judges until the watch wants no more, or is silent. It opens no
/// store. Returns the exit status.
int run_judge_seat(const std::filesystem::path& directory);

}  // namespace flor::cli
