// The numbers that a run logged, in blocks: a few bytes each in the index, instead of a row.
//
// A series has rows in `value`, and blocks. Rows hold young values, values that replays found, and
// all that are no numbers. The blocks of a series do not overlap in (epoch, step), and no row lies
// within a block. Code that adds a row within a block must break the block up first.
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

/// Fewer values take less space as rows.
inline constexpr std::size_t kBlockPointsMin = 16;

/// The place of a value in its series, down to the step.
struct StepKey {
  std::int64_t epoch = -1, step = -1;

  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

/// A row of `value`, without its series.
struct SeriesValue {
  Point point;
  std::int64_t replay = 0;  ///< id; 0: the run logged it
};

StepKey key_of(const Point& point);
Value value_of(SeriesValue&& one, const std::string& name, const std::string& path);

/// True for types that may lie in a block: booleans, integers and real numbers.
bool is_packable(ValueType type);

/// The order of a series' values: epoch, step, inner as text, ordinal.
bool precedes(const Point& a, const Point& b);

/// Makes changes inside a transaction of the caller. Not thread-safe.
class SeriesBlocks {
 public:
  explicit SeriesBlocks(Connection& connection) : connection_(connection) {}

  /// The greatest step in rows and blocks of the series. Nothing: the series is empty.
  std::optional<StepKey> last(std::int64_t series);
  /// Adds the points: packable, in their order, each place once, all after `last`.
  void append(std::int64_t series, std::span<const Point> points);
  /// Turns blocks with values between the two steps, both included, into rows.
  void break_up(std::int64_t series, StepKey first, StepKey last);
  enum class Growth {
    goes_on,  ///< the last step may get more values, and stays in rows
    ended
  };
  /// Packs rows after the last block into blocks, where enough packable ones follow each other.
  /// Reads all rows after the last block. Returns the number of rows that stay.
  std::size_t pack(std::int64_t series, Growth growth);

 private:
  Connection& connection_;
};

/// Reports each block that differs from what was written, in a line.
void find_damaged_blocks(Connection& connection,
                         const std::function<void(std::string&& line)>& told);

/// The values of a series in these epochs, both included, one after the other in their order, from
/// rows and blocks. Throws Damaged if a block differs from what was written. The series must not
/// change meanwhile.
class SeriesReader {
 public:
  SeriesReader(Connection& connection, std::int64_t series, std::int64_t first_epoch,
               std::int64_t last_epoch);
  /// False after the last one.
  bool next(SeriesValue& value);

 private:
  void read_row();
  void find_block();
  void open_block();

  Connection& connection_;
  std::unique_ptr<Query> rows_, blocks_;
  std::int64_t series_, first_epoch_, last_epoch_;
  std::optional<SeriesValue> row_;
  bool has_block_ = false;  ///< a block waits to be decoded
  StepKey block_first_;
  std::shared_ptr<const std::vector<Point>> points_;  ///< of the present block
  std::size_t next_ = 0;
};

}  // namespace flor::store
