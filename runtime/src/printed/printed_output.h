// The text that a recorded program prints, kept for the run.
#pragma once

#include "index/values/printed.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Keeps standard output and standard error of this process from construction to `stop`.
class PrintedOutput {
 public:
  struct Options {
    /// How many bytes of a stream are kept. If more is printed, half of them are the first bytes
    /// and half the last.
    std::uint64_t limit = 0;
    std::filesystem::path rest;  ///< path for the facts about text that no journal has yet
    std::int64_t first_number = 0;
    bool is_asked = false;  ///< the user asked for it, so that a process may stand between
    bool is_rank = false;   ///< other processes train with this one, and may print to its files
  };
  /// Reads what goes to files from there. If the user asked for it and that does not suffice,
  /// another process passes on what is printed. Returns null if nothing is kept. Throws Error if
  /// the system does not allow it.
  static std::unique_ptr<PrintedOutput> make(const Options& options);
  PrintedOutput() = default;
  virtual ~PrintedOutput() = default;
  PrintedOutput(const PrintedOutput&) = delete;
  PrintedOutput& operator=(const PrintedOutput&) = delete;

  // For the thread that called flor::init.
  /// Assigns the following output to this place. `kept` is false if it was printed and kept before.
  virtual void move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept = 0;
  virtual void stop() noexcept = 0;

  // For the background thread.
  /// The pieces that were printed since the last call. Unless `all`, small pieces are left for
  /// later. `all`: the run ends, so that this call may be the last.
  virtual std::vector<store::Printed> take(bool all) = 0;
  /// Tells that the pieces from `take` are durable.
  virtual void written() noexcept = 0;
  /// Restores the program's own output if the process between has ended.
  virtual void watch() noexcept {}
  /// Called when the run is removed, as if it had not begun.
  virtual void drop() noexcept {}

  /// Waits until all that was printed so far is passed on. For any thread.
  virtual void await_passed() noexcept {}

 protected:
  /// Makes this object the one of the process, or no longer.
  void publish() noexcept;
  void withdraw() noexcept;
};

/// Writes out what the program's buffers have.
void flush_printed() noexcept;
bool is_same_file(int one, int other);
/// Tells that the thread of the loops has reached another place: see PrintedOutput::move_to.
void note_printed_place(std::int64_t epoch, std::string_view path, bool kept) noexcept;
/// Waits until all that was printed so far is passed on. May be called from any thread.
void await_printed() noexcept;

}  // namespace flor::detail
