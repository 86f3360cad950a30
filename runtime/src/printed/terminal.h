// Lets a program whose output goes through a pipe to a terminal still see a terminal.
#pragma once

#include <sys/stat.h>

namespace flor::detail {

/// Makes `isatty` return true for descriptors of this pipe. At most two pipes are remembered; a
/// third replaces the second.
void count_as_terminal(const struct stat& pipe) noexcept;
void forget_terminals() noexcept;

}  // namespace flor::detail
