// Buffered output to a file descriptor. Commands write their results to standard output only
// through it.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

/// Thrown when the reader of a pipe has closed it (`flor list | head -1`): it wants no more output,
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
  /// Columns of the terminal; 0 means no limit, because this is no terminal.
  int width() const;
  /// Lines of the terminal; 24 if unknown.
  int height() const;

 private:
  int descriptor_;
  std::string buffer_;
};

}  // namespace flor::cli
