// Cancels Slurm jobs whose submitting process was killed.
#pragma once

#include <filesystem>
#include <string>

namespace flor::cli {

/// File name of a job's script, in the directory that the job shares with its submitter.
inline constexpr const char* kSlurmScript = "job.sh";

/// Cancels the jobs named `name` whose script is in `directory` or below it.
void cancel_left_jobs(const std::filesystem::path& directory, const std::string& name);

}  // namespace flor::cli
