// The content of a file or directory as one digest, remembered as long as nothing in it is touched.
#pragma once

#include <flor/store/digest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace flor::store {

struct FileContent {
  bool is_directory = false;
  std::uint64_t bytes = 0;  ///< of all files together
  std::int64_t files = 1;
  Digest digest;  ///< as docs/internals/format.md says, "Digests"
  bool operator==(const FileContent&) const = default;
};

/// A directory with more files than this has no digest.
inline constexpr std::size_t kContentFilesMax = 2'000'000;

/// Reads contents, and remembers them in a directory of files, `memory`, by path and by what the
/// system says of each file: device, inode, size, and the times of its last changes. A file that
/// was changed in the two seconds before it was read is read again each time, as its next change
/// may leave the times as they are. Thread-safe; other processes may use the same directory.
class ContentReader {
 public:
  /// Unix time in nanoseconds.
  using Clock = std::function<std::int64_t()>;

  explicit ContentReader(std::filesystem::path memory) : ContentReader(std::move(memory), {}) {}
  ContentReader(std::filesystem::path memory, Clock clock);

  struct Found {
    FileContent content;
    bool was_read = false;  ///< false: it was remembered
  };
  /// Follows `path` itself where it is a link, and no link below it. Throws Error where something
  /// cannot be read, is no file or directory, or has too many files.
  Found read(const std::filesystem::path& path);

 private:
  struct Known {
    Digest facts;
    FileContent content;
  };

  std::filesystem::path file_of(const std::filesystem::path& path) const;
  void remember(const std::filesystem::path& path, const Known& known);

  std::filesystem::path memory_;
  Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace flor::store
