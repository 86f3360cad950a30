// Files that the program writes: where a replay puts them, and which existing ones it overwrote.
#pragma once

#include <flor/store/catalog.h>

#include <filesystem>
#include <string>

namespace flor::detail {

/// A path of the program's own below `directory`, wherever it points: "../a/b.pt" as "a/b.pt".
std::filesystem::path below(const std::filesystem::path& directory,
                            const std::filesystem::path& path);

/// The files that a recording writes in its repository: they are no sources, and the commits of the
/// program's next runs leave them out.
class RecordedOutputs {
 public:
  RecordedOutputs(const std::filesystem::path& repository, const std::filesystem::path& home);
  /// Enters the files that were written since the last call; for one thread at a time.
  void enter(store::Catalog& catalog, std::int64_t run) const;

 private:
  std::filesystem::path repository_;
};

/// The files of one replay. For the session's thread.
class ReplayFiles {
 public:
  /// `home`: of the store; `run`: its key.
  ReplayFiles(const std::filesystem::path& home, const std::string& run);
  /// The directory of this process alone; other processes of the same replay have others.
  const std::filesystem::path& directory();
  /// Reports where the program's files are, and which files of the working directory the program
  /// overwrote although it replays; a line each.
  void report() const;

 private:
  std::filesystem::path outputs_, directory_;
  bool used_ = false;
};

}  // namespace flor::detail
