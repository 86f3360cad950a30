// The process that passes on what a program prints. It outlives the program: what was printed
// before a crash or an uncatchable kill still reaches the terminal and the run.
#pragma once

#include "protocol/printed_tape.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace flor::detail {

/// The path of one stream: from a pipe, through a tape (PrintedTape), to the original destination.
struct PassedStream {
  PrintedTape* tape = nullptr;
  int pipe = -1, destination = -1;
};

/// Shared by the program and the passing process, besides the tapes.
struct PassingState {
  std::atomic<int> process{0};  ///< id of the passing process
  std::atomic<int> ended{0};    ///< the session ended in order: nothing is left to keep
};

struct Passing {
  std::array<PassedStream, 2> streams;
  std::size_t count = 0;
  PassingState* state = nullptr;
  int program = -1;  ///< pidfd of the program's process
  int ready = -1;    ///< closed when the passing process is ready
  std::array<char, 4096>
      rest{};  ///< path of the file for what no journal has when the program dies
};

/// Starts the passing process, which is no child of this one. Returns false, with errno, on
/// failure.
bool start_passing(const Passing& passing);

/// Writes all bytes. Returns false if the destination does not accept them any more.
bool pass_on(int destination, const std::byte* bytes, std::size_t count);

}  // namespace flor::detail
