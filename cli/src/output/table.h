// Text in columns.
#pragma once

#include "output/color.h"
#include "output/stream.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

enum class Align : unsigned char { left, right };

/// Rows of cells, printed in aligned columns two spaces apart. Cells are made printable when they
/// are added. Made for a million rows: the text of all cells lies in one string.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
    /// Shortened if the row would not fit the terminal. At most one column.
    bool shrinks = false;
    /// Above 0: left out by `fit` where there is no room, the greatest number first.
    int spare = 0;
  };
  enum class Header { shown, hidden };

  explicit Table(std::vector<Column> columns, Header header = Header::shown);

  /// Adds the next cell; a row is complete when every column has one.
  void add(std::string_view text, Tone tone = Tone::plain);
  bool empty() const { return cells_.empty(); }
  /// Reserves memory for that many rows, which only saves time.
  void reserve(std::size_t rows);
  /// Leaves a column out of the printed table.
  void hide(std::size_t column);
  /// Leaves out what may be spared until the rows fit `width` columns, without limit if that is 0.
  /// Returns which columns it left out.
  std::vector<std::size_t> fit(int width);
  /// Each line begins with `indent` spaces and has none at its end.
  void print(Output& out, const Style& style, int indent = 0) const;

 private:
  struct Cell {
    std::uint32_t length;  // of its part of text_
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
