// The output of a recorded program: kept, and handed on unchanged by a process of its own.
#pragma once

#include "printed/passing.h"
#include "protocol/printed_tape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace flor::detail {

/// From its start to `stop` the process's standard output and standard error are pipes. Where both
/// go to the same place, one pipe serves both, so that the order of what is printed stays.
class PrintedOutput {
 public:
  struct Options {
    /// Bytes of a stream that are kept; of more than these the first and the last half.
    std::uint64_t limit = 0;
    std::filesystem::path rest;  ///< see Passing
    std::int64_t first_number = 0;
  };
  /// Throws Error where this system does not let it be.
  explicit PrintedOutput(const Options& options);
  ~PrintedOutput();
  PrintedOutput(const PrintedOutput&) = delete;
  PrintedOutput& operator=(const PrintedOutput&) = delete;

  // The thread that called flor::init.
  /// Output from now on belongs there. `kept` false: it was printed and kept before.
  void move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept;
  /// All is handed on, and the program prints to where it printed before.
  void stop() noexcept;

  // The background thread.
  /// The pieces that were printed since the last call; `all` false: only where that is worth a
  /// piece.
  std::vector<store::Printed> take(bool all);
  /// The pieces that were taken are durable.
  void written() noexcept;
  /// Puts the program's own output back where the other process has ended.
  void watch() noexcept;

 private:
  struct Stream {
    PrintedTape* tape = nullptr;
    int read = -1, write = -1, destination = -1;
    int descriptor = -1;  ///< that it replaces: 1, or 2
    std::uint64_t taken = 0, marks = 0;
  };

  void open_stream(int descriptor, store::Printed::Stream stream, const PrintedTape::Shape& shape);
  void replace(int descriptor, const Stream& stream);
  void restore() noexcept;
  void take_over(Stream& stream) noexcept;
  void close() noexcept;
  bool has_ended() const noexcept;  ///< the other process
  std::uint64_t position_of(const Stream& stream) const noexcept;
  void collect(bool all);
  void await_passed() noexcept;
  friend void await_printed() noexcept;

  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0, used_ = 0;
  PassingState* state_ = nullptr;
  int passer_ = -1;  // a descriptor of the other process
  std::array<Stream, 2> streams_;
  std::size_t count_ = 0;
  bool joined_ = false;  // one stream for both descriptors
  mutable std::mutex mutex_;
  std::vector<store::Printed> pieces_;
  std::int64_t next_number_ = 0, last_take_us_ = 0;
};

/// The thread of the loops came to another place: see `PrintedOutput::move_to`.
void note_printed_place(std::int64_t epoch, std::string_view path, bool kept) noexcept;
/// Waits until what was printed so far is handed on. Any thread.
void await_printed() noexcept;

}  // namespace flor::detail
