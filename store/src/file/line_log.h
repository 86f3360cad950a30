// A file of text lines that one process appends and others read while it grows, even over a network
// file system. `flor replay` and its workers on other machines exchange messages this way.
//
// Each line consists of 16 hex digits, a space and the text. The digits are the XXH3 of the text,
// seeded with the number of the line, from 0. Reading stops before an incomplete last line (after a
// crash or on a full disk), and before a line with a changed byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// Appends lines to such a file. Not thread-safe.
class LineLogWriter {
 public:
  /// `create`: makes the file, and throws Error if it exists. Otherwise appends after the last
  /// complete line of an existing file, which no other process may be writing.
  LineLogWriter(std::filesystem::path path, bool create);
  ~LineLogWriter();
  LineLogWriter(const LineLogWriter&) = delete;
  LineLogWriter& operator=(const LineLogWriter&) = delete;

  /// Appends lines, which must not contain line feeds. When it returns they are on disk and visible
  /// to other machines. After it has thrown Error, nothing more can be appended.
  void append(std::span<const std::string> lines);
  void append(const std::string& line) { append(std::span(&line, 1)); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t lines_ = 0;
};

/// Reads the lines of such a file. Not thread-safe.
class LineLogReader {
 public:
  explicit LineLogReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// Returns complete lines that were added since the last call; none if the file does not exist.
  /// Reopens the file each time, because only then does an NFS client ask its server.
  std::vector<std::string> read();
  /// True if the last `read` found no file.
  bool is_gone() const { return gone_; }
  /// True if the last `read` ended before bytes that are not a sound line. Reading can only
  /// continue if they are the beginning of a line that is still arriving.
  bool is_torn() const { return torn_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::filesystem::path path_;
  std::uint64_t offset_ = 0, lines_ = 0;
  bool gone_ = false, torn_ = false;
};

}  // namespace flor::store
