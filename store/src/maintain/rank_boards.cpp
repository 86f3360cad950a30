#include "maintain/rank_boards.h"

#include "file/lock_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace flor::store {
namespace {

/// Removes a board. Locks the run meanwhile, so that no process resumes it and makes a new board.
void remove_rank_board(const Database& database, const std::filesystem::path& path,
                       CollectReport& report) {
  std::optional<File> lock;
  try {
    lock.emplace(database.files, database.paths.lock(path.stem().string()), O_RDWR | O_CREAT,
                 kInHome);
  } catch (const Error&) {
    return;  // the run belongs to another user
  }
  if (!lock_file(lock->descriptor(), LOCK_EX | LOCK_NB) || !is_linked(lock->descriptor())) return;
  for (const std::filesystem::path& own : {path, lock->path()}) {
    if (database.files.unlink(own.c_str()) == 0 || errno == ENOENT) continue;
    const int error = errno;
    // In a directory where all users may create files, possibly only the owner may delete one.
    report.remarks.push_back(fmt::format("{} is left as it is: {}", own.string(),
                                         std::generic_category().message(error)));
  }
}

}  // namespace

void remove_rank_boards(const Database& database, CollectReport& report) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(database.paths.locks(), error)) {
    if (entry.path().extension() == ".ranks") paths.push_back(entry.path());
  }
  for (const auto& path : paths) remove_rank_board(database, path, report);
}

}  // namespace flor::store
