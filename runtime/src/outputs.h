// Files that the program writes: where a replay puts them, and which of them it has overwritten.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flor::detail {

/// A path of the program's own below `directory`, wherever it points: "../a/b.pt" as "a/b.pt".
std::filesystem::path below(const std::filesystem::path& directory,
                            const std::filesystem::path& path);

/// Files as they were when a replay began: those of the working directory and below it, up to some
/// thousands, without sources, hidden and built ones.
class FilesAtStart {
 public:
  /// `without`: the store.
  FilesAtStart(const std::filesystem::path& directory, const std::filesystem::path& without);
  /// Those that have another time or size by now, relative to the directory.
  std::vector<std::string> overwritten() const;

 private:
  struct Facts {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    bool operator==(const Facts&) const = default;
  };
  std::filesystem::path directory_;
  std::map<std::string, Facts> files_;
};

/// The files of one replay. For the session's thread.
class ReplayFiles {
 public:
  /// `home`: of the store; `run`: its key.
  ReplayFiles(const std::filesystem::path& home, const std::string& run);
  /// Of this process alone; other processes of the same replay have others.
  const std::filesystem::path& directory();
  /// Where the program's files are, and which it has overwritten although it replays; a line each.
  void report() const;

 private:
  std::filesystem::path outputs_, directory_;
  bool used_ = false;
  FilesAtStart files_;
};

}  // namespace flor::detail
