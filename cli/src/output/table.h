// Prints text in aligned columns.
#pragma once

#include "output/color.h"
#include "output/stream.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

using ask::Align;

/// Rows of cells, printed in aligned columns two spaces apart. `add` makes the text of a cell
/// printable. Suitable for a million rows: one string holds the text of all cells.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
    /// Shorten this column if rows do not fit the terminal. At most one column may have it.
    bool shrinks = false;
    /// Above 0: `fit` may leave this column out; it leaves out the greatest numbers first.
    int spare = 0;
  };
  enum class Header { shown, hidden };

  explicit Table(std::vector<Column> columns, Header header = Header::shown);

  /// Adds the next cell; a row is complete when every column has one.
  void add(std::string_view text, Tone tone = Tone::plain);
  bool empty() const { return cells_.empty(); }
  /// Reserves memory for this many rows, to save time.
  void reserve(std::size_t rows);
  /// Leaves a column out of the printed table.
  void hide(std::size_t column);
  /// Leaves out columns that may be spared until the rows fit `width` columns of text; 0: no limit.
  /// Returns the indices of the columns that it left out.
  std::vector<std::size_t> fit(int width);
  /// Prints the table with `indent` spaces in front of each line and no spaces at line ends.
  void print(Output& out, const Style& style, int indent = 0) const;

 private:
  struct Cell {
    std::uint32_t length;  // bytes of this cell in text_
    std::uint32_t width : 24;
    Tone tone : 8;
  };

  std::vector<std::size_t> widths(int terminal_width, int indent) const;

  std::vector<Column> columns_;
  std::vector<bool> hidden_;
  bool header_;
  std::string text_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> widest_;
};

}  // namespace flor::cli
