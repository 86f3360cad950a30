// What the program says by flor::input and flor::output that it reads and writes.
#pragma once

#include "file/content.h"

#include <flor/store/used_files.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::detail {

/// Thread-safe, but for `know`.
class UsedFiles {
 public:
  /// `home`: of the store, which remembers contents. `repository` and `directory`: of the run as it
  /// was recorded, whose directory this process's working directory stands for.
  UsedFiles(const std::filesystem::path& home, std::filesystem::path repository,
            std::filesystem::path directory);
  /// What the record has read already.
  void know(std::vector<store::UsedFile> recorded);

  struct Read {
    store::UsedFile file;
    bool is_new = true;       ///< false: this process has read the same before
    std::string difference;   ///< to the record: "data/a.csv has other content: ..."; empty: none
    bool is_recorded = true;  ///< the record names it
  };
  /// The file or directory as it is now; nothing where that cannot be read, which a line says.
  std::optional<Read> read(const std::filesystem::path& path, std::int64_t epoch);
  /// A checkpoint of that run was loaded. The same, but for the comparison.
  static store::UsedFile checkpoint(const std::string& reference, const store::Digest& digest,
                                    std::uint64_t bytes, std::int64_t epoch);

  /// The program writes this. Only the first few thousand are known, which a line says.
  void write(const std::filesystem::path& path, std::int64_t epoch);
  /// What is there of it now.
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

}  // namespace flor::detail
