// Paths that are too long for SQLite.
#pragma once

#include <filesystem>
#include <string>

struct sqlite3_vfs;

namespace flor::store {

/// A name that SQLite accepts, which takes at most 512 bytes: a longer path is replaced by a short
/// one through the open directory. Valid as long as the object lives.
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

/// SQLite's xFullPathname, except that names of ShortPath stay as they are: SQLite would make them
/// long again.
int full_name_of_short_path(sqlite3_vfs*, const char* name, int size, char* out);

}  // namespace flor::store
