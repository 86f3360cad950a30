// Private directories in a place where every user of the machine may make files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// The directory of this name in `place`, or in the one for temporary files; made if it is missing.
/// Only this user can enter it. Throws Error if the name belongs to a link, another user's
/// directory, or no directory: it may have been put there to lead elsewhere.
std::filesystem::path own_temporary_directory(const std::string& name,
                                              std::filesystem::path place = {});

/// A directory for temporary files, which is removed with this object. Making one also removes the
/// directories of killed processes.
class WorkDirectory {
 public:
  /// Makes it in "flor-`purpose`-UID" in `place`, or in the directory for temporary files.
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
