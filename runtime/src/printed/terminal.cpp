// Defines `isatty` in place of the C library's; see base/written_files.cpp for how.
#include "printed/terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace flor::detail {
namespace {

std::array<std::atomic<ino_t>, 2> pipes{};

bool counts_as_terminal(int descriptor) noexcept {
  if (pipes[0] == 0) return false;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return false;
  return status.st_ino == pipes[0] || status.st_ino == pipes[1];
}

}  // namespace

void count_as_terminal(const struct stat& pipe) noexcept {
  pipes[pipes[0] == 0 ? 0 : 1] = pipe.st_ino;
}
void forget_terminals() noexcept {
  for (auto& pipe : pipes) pipe = 0;
}

}  // namespace flor::detail

extern "C" int isatty(int descriptor) noexcept {
  termios settings{};
  if (::tcgetattr(descriptor, &settings) == 0) return 1;
  const int error = errno;
  if (flor::detail::counts_as_terminal(descriptor)) return 1;
  errno = error;
  return 0;
}
