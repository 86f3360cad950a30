// Standard output, buffered: the only way in which results leave the program.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

/// Thrown when the reader of a pipe is gone (`flor list | head -1`): nobody wants more, which is no
/// error.
struct PipeClosed {};

/// A file descriptor with a buffer. Not thread-safe. The destructor drops what was not flushed.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}

  void write(std::string_view text);
  /// Throws PipeClosed, or flor::Error where writing fails otherwise (a full disk).
  void flush();
  bool is_terminal() const;
  /// Columns of the terminal; 0 if there is none, which means: as wide as it needs to be.
  int width() const;

 private:
  int descriptor_;
  std::string buffer_;
};

}  // namespace flor::cli
