// Reads logs that are tables: the rows of all, and CSV.
#pragma once

#include "imports/logged_run.h"
#include "imports/value_word.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {
class File;
}

namespace flor::cli {

/// Which columns have the places of the rows; empty: found by their usual names.
struct TableColumns {
  std::string epoch, step;
};

/// Takes the cells of a table, row by row, and finds out at the end which columns are places and
/// times, which depends on all their cells.
class TableRows {
 public:
  TableRows(const TableColumns& columns, LoggedRun& run) : columns_(columns), run_(run) {}

  void begin_row() { ++rows_; }
  void add(std::string_view column, ValueWord&& cell);
  /// The row has this number, which is kept as the real next to it.
  void note_inexact(std::string_view text);
  std::int64_t rows() const { return rows_; }

  /// Gives the values their places. A column that was named and has no whole numbers, or is not
  /// there, is a UsageError. Call it once, at the end.
  void finish();

 private:
  enum class Loop { epoch, step };
  /// The place in a loop of each row, -1 where it has none.
  using Numbers = std::vector<std::int64_t>;

  LoggedSeries* column(Loop loop);
  Numbers numbers_of(const LoggedSeries& series) const;
  Numbers take_numbers(Loop loop);
  void take_times(const Numbers& epochs);
  void settle_odd_cells(LoggedSeries& series);
  void remove(const std::string& name);

  const TableColumns& columns_;
  LoggedRun& run_;
  std::int64_t rows_ = 0;
  std::int64_t twice_ = 0;  ///< cells whose row has their column already
  std::int64_t inexact_ = 0;
  std::string first_inexact_;
  int odd_columns_ = 0;
};

/// Reads a table whose first line names the columns. Missing cells are empty or NA, N/A, None,
/// null. `name` is the file in messages, safe to print. Throws UsageError if it is no such table.
void read_csv(const store::File& file, const std::string& name, const TableColumns& columns,
              LoggedRun& run);

}  // namespace flor::cli
