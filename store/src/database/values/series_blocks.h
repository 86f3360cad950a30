// Blocks of logged numbers: in a block a number takes a few bytes of the index instead of a row.
//
// A series (the values of one run, name and path) has rows in the table `value`, and blocks. Rows
// hold recent values, values that replays found, and all values that are not numbers. The blocks of
// a series do not overlap in (epoch, step), and no row lies between the first and the last place of
// a block. Code that adds a row there must first break up the block.
#pragma once

#include "database/sqlite.h"
#include "journal/value_block.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// A block must have at least this many values: fewer take less space as rows.
inline constexpr std::size_t kBlockPointsMin = 16;

/// The epoch and step of a value in its series.
struct StepKey {
  std::int64_t epoch = -1, step = -1;

  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

/// A value of a series, without the series itself.
struct SeriesValue {
  Point point;
  std::int64_t replay = 0;  ///< id of the replay that found it; 0: the run logged it
};

StepKey key_of(const Point& point);
Value value_of(SeriesValue&& one, const std::string& name, const std::string& path);

/// True for types that may lie in a block: booleans, integers and real numbers.
bool is_packable(ValueType type);

/// Returns the order of values in a series: by epoch, step, inner as text, ordinal.
bool precedes(const Point& a, const Point& b);

/// Changes the blocks of series, within the caller's transaction. Not thread-safe.
class SeriesBlocks {
 public:
  explicit SeriesBlocks(Connection& connection) : connection_(connection) {}

  /// Returns the greatest step in rows and blocks of the series; nullopt if the series is empty.
  std::optional<StepKey> last(std::int64_t series);
  /// Adds points, which must be packable, sorted, each at a different place, and all after `last`.
  void append(std::int64_t series, std::span<const Point> points);
  /// Converts blocks that have values between the two steps, both included, to rows.
  void break_up(std::int64_t series, StepKey first, StepKey last);
  enum class Growth {
    goes_on,  ///< more values may come for the last step, which therefore stays in rows
    ended
  };
  /// Converts rows after the last block to blocks, wherever enough packable ones follow each other.
  /// Returns the number of rows that remain after the last block.
  std::size_t pack(std::int64_t series, Growth growth);

 private:
  Connection& connection_;
};

/// Checks all blocks, and reports each that differs from what was written, with one line.
void find_damaged_blocks(Connection& connection,
                         const std::function<void(std::string&& line)>& told);

/// Reads the values of a series in these epochs, both included, from rows and blocks, in their
/// order. Throws Damaged if a block differs from what was written. The series must not change
/// meanwhile.
class SeriesReader {
 public:
  SeriesReader(Connection& connection, std::int64_t series, std::int64_t first_epoch,
               std::int64_t last_epoch);
  /// Returns false after the last value.
  bool next(SeriesValue& value);

 private:
  void read_row();
  void find_block();
  void open_block();

  Connection& connection_;
  std::unique_ptr<Query> rows_, blocks_;
  std::int64_t series_, first_epoch_, last_epoch_;
  std::optional<SeriesValue> row_;
  bool has_block_ = false;  ///< true if the next block has not been decoded yet
  StepKey block_first_;
  std::shared_ptr<const std::vector<Point>> points_;  ///< values of the current block
  std::size_t next_ = 0;
};

}  // namespace flor::store
