// The process that hands on what a program prints. It outlives the program: what was printed before
// a crash, or a kill that no handler sees, still comes to the terminal, and into the run.
#pragma once

#include "protocol/printed_tape.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace flor::detail {

/// One way from a pipe, through a tape, to where the program's output went before.
struct PassedStream {
  PrintedTape* tape = nullptr;
  int pipe = -1, destination = -1;
};

/// Shared by the two processes beside the tapes.
struct PassingState {
  std::atomic<int> process{0};
  std::atomic<int> ended{0};  ///< the session ended in order: there is no rest
};

struct Passing {
  std::array<PassedStream, 2> streams;
  std::size_t count = 0;
  PassingState* state = nullptr;
  int program = -1;  ///< a descriptor of the program's process
  int ready = -1;    ///< closed when all is set up
  std::array<char, 4096>
      rest{};  ///< path of the file for what no journal has when the program dies
};

/// Starts the process, which is no child of this one. False, with errno, where it cannot be.
bool start_passing(const Passing& passing);

/// Writes all of it; false where it is not taken any more.
bool pass_on(int destination, const std::byte* bytes, std::size_t count);

}  // namespace flor::detail
