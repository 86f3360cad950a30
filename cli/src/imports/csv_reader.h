// Reads comma-separated values of any origin.
#pragma once

#include "imports/line_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flor::cli {

struct CsvRow {
  std::vector<std::string> fields;
  std::int64_t line = 0;   ///< on which it begins
  bool has_end = true;     ///< false for the last row of a file that does not end in a line end
  bool is_joined = false;  ///< of several lines, although a quote ends in the middle of a field
};

/// Rows by RFC 4180, with any line end: a field in quotes may have separators, line ends and
/// doubled quotes. Lines without text are passed over.
class CsvReader {
 public:
  /// The separator is the one of comma, semicolon and tab that the first line has most often.
  explicit CsvReader(const store::File& file) : lines_(file) {}

  /// Returns false after the last row. Throws UsageError, which names the line, for a row of more
  /// than `kLineMax` bytes, such as one with a quote that does not end.
  bool next(CsvRow& row);

 private:
  bool whole_row(CsvRow& row);
  void split(CsvRow& row) const;

  LineReader lines_;
  std::string row_;  ///< the bytes of the row, without its line end
  char separator_ = '\0';
};

}  // namespace flor::cli
