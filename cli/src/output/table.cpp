// Text in columns.
#include "output/table.h"

#include "output/text.h"

#include <algorithm>

namespace flor::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kShrunkMin = 12;

/// Of ASCII that can be shown, which is what nearly all cells are: its length is its width.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

struct Cell {
  std::string_view text;
  Tone tone;
};

/// Appends one cell to `line`; the padding in front of it is deferred in `pending`, so that no line
/// ends in spaces.
void append(std::string& line, std::size_t& pending, const Cell& cell, std::size_t width,
            Align align, const Style& style) {
  const bool fits = cell.text.size() <= width && is_plain(cell.text);
  const std::string cut = fits ? std::string() : shortened(cell.text, width);
  const std::string_view fitted = fits ? cell.text : std::string_view(cut);
  const std::size_t padding = width - std::min(width, fits ? fitted.size() : display_width(fitted));
  if (align == Align::right) pending += padding;
  if (!fitted.empty()) {
    line.append(pending, ' ');
    pending = 0;
    line += style.begin(cell.tone);
    line += fitted;
    line += style.end(cell.tone);
  }
  if (align == Align::left) pending += padding;
  pending += kGap;
}

}  // namespace

Table::Table(std::vector<Column> columns, Header header)
    : columns_(std::move(columns)), header_(header == Header::shown) {
  for (const Column& column : columns_) {
    widest_.push_back(header_ ? display_width(printable(column.title)) : 0);
  }
}

void Table::add(std::string_view text, Tone tone) {
  std::size_t& widest = widest_[ends_.size() % columns_.size()];
  if (is_plain(text)) {
    widest = std::max(widest, text.size());
    text_ += text;
  } else {
    const std::string safe = printable(text);
    widest = std::max(widest, display_width(safe));
    text_ += safe;
  }
  ends_.push_back(text_.size());
  tones_.push_back(tone);
}

std::string_view Table::cell(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

std::vector<std::size_t> Table::widths(int terminal_width, int indent) const {
  std::vector<std::size_t> result = widest_;
  if (terminal_width <= 0) return result;
  std::size_t total = static_cast<std::size_t>(indent) + kGap * (result.size() - 1);
  for (const std::size_t width : result) total += width;
  const auto room = static_cast<std::size_t>(terminal_width);
  const auto column = std::ranges::find_if(columns_, &Column::shrinks);
  if (total <= room || column == columns_.end()) return result;
  std::size_t& width = result[static_cast<std::size_t>(column - columns_.begin())];
  const std::size_t spare = total - room;
  width = std::max(std::min(width, kShrunkMin), width - std::min(width, spare));
  return result;
}

void Table::print(Output& out, const Style& style, int indent) const {
  const std::vector<std::size_t> width = widths(out.width(), indent);
  const auto margin = static_cast<std::size_t>(indent);
  std::string line;
  std::size_t pending = margin;
  const auto finish = [&] {
    line += '\n';
    out.write(line);
    line.clear();
    pending = margin;
  };
  if (header_) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string title = printable(columns_[i].title);
      append(line, pending, {title, Tone::strong}, width[i], columns_[i].align, style);
    }
    finish();
  }
  for (std::size_t index = 0; index < ends_.size(); ++index) {
    const std::size_t column = index % columns_.size();
    append(line, pending, {cell(index), tones_[index]}, width[column], columns_[column].align,
           style);
    if (column + 1 == columns_.size()) finish();
  }
}

}  // namespace flor::cli
