// The output of a program to one place, in memory that the program shares with the process that
// hands it on: the first bytes, the last bytes, and when and where in its loops they were printed.
// When the program has died, that process leaves the memory as a file, and commands that look at
// the run reads that as the program would have.
#pragma once

#include "index/values/printed.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Positions count the bytes that came through the pipe. One process brings bytes, and one thread
/// of the program marks places; who cuts pieces must not run beside a mark.
class PrintedTape {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;  ///< at most, in one read

  struct Shape {
    std::uint64_t head = 0, ring = 0;  ///< bytes that are kept of the beginning and of the end
    std::uint64_t bytes() const { return head + ring; }
  };
  /// Half of the limit for each; the ring has room for a read more.
  static Shape shape_of(std::uint64_t limit);
  static std::size_t size_of(const Shape& shape) { return sizeof(PrintedTape) + shape.bytes(); }
  /// `memory`: zeros, of `size_of(shape)` bytes.
  static PrintedTape* make(std::byte* memory, const Shape& shape, store::Printed::Stream stream);

  // The process that hands on. Async-signal-safe.
  /// Where the next read may put bytes; never empty.
  std::span<std::byte> room();
  void came(std::size_t count, std::int64_t now_us);
  /// The bytes of the memory that mean something, in two parts: from its beginning.
  std::size_t used() const;

  /// The thread of the loops: bytes from `position` on belong there. `kept` false: they are printed
  /// again, and are kept already.
  void mark(std::uint64_t position, std::int64_t epoch, std::string_view path, bool kept);
  std::uint64_t marks() const { return marks_; }

  std::uint64_t head() const { return shape_.head; }
  /// The bytes from `from` up to `to`, in pieces of one place and at most as long as a read; what
  /// is not there any more, or of a place that is forgotten, is a gap. Numbers are 0.
  std::vector<store::Printed> cut(std::uint64_t from, std::uint64_t to) const;

  /// Above 0: between a read and the new position.
  std::atomic<std::uint32_t> reading{0};
  std::atomic<std::uint32_t> failed{0};  ///< nothing more can be handed on
  std::atomic<std::uint64_t> position{0};
  std::atomic<std::uint64_t> passed{0};   ///< handed on
  std::atomic<std::uint64_t> written{0};  ///< durable in the run's journal

 private:
  friend std::vector<store::Printed> read_printed_rest(const std::filesystem::path& file);

  struct Mark {
    std::uint64_t position = 0;
    std::int64_t epoch = -1;
    std::uint16_t kept = 1, length = 0;
    std::array<char, 108> path;  ///< a longer one is cut
  };
  struct Clock {
    std::uint64_t position = 0;
    std::int64_t time_us = 0;
  };
  static constexpr std::uint64_t kMagic = 0x3130544e5250464c;  // "LFPRNT01"
  static constexpr std::size_t kMarks = 1024, kClocks = 4096;

 public:
  /// The marks that may wait before pieces are cut.
  static constexpr std::size_t kMarksMax = kMarks / 2;

 private:
  std::uint64_t magic_ = kMagic;
  Shape shape_;
  store::Printed::Stream stream_ = store::Printed::Stream::both;
  std::uint64_t marks_ = 0, clocks_ = 0;  // ever made: the latest are there
  std::array<Mark, kMarks> mark_;
  std::array<Clock, kClocks> clock_;

  bool is_sound(std::uint64_t bytes) const;
  std::uint64_t oldest() const;  ///< the first byte of the ring that is whole
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::int64_t time_at(std::uint64_t at) const;
  std::string text(std::uint64_t from, std::uint64_t to) const;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The pieces that a program had printed, but not written to its journal, when it died; nothing if
/// the file is not there, or no such file.
std::vector<store::Printed> read_printed_rest(const std::filesystem::path& file);
/// The file of a run, in its directory of journals.
std::filesystem::path printed_rest_file(const std::filesystem::path& home, std::string_view run);
/// Pieces of several tapes in the order of their times, numbered from `first` on.
void number_printed(std::vector<store::Printed>& pieces, std::int64_t first);

/// The run's output, with what lies in the file of its rest.
std::vector<store::Printed> all_printed(const store::Catalog& catalog,
                                        const std::filesystem::path& home, const store::Run& run,
                                        std::int64_t first_epoch = -1,
                                        std::int64_t last_epoch = INT64_MAX);
/// Enters the rest of a run that is not recorded now, and removes its file.
void take_up_printed_rest(store::Catalog& catalog, const std::filesystem::path& home,
                          const store::Run& run);

}  // namespace flor::detail
