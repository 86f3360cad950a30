#include "database/vfs/short_path.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace flor::store {
namespace {

/// SQLite's limit minus the suffixes of its other files, such as "-journal".
constexpr std::size_t kLongest = 512 - 16;
constexpr std::string_view kDescriptors = "/proc/self/fd/";

}  // namespace

ShortPath::ShortPath(const std::filesystem::path& file) : text_(file.string()) {
  if (std::filesystem::absolute(file).native().size() <= kLongest) return;
  directory_ = ::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) return;  // SQLite will report the reason
  text_ = fmt::format("{}{}/{}", kDescriptors, directory_, file.filename().string());
}

ShortPath::~ShortPath() {
  if (directory_ >= 0) ::close(directory_);
}

int full_name_of_short_path(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (!std::string_view(name).starts_with(kDescriptors)) {
    return system->xFullPathname(system, name, size, out);
  }
  if (std::strlen(name) >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::strcpy(out, name);
  return SQLITE_OK;
}

}  // namespace flor::store
