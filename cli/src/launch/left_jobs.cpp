#include "launch/left_jobs.h"

#include "process/child.h"

#include <system_error>

namespace flor::cli {

namespace fs = std::filesystem;

void cancel_left_jobs(const fs::path& directory, const std::string& name) {
  std::error_code error;
  for (fs::recursive_directory_iterator walk(directory, error);
       !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->path().filename() != kSlurmScript) continue;
    if (find_on_path("scancel")) run_child({"scancel", "--name=" + name}, {.directory = {}});
    return;
  }
}

}  // namespace flor::cli
