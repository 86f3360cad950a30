// Standard output, buffered: results leave the program only through it.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

/// Thrown when the reader of a pipe is gone (`flor list | head -1`): no more output is wanted,
/// which is no error.
struct PipeClosed {};

/// A file descriptor with a buffer. Not thread-safe. The destructor drops unflushed text.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}

  void write(std::string_view text);
  /// Throws PipeClosed, or flor::Error if writing fails otherwise (a full disk).
  void flush();
  bool is_terminal() const;
  /// Columns of the terminal; 0 if there is none, which means no limit.
  int width() const;
  /// Lines of the terminal, 24 if unknown.
  int height() const;

 private:
  int descriptor_;
  std::string buffer_;
};

}  // namespace flor::cli
