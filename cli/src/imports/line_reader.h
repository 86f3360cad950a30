// The lines of a file of any size, with memory for the longest of them that is accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flor::store {
class File;
}

namespace flor::cli {

/// A longer line is cut into pieces of at most this length.
inline constexpr std::size_t kLineMax = std::size_t{1} << 20;

struct LogLine {
  std::string_view text;     ///< with its "\n", where it has one; valid until the next line
  std::uint64_t offset = 0;  ///< of its first byte in the file
  std::int64_t number = 0;   ///< from 1
  bool is_cut = false;       ///< longer than `kLineMax`: the rest follows as a line of its own
  bool is_rest = false;      ///< such a rest

  bool has_end() const { return text.ends_with('\n'); }
  /// The text without "\n" and "\r\n".
  std::string_view content() const;
};

/// Reads the file as far as it reached when the reader was made: it may be growing.
///
/// A line is cut behind the last "\r", where a progress bar begins anew, else behind a byte that no
/// number has, so that none is cut in two; in the middle of a word only if all of it is one.
class LineReader {
 public:
  explicit LineReader(const store::File& file);
  /// Returns false after the last line. Throws Error if the file cannot be read.
  bool next(LogLine& line);
  std::uint64_t size() const { return size_; }

 private:
  void fill();

  const store::File& file_;
  std::uint64_t size_;
  std::string buffer_;
  std::size_t at_ = 0;      ///< in the buffer
  std::uint64_t read_ = 0;  ///< bytes of the file that are or were in the buffer
  std::int64_t number_ = 0;
  bool goes_on_ = false;  ///< the line before was cut
};

/// Without the mark of UTF-8 that some programs put before a text.
std::string_view without_mark(std::string_view text);

/// Throws UsageError if a file that begins so has other units than bytes, such as UTF-16.
void require_text_of_bytes(std::string_view beginning);

}  // namespace flor::cli
