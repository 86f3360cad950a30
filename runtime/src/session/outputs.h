// Files that the program writes: where a replay puts them, and which existing ones it overwrote.
#pragma once

#include "session/used_files.h"

#include <flor/store/catalog.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

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

/// The files of one replay, which goes to a directory of this process alone: other processes of the
/// same replay have others.
class ReplayFiles final : public ProgramFiles {
 public:
  using Doubt = std::function<void(std::string why)>;
  /// `home`: of the store. `journal` must outlive it. `doubt`: is called, by any thread, for inputs
  /// that have other content than was recorded.
  ReplayFiles(const std::filesystem::path& home, const store::Run& run, Journal& journal,
              Doubt doubt);
  /// What the run has read. Before anything else.
  void know(std::vector<store::UsedFile> recorded) { inputs_.know(std::move(recorded)); }

  void input(const std::filesystem::path& path) override;
  std::filesystem::path output(const std::filesystem::path& path) override;
  /// Reports where the program's files are, and which files of the working directory the program
  /// overwrote although it replays; a line each.
  void report() const;

 private:
  std::filesystem::path outputs_, directory_;
  UsedFiles inputs_;
  Journal& journal_;
  Doubt doubt_;
  std::atomic<bool> used_{false};
};

}  // namespace flor::detail
