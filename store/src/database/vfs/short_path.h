// Paths that are too long for SQLite.
#pragma once

#include <filesystem>
#include <string>

struct sqlite3_vfs;

namespace flor::store {

/// A file name that SQLite accepts. Its limit is 512 bytes, so a longer path is replaced by a short
/// one that goes through the opened directory. Valid as long as this object exists.
class ShortPath {
 public:
  explicit ShortPath(const std::filesystem::path& file);
  ~ShortPath();
  ShortPath(const ShortPath&) = delete;
  ShortPath& operator=(const ShortPath&) = delete;

  const std::string& text() const { return text_; }

 private:
  int directory_ = -1;
  std::string text_;
};

/// SQLite's xFullPathname, except that it leaves names of ShortPath unchanged: SQLite would expand
/// them to the long path.
int full_name_of_short_path(sqlite3_vfs*, const char* name, int size, char* out);

}  // namespace flor::store
