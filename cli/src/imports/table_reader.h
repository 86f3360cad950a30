// Reads logs that are tables: CSV, and JSON lines.
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
  void remove(const std::string& name);

  const TableColumns& columns_;
  LoggedRun& run_;
  std::int64_t rows_ = 0;
};

/// Reads a table whose first line names the columns. Missing cells are empty or NA, N/A, None,
/// null. `name` is the file in messages, safe to print. Throws UsageError if it is no such table.
void read_csv(const store::File& file, const std::string& name, const TableColumns& columns,
              LoggedRun& run);

/// Reads lines with one JSON object each. Members of objects inside are columns `outer.inner`; also
/// Python's NaN and Infinity are numbers. Lines that are no object are left out, with a remark.
void read_json_lines(const store::File& file, const std::string& name, const TableColumns& columns,
                     LoggedRun& run);

}  // namespace flor::cli
