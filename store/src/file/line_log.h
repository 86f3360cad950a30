// A file of lines that one process appends and others read while it grows, also over a network file
// system: what `flor replay` and its workers on other machines say to each other, and keep of it.
//
// A line of the file is 16 hex digits, a space and the text: the XXH3 of the text, seeded with the
// line's number, counted from 0. What a crash or a full disk has left of the last line ends the log
// there; so does a byte that was changed.
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
  /// `create`: makes the file, which must not exist, and throws Error if it does. Else goes on
  /// behind the last whole line of one that nobody else writes.
  LineLogWriter(std::filesystem::path path, bool create);
  ~LineLogWriter();
  LineLogWriter(const LineLogWriter&) = delete;
  LineLogWriter& operator=(const LineLogWriter&) = delete;

  /// Lines without line feeds. They are on the disk, and to be seen by other machines, when it
  /// returns. Throws Error; then nothing can be appended any more.
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

  /// Whole lines that have come since the last call. Opens the file anew, since only that makes a
  /// client of NFS ask its server. None where there is no such file.
  std::vector<std::string> read();
  /// The last call found no file.
  bool is_gone() const { return gone_; }
  /// Behind this point stands something that is no line. Nothing will be read any more, unless that
  /// was a line that had not arrived wholly.
  bool is_torn() const { return torn_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::filesystem::path path_;
  std::uint64_t offset_ = 0, lines_ = 0;
  bool gone_ = false, torn_ = false;
};

}  // namespace flor::store
