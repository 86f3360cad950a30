// The numbers that a run logged, in blocks: a few bytes each in the index, instead of a row.
//
// A series has rows in `value`, and blocks. Rows are what is young, what replays found, and all
// that is no number. The blocks of a series do not overlap in (epoch, step), and no row lies within
// a block. Code that adds a row within a block must break the block up first.
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

/// Fewer values take less as rows.
inline constexpr std::size_t kBlockPointsMin = 16;

/// Where a value lies in its series, but for what one step has.
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

/// True for what may lie in a block: a boolean, an integer or a real number.
bool is_packable(ValueType type);

/// The order of a series' values: epoch, step, inner as text, ordinal.
bool precedes(const Point& a, const Point& b);

/// Changes happen inside a transaction of the caller. Not thread-safe.
class SeriesBlocks {
 public:
  explicit SeriesBlocks(Connection& connection) : connection_(connection) {}

  /// The greatest step that rows and blocks of the series have. Nothing: it has none.
  std::optional<StepKey> last(std::int64_t series);
  /// Adds the points: packable, in their order, each place once, all behind `last`.
  void append(std::int64_t series, std::span<const Point> points);
  /// Blocks that have values between the two, both included, become rows.
  void break_up(std::int64_t series, StepKey first, StepKey last);
  enum class Growth {
    goes_on,  ///< the last step may get more values, and stays in rows
    ended
  };
  /// Of the rows behind the last block, those that can be in blocks go there, where enough follow
  /// each other. Reads all of these rows. Returns how many stay.
  std::size_t pack(std::int64_t series, Growth growth);

 private:
  Connection& connection_;
};

/// Tells of each block that is not what was written, in a line.
void find_damaged_blocks(Connection& connection,
                         const std::function<void(std::string&& line)>& told);

/// The values of a series in these epochs, both included, one after the other in their order, from
/// rows and blocks. Throws Damaged where a block is not what was written. The series must not be
/// changed meanwhile.
class SeriesReader {
 public:
  SeriesReader(Connection& connection, std::int64_t series, std::int64_t first_epoch,
               std::int64_t last_epoch);
  /// False behind the last one.
  bool next(SeriesValue& value);

 private:
  void read_row();
  void find_block();
  void open_block();

  Connection& connection_;
  std::unique_ptr<Query> rows_, blocks_;
  std::int64_t series_, first_epoch_, last_epoch_;
  std::optional<SeriesValue> row_;
  bool has_block_ = false;  ///< one is to be decoded
  StepKey block_first_;
  std::shared_ptr<const std::vector<Point>> points_;  ///< of the present block
  std::size_t next_ = 0;
};

}  // namespace flor::store
