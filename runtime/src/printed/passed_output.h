// The text that a recorded program prints: kept for the run, and passed on unchanged by a separate
// process.
#pragma once

#include "printed/passing.h"
#include "printed/printed_output.h"
#include "protocol/printed_tape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace flor::detail {

/// From construction to `stop`, the process's standard output and standard error are pipes. If both
/// went to the same destination, they share one pipe, so that the order of what is printed stays.
class PassedOutput : public PrintedOutput {
 public:
  /// Throws Error if the system does not allow it.
  explicit PassedOutput(const Options& options);
  ~PassedOutput() override;

  void move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept override;
  /// Waits until all is passed on, and lets the program print to the original destination again.
  void stop() noexcept override;
  std::vector<store::Printed> take(bool all) override;
  void written() noexcept override;
  void watch() noexcept override;
  void await_passed() noexcept override;

 private:
  struct Stream {
    PrintedTape* tape = nullptr;
    int read = -1, write = -1, destination = -1;
    int descriptor = -1;  ///< the replaced descriptor: 1 or 2
    std::uint64_t taken = 0, marks = 0;
  };

  void open_stream(int descriptor, store::Printed::Stream stream, const PrintedTape::Shape& shape);
  void replace(int descriptor, const Stream& stream);
  void restore() noexcept;
  void take_over(Stream& stream) noexcept;
  void close() noexcept;
  bool has_ended() const noexcept;  ///< whether the passing process has ended
  std::uint64_t position_of(const Stream& stream) const noexcept;
  void collect(bool all);

  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0, used_ = 0;
  PassingState* state_ = nullptr;
  int passer_ = -1;  // pidfd of the passing process
  std::array<Stream, 2> streams_;
  std::size_t count_ = 0;
  bool joined_ = false;  // one stream serves both descriptors
  mutable std::mutex mutex_;
  std::vector<store::Printed> pieces_;
  std::int64_t next_number_ = 0, last_take_us_ = 0;
};

}  // namespace flor::detail
