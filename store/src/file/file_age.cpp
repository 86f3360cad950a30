#include "file/file_age.h"

#include <algorithm>
#include <system_error>

namespace flor::store {

using FileTime = std::filesystem::file_time_type;

FileTime file_time_ago(std::chrono::seconds age, std::chrono::system_clock::time_point now) {
  now = std::max(now, std::chrono::system_clock::time_point());
  return FileTime::clock::from_sys(now) - age;
}

bool was_changed_before(const std::filesystem::path& file, FileTime moment) {
  std::error_code error;
  const FileTime changed = std::filesystem::last_write_time(file, error);
  return !error && changed < moment;
}

}  // namespace flor::store
