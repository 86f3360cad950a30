// Paths that are too long for SQLite.
#pragma once

#include <filesystem>
#include <string>

struct sqlite3_vfs;

namespace flor::store {

/// A name for a file that SQLite takes, which goes up to 512 bytes: of a longer path a short one
/// through the open directory. Good as long as the object lives.
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

/// xFullPathname of SQLite's access to files, but for names of ShortPath, which it would make long
/// again.
int full_name_of_short_path(sqlite3_vfs*, const char* name, int size, char* out);

}  // namespace flor::store
