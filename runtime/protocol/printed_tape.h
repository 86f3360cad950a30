// The text that a program prints to one stream: the first bytes, the last bytes, and when and at
// which place in the loops they were printed. The text is in memory that the program shares with
// the process that passes it on, or in the file to which the program prints. If the program dies,
// a file of the home has what later commands need to know of what it has not written to its
// journal.
#pragma once

#include "index/values/printed.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// The kept output of one stream. Positions count the bytes that came through the pipe. One process
/// adds bytes, and one thread of the program marks places. `cut` must not run at the same time as
/// `mark`.
class PrintedTape {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;  ///< most bytes of one read

  struct Shape {
    std::uint64_t head = 0, ring = 0;  ///< bytes kept from the beginning, and from the end
    std::uint64_t bytes() const { return head + ring; }
  };
  /// Half of the limit for the beginning and half for the end. The ring has room for one more read.
  static Shape shape_of(std::uint64_t limit);
  static std::size_t size_of(const Shape& shape) { return sizeof(PrintedTape) + shape.bytes(); }
  /// `memory` is `size_of(shape)` bytes of zeros.
  static PrintedTape* make(std::byte* memory, const Shape& shape, store::Printed::Stream stream);
  /// Makes this a tape without text, which is elsewhere. All of its memory is zero.
  void begin_without_text(std::uint64_t limit, store::Printed::Stream stream);

  // For the process that passes the output on. Async-signal-safe.
  /// Where the next read may put its bytes; never empty.
  std::span<std::byte> room();
  void came(std::size_t count, std::int64_t now_us);
  /// How many bytes from the beginning of the memory are in use; the rest need not be written to a
  /// file.
  std::size_t used() const;

  /// For the thread of the loops: bytes from `position` on belong to this place. `kept` is false if
  /// the run has these bytes already, because a resumed program prints them again.
  void mark(std::uint64_t position, std::int64_t epoch, std::string_view path, bool kept);
  std::uint64_t marks() const { return marks_; }
  /// `kept` of the last mark.
  bool keeps() const { return marks_ == 0 || mark_[(marks_ - 1) % kMarks].kept != 0; }

  std::uint64_t head() const { return shape_.head; }
  /// The bytes from `from` to `to`, as pieces of one place each and at most one read long. Bytes
  /// that were overwritten, or whose place was, become a gap. The pieces have number 0.
  std::vector<store::Printed> cut(std::uint64_t from, std::uint64_t to) const;
  /// Reads the text between two positions; a text that is too short ends in a gap.
  using Reader = std::function<std::string(std::uint64_t from, std::uint64_t to)>;
  std::vector<store::Printed> cut(std::uint64_t from, std::uint64_t to, const Reader& read) const;
  /// The memory in use, in the order in which it is to be written to a file: what the last part
  /// counts is in the parts before it.
  std::array<std::span<const std::byte>, 3> parts() const;

  /// Above 0 between a read and the update of `position`.
  std::atomic<std::uint32_t> reading{0};
  std::atomic<std::uint32_t> failed{0};  ///< nothing more can be passed on
  std::atomic<std::uint64_t> position{0};
  std::atomic<std::uint64_t> passed{0};   ///< bytes passed on
  std::atomic<std::uint64_t> written{0};  ///< durable in the run's journal

 private:
  friend std::vector<store::Printed> read_printed_rest(const std::filesystem::path& file);

  struct Mark {
    std::uint64_t position = 0;
    std::int64_t epoch = -1;
    std::uint16_t kept = 1, length = 0;
    std::array<char, 108> path;  ///< a longer path is cut
  };
  struct Clock {
    std::uint64_t position = 0;
    std::int64_t time_us = 0;
  };
  static constexpr std::uint64_t kMagic = 0x3130544e5250464c;        // "LFPRNT01"
  static constexpr std::uint64_t kWithoutText = 0x3230544e5250464c;  // "LFPRNT02"
  static constexpr std::size_t kMarks = 1024, kClocks = 4096;

 public:
  /// How many marks may be made before `cut` is called; older ones would be overwritten.
  static constexpr std::size_t kMarksMax = kMarks / 2;

 private:
  std::uint64_t magic_ = kMagic;
  Shape shape_;
  store::Printed::Stream stream_ = store::Printed::Stream::both;
  std::uint64_t marks_ = 0, clocks_ = 0;  // number ever made; the arrays keep the latest
  std::array<Mark, kMarks> mark_;
  std::array<Clock, kClocks> clock_;

  bool is_sound(std::uint64_t bytes) const;
  std::uint64_t oldest() const;  ///< first byte of the ring that is not being overwritten
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::int64_t time_at(std::uint64_t at) const;
  std::string text(std::uint64_t from, std::uint64_t to) const;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A stream that goes to a regular file, where its text is.
struct PrintedLog {
  PrintedTape tape;
  std::int64_t offset = 0;   ///< of the tape's position 0 in the file
  std::uint64_t first = 0;   ///< the text before this position was cut off the file
  std::uint64_t number = 0;  ///< of the file's inode
  std::uint64_t tail_bytes = 0;
  std::array<char, 256> tail;   ///< the bytes before the tape's last position
  std::array<char, 4096> path;  ///< ends with a zero
  std::int64_t seen_us = 0;     ///< when the program was last seen alive

  /// The bytes of the file from `from` to `to`; fewer if it does not have them.
  std::string text(int file, std::uint64_t from, std::uint64_t to) const;
  std::int64_t end() const { return static_cast<std::int64_t>(tape.position) + offset; }
};

/// The pieces that a program had printed but not written to its journal when it died. Nothing if
/// the file does not exist or is of another kind. The file to which it printed is read if it still
/// is the one, and if `file` is of this user. What the file got just after the program was last
/// seen alive has no known place.
std::vector<store::Printed> read_printed_rest(const std::filesystem::path& file);
/// The path of the file that `read_printed_rest` reads for a run, in the run's directory of
/// journals.
std::filesystem::path printed_rest_file(const std::filesystem::path& home, std::string_view run);
/// Sorts the pieces of several tapes by time, and numbers them from `first` on.
void number_printed(std::vector<store::Printed>& pieces, std::int64_t first);

/// The run's printed text, including the pieces from `read_printed_rest`.
std::vector<store::Printed> all_printed(const store::Catalog& catalog,
                                        const std::filesystem::path& home, const store::Run& run,
                                        std::int64_t first_epoch = -1,
                                        std::int64_t last_epoch = INT64_MAX);
/// Enters the pieces from `read_printed_rest` into the record of a run that no process is
/// recording, and removes the file.
void take_up_printed_rest(store::Catalog& catalog, const std::filesystem::path& home,
                          const store::Run& run);

}  // namespace flor::detail
