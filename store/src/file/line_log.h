// A file of lines that one process appends and others read while it grows, also over a network file
// system: messages between `flor replay` and its workers on other machines, and their record.
//
// A line of the file is 16 hex digits, a space and the text: the XXH3 of the text, seeded with the
// line's number, counted from 0. The log ends before a last line that a crash or a full disk cut
// off, and before a line with a changed byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// Not thread-safe.
class LineLogWriter {
 public:
  /// `create`: makes the file, and throws Error if it exists. Otherwise appends after the last
  /// whole line of an existing file, which no other process may be writing.
  LineLogWriter(std::filesystem::path path, bool create);
  ~LineLogWriter();
  LineLogWriter(const LineLogWriter&) = delete;
  LineLogWriter& operator=(const LineLogWriter&) = delete;

  /// Appends lines without line feeds. They are on disk, and visible to other machines, when it
  /// returns. After it has thrown Error, nothing more can be appended.
  void append(std::span<const std::string> lines);
  void append(const std::string& line) { append(std::span(&line, 1)); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t lines_ = 0;
};

/// Not thread-safe.
class LineLogReader {
 public:
  explicit LineLogReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// Whole lines that were added since the last call; none if there is no such file. Reopens the
  /// file, since only that makes an NFS client ask its server.
  std::vector<std::string> read();
  /// True if the last `read` found no file.
  bool is_gone() const { return gone_; }
  /// True if something that is no whole line follows. Nothing more will be read, unless that was a
  /// line that had not arrived completely.
  bool is_torn() const { return torn_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::filesystem::path path_;
  std::uint64_t offset_ = 0, lines_ = 0;
  bool gone_ = false, torn_ = false;
};

}  // namespace flor::store
