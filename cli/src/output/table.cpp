// Prints text in aligned columns.
#include "output/table.h"

#include "output/terminal_text.h"

#include <algorithm>

namespace flor::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kShrunkMin = 12;
/// A column that shrinks keeps this width as long as there are columns that may be left out.
constexpr std::size_t kShrunkUsual = 16;
constexpr std::uint32_t kWidest = (1U << 24) - 1;

/// Whether the text is printable ASCII, as nearly all cells are: then its width is its length.
bool is_plain(std::string_view text) {
  unsigned char other = 0;  // no early exit, so that the compiler vectorizes the loop
  for (const char c : text) other |= static_cast<unsigned char>(c < ' ' || c > '~');
  return other == 0;
}

struct Shown {
  std::string_view text;
  std::size_t width;
  Tone tone;
};

/// Appends one cell to `line`. Padding is counted in `pending` and written only before the next
/// text, so that no line ends in spaces.
void append(std::string& line, std::size_t& pending, const Shown& cell, std::size_t width,
            Align align, const Style& style) {
  std::string_view fitted = cell.text;
  std::size_t padding = width - std::min(width, cell.width);
  std::string cut;
  if (cell.width > width) {
    fitted = cut = shortened(cell.text, width);
    padding = width - display_width(fitted);
  }
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
    : columns_(std::move(columns)), hidden_(columns_.size()), header_(header == Header::shown) {
  for (const Column& column : columns_) {
    widest_.push_back(header_ ? display_width(printable(column.title)) : 0);
  }
}

void Table::add(std::string_view text, Tone tone) {
  const std::size_t before = text_.size();
  std::size_t width = text.size();
  if (is_plain(text)) {
    text_ += text;
  } else {
    const std::string safe = printable(text);
    width = display_width(safe);
    text_ += safe;
  }
  std::size_t& widest = widest_[cells_.size() % columns_.size()];
  widest = std::max(widest, width);
  const auto shown = static_cast<std::uint32_t>(std::min<std::size_t>(width, kWidest));
  cells_.push_back({static_cast<std::uint32_t>(text_.size() - before), shown & kWidest, tone});
}

void Table::reserve(std::size_t rows) {
  constexpr std::size_t kUsualRow = 128;  // bytes
  cells_.reserve(rows * columns_.size());
  text_.reserve(rows * kUsualRow);
}

void Table::hide(std::size_t column) {
  hidden_[column] = true;
  widest_[column] = 0;
}

std::vector<std::size_t> Table::fit(int width) {
  std::vector<std::size_t> left_out;
  const auto least = [&] {
    std::size_t total = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (hidden_[i]) continue;
      total += kGap + (columns_[i].shrinks ? std::min(widest_[i], kShrunkUsual) : widest_[i]);
    }
    return total - std::min(total, kGap);
  };
  while (width > 0 && least() > static_cast<std::size_t>(width)) {
    std::size_t found = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (hidden_[i] || columns_[i].spare == 0) continue;
      if (found == columns_.size() || columns_[i].spare > columns_[found].spare) found = i;
    }
    if (found == columns_.size()) break;
    hide(found);
    left_out.push_back(found);
  }
  return left_out;
}

std::vector<std::size_t> Table::widths(int terminal_width, int indent) const {
  std::vector<std::size_t> result = widest_;
  if (terminal_width <= 0) return result;
  const auto shown = static_cast<std::size_t>(std::ranges::count(hidden_, false));
  std::size_t total =
      static_cast<std::size_t>(indent) + kGap * (std::max(shown, std::size_t{1}) - 1);
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
      if (hidden_[i]) continue;
      const std::string title = printable(columns_[i].title);
      append(line, pending, {title, display_width(title), Tone::strong}, width[i],
             columns_[i].align, style);
    }
    finish();
  }
  std::size_t begin = 0, column = 0;
  for (const Cell& cell : cells_) {
    if (!hidden_[column]) {
      const auto text = std::string_view(text_).substr(begin, cell.length);
      append(line, pending, {text, cell.width, cell.tone}, width[column], columns_[column].align,
             style);
    }
    begin += cell.length;
    if (++column < columns_.size()) continue;
    finish();
    column = 0;
  }
}

}  // namespace flor::cli
