// Directories in a place where every user of the machine may make files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// The directory of this name in `place`, or below the one for temporary files, which this user
/// alone can enter; made if it is not there. Throws Error where what has that name is no directory,
/// a link, or another user's: it may have been put there to lead elsewhere.
std::filesystem::path own_temporary_directory(const std::string& name,
                                              std::filesystem::path place = {});

/// A directory for temporary files, which is removed with this object. Making one also removes
/// those of processes that were killed.
class WorkDirectory {
 public:
  /// In "flor-`purpose`-UID" of `place`, or of the directory for temporary files.
  explicit WorkDirectory(std::string_view purpose = "remote",
                         const std::filesystem::path& place = {});
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace flor::store
