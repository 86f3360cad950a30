// Files that the program reads and writes, as it says by flor::input and flor::output.
#pragma once

#include "file/content.h"
#include "session/journal.h"

#include <flor/store/catalog.h>
#include <flor/store/used_files.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::detail {

/// How a session takes what the program says of its files. Any thread.
class ProgramFiles {
 public:
  virtual ~ProgramFiles() = default;
  /// The program reads this file or directory.
  virtual void input(const std::filesystem::path& path) = 0;
  /// Where it writes what it calls so.
  virtual std::filesystem::path output(const std::filesystem::path& path) = 0;
  /// It has loaded a checkpoint, KEY@EPOCH or KEY@NAME.
  virtual void loaded(const std::string& /*reference*/, const store::Digest& /*digest*/,
                      std::uint64_t /*bytes*/) {}
  /// It was given the answer to a question, which came from the runs with these keys.
  virtual void asked(const store::UsedFile& /*answer*/, const std::vector<std::string>& /*runs*/) {}
};

/// Thread-safe, but for `know`.
class UsedFiles {
 public:
  /// `home`: of the store, which remembers contents. This process's working directory stands for
  /// that of the run as it was recorded.
  UsedFiles(const std::filesystem::path& home, const store::Run& run);
  /// Takes what the record has read already.
  void know(std::vector<store::UsedFile> recorded);

  struct Read {
    store::UsedFile file;
    bool is_new = true;      ///< false: this process has read the same before
    std::string difference;  ///< to the record: "data/a.csv has other content: ..."; empty: none
  };
  /// The file or directory as it is now; nothing where that cannot be read, which a line says.
  std::optional<Read> read(const std::filesystem::path& path, std::int64_t epoch);
  /// The program writes this. Only the first few thousand are known, which a line says.
  void write(const std::filesystem::path& path, std::int64_t epoch);
  /// The outputs as they are now.
  std::vector<store::UsedFile> written();

 private:
  std::string name_of(const std::filesystem::path& place, bool is_relative) const;
  store::UsedFile look(const std::filesystem::path& place, std::string name, std::int64_t epoch);

  const std::filesystem::path start_ = std::filesystem::current_path();
  std::filesystem::path repository_, directory_;
  store::ContentReader contents_;
  std::mutex mutex_;
  std::map<std::string, std::vector<store::UsedFile>> recorded_;  // by name
  std::set<std::pair<std::string, store::Digest>> read_;
  struct Output {
    std::filesystem::path place;
    std::int64_t epoch = -1;
  };
  std::map<std::string, Output> written_;  // by name
};

/// The epoch of the main loops in which the session is; -1 outside of them. Any thread.
std::int64_t epoch_of(Journal& journal);

/// The files of a recording.
class RecordedFiles final : public ProgramFiles {
 public:
  using Enter = std::function<void(const store::UsedFile& file)>;
  /// `run` and `journal` must outlive it. `enter`: is called with each input, by any thread.
  RecordedFiles(const std::filesystem::path& home, const store::Run& run, Journal& journal,
                Enter enter);
  /// Takes what the run, or the one that it goes on from, has read before. Call it first.
  void know(std::vector<store::UsedFile> recorded) { files_.know(std::move(recorded)); }

  void input(const std::filesystem::path& path) override;
  std::filesystem::path output(const std::filesystem::path& path) override;
  void loaded(const std::string& reference, const store::Digest& digest,
              std::uint64_t bytes) override;
  void asked(const store::UsedFile& answer, const std::vector<std::string>& runs) override;
  std::vector<store::UsedFile> written() { return files_.written(); }

 private:
  const store::Run& run_;
  Journal& journal_;
  Enter enter_;
  UsedFiles files_;
};

}  // namespace flor::detail
