// Files that the program writes: where a replay puts them, and which existing files it overwrote.
#pragma once

#include <flor/store/catalog.h>

#include <filesystem>
#include <string>

namespace flor::detail {

/// The program's own path, moved below `directory` wherever it pointed: "../a/b.pt" becomes
/// "a/b.pt".
std::filesystem::path below(const std::filesystem::path& directory,
                            const std::filesystem::path& path);

/// The files that a recording writes in its repository. They are no sources, so the commits of
/// later runs of the program leave them out.
class RecordedOutputs {
 public:
  RecordedOutputs(const std::filesystem::path& repository, const std::filesystem::path& home);
  /// Enters the files written since the last call. Only one thread at a time may call it.
  void enter(store::Catalog& catalog, std::int64_t run) const;

 private:
  std::filesystem::path repository_;
};

/// The files that the program writes during a replay. To be used by the session's thread.
class ReplayFiles {
 public:
  /// `home` is the store's directory, `run` the key of the run.
  ReplayFiles(const std::filesystem::path& home, const std::string& run);
  /// A directory that belongs to this process alone, not to other processes of the same replay.
  const std::filesystem::path& directory();
  /// Reports where the program's files are, and which files of the working directory it overwrote
  /// although it replays, one line each.
  void report() const;

 private:
  std::filesystem::path outputs_, directory_;
  bool used_ = false;
};

}  // namespace flor::detail
