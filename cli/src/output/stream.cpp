// Buffered output to a file descriptor.
#include "output/stream.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace flor::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

}  // namespace

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      buffer_.clear();
      if (error == EPIPE) throw PipeClosed{};
      throw Error(fmt::format("cannot write to standard output: {}", std::strerror(error)));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

bool Output::is_terminal() const { return ::isatty(descriptor_) == 1; }

int Output::width() const {
  if (!is_terminal()) return 0;
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = 80;
  if (const char* text = std::getenv("COLUMNS")) {
    std::from_chars(text, text + std::strlen(text), columns);
  }
  return columns;
}

int Output::height() const {
  constexpr int kUsual = 24;
  winsize size{};
  const bool known = ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? size.ws_row : kUsual;
}

}  // namespace flor::cli
