// Cancels jobs of Slurm whose submitter was killed.
#pragma once

#include <filesystem>
#include <string>

namespace flor::cli {

/// The script of a job, in the directory that it shares with its submitter.
inline constexpr const char* kSlurmScript = "job.sh";

/// Cancels the jobs of this name if the script of one is in `directory`, or somewhere below it.
void cancel_left_jobs(const std::filesystem::path& directory, const std::string& name);

}  // namespace flor::cli
