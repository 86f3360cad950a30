// Files that the program writes: where a replay puts them, and which existing files it overwrote.
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

/// The files that the program reads and writes during a replay. What it writes goes to a directory
/// of this process alone, because a replay may have several processes.
class ReplayFiles final : public ProgramFiles {
 public:
  using Doubt = std::function<void(std::string why)>;
  /// `home` is the store's directory. `journal` must outlive this object. `doubt` is called, in any
  /// thread, for an input whose content is not the recorded one.
  ReplayFiles(const std::filesystem::path& home, const store::Run& run, Journal& journal,
              Doubt doubt);
  /// Takes what the run has read. Call it first.
  void know(std::vector<store::UsedFile> recorded) { inputs_.know(std::move(recorded)); }

  void input(const std::filesystem::path& path) override;
  std::filesystem::path output(const std::filesystem::path& path) override;
  /// Reports where the program's files are, and which files of the working directory it overwrote
  /// although it replays, one line each.
  void report() const;

 private:
  std::filesystem::path outputs_, directory_;
  UsedFiles inputs_;
  Journal& journal_;
  Doubt doubt_;
  std::atomic<bool> used_{false};
};

}  // namespace flor::detail
