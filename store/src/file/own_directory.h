// Private directories in a place where every user of the machine may make files, such as /tmp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// Returns the directory `name` in `place` (default: the directory for temporary files), and makes
/// it if it is missing. Only this user can enter it. Throws Error if the name is a symbolic link, a
/// file, or another user's directory, which might be an attack.
std::filesystem::path own_temporary_directory(const std::string& name,
                                              std::filesystem::path place = {});

/// A directory for temporary files, which the destructor removes. The constructor also removes
/// those of killed processes.
class WorkDirectory {
 public:
  /// Makes it within "flor-`purpose`-UID" in `place` (default: the directory for temporary files).
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
