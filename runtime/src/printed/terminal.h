// A program whose output goes through a pipe of Flor's to a terminal still prints to a terminal.
#pragma once

#include <sys/stat.h>

namespace flor::detail {

/// `isatty` says yes for descriptors of this pipe from now on. Two at most; the first is replaced.
void count_as_terminal(const struct stat& pipe) noexcept;
void forget_terminals() noexcept;

}  // namespace flor::detail
