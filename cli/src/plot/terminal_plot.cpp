#include "plot/terminal_plot.h"

#include "curves/curve.h"
#include "output/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace flor::cli {
namespace {

constexpr int kRowsMin = 5;
constexpr int kLegendLines = 24;
/// From the palette of 256 colours: readable on dark and light backgrounds, and distinguishable by
/// colour-blind people.
constexpr std::array kInks = {33, 208, 35, 170, 37, 178, 245};
constexpr int kNoLook = -1;

/// The letter of a curve: ASCII, so that every terminal has it, one column wide.
char letter(std::size_t look) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kLetters[look % kLetters.size()];
}

std::string utf8(unsigned code) {
  std::string text;
  text += static_cast<char>(0xE0 | code >> 12);
  text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
  text += static_cast<char>(0x80 | (code & 0x3F));
  return text;
}

/// Text in colours, with an escape sequence only where the colour changes.
class Painter {
 public:
  explicit Painter(bool colored) : colored_(colored) {}

  void put(std::string_view text, int look = kNoLook) {
    if (colored_ && look != look_ && text.find_first_not_of(' ') != text.npos) {
      text_ += look == kNoLook ? std::string("\x1b[0m")
                               : fmt::format("\x1b[38;5;{}m",
                                             kInks[static_cast<std::size_t>(look) % kInks.size()]);
      look_ = look;
    }
    text_ += text;
  }
  /// Ends a line, without blanks at its end.
  void end_line() {
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    if (look_ != kNoLook) text_ += "\x1b[0m";
    look_ = kNoLook;
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  bool colored_;
  int look_ = kNoLook;
  std::string text_;
};

/// The cells of a panel. A braille cell has 2 by 4 dots, a plain cell has one.
class Grid {
 public:
  Grid(int columns, int rows, bool braille)
      : columns_(columns),
        rows_(rows),
        across_(braille ? 2 : 1),
        down_(braille ? 4 : 1),
        cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}

  int width() const { return columns_ * across_; }
  int height() const { return rows_ * down_; }

  void dot(int x, int y, int look) {
    // Unicode numbers the dots of a braille character down the columns, except those of the lowest
    // row.
    constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell& cell = at(x / across_, y / down_);
    cell.dots |= across_ == 1 ? 1 : kBits[y % 4][x % 2];
    cell.look = look;
  }

  /// Marks a dot as part of a band; sets only some dots, so that curves stay visible in it.
  void shade(int x, int y, int look) {
    Cell& cell = at(x / across_, y / down_);
    if (across_ == 1) {
      cell.shaded = true;
      cell.look = cell.dots == 0 ? look : cell.look;
    } else if ((x + 2 * y) % 4 == 0) {
      dot(x, y, look);
    }
  }

  void line(int x0, int y0, int x1, int y1, int look) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      dot(x0 + static_cast<int>(std::lround(static_cast<double>(x1 - x0) * i / steps)),
          y0 + static_cast<int>(std::lround(static_cast<double>(y1 - y0) * i / steps)), look);
    }
  }

  /// Marks a point that would hardly be visible as a single dot.
  void mark(int x, int y, int look, bool hollow) {
    dot(x, y, look);
    Cell& cell = at(x / across_, y / down_);
    cell.hollow = hollow && (cell.hollow || !cell.marked);
    cell.marked = true;
  }

  void print_row(int row, Painter& painter) const {
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                                static_cast<std::size_t>(column)];
      if (cell.dots == 0) {
        painter.put(cell.shaded ? ":" : " ", cell.shaded ? cell.look : kNoLook);
      } else if (across_ == 1) {
        painter.put(std::string(1, letter(static_cast<std::size_t>(cell.look))), cell.look);
      } else {
        painter.put(cell.marked ? cell.hollow ? "○" : "●" : utf8(0x2800 + cell.dots), cell.look);
      }
    }
  }

 private:
  struct Cell {
    unsigned dots = 0;
    int look = kNoLook;
    bool marked = false, hollow = false, shaded = false;
  };
  Cell& at(int column, int row) {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                  static_cast<std::size_t>(column)];
  }

  int columns_, rows_, across_, down_;
  std::vector<Cell> cells_;
};

struct Strokes {
  const char *left, *tick, *corner, *down, *below;
};
constexpr Strokes kDrawn{"│", "┤", "└", "─", "┬"};
constexpr Strokes kPlain{"|", "+", "+", "-", "+"};

/// Draws a figure as text, panel by panel.
class TextDrawer {
 public:
  TextDrawer(const Figure& figure, const TerminalForm& form)
      : figure_(figure),
        form_(form),
        strokes_(form.braille ? kDrawn : kPlain),
        x_(x_range(figure), figure.x_kind),
        painter_(form.colored) {
    int taken = 2;
    for (const Panel& panel : figure.panels) taken += 2 + legend_lines(panel);
    const int panels = std::max(1, static_cast<int>(figure.panels.size()));
    rows_ = std::max(kRowsMin, (form.height - taken) / panels);
    for (const Panel& panel : figure.panels) choose_y(panel);
  }

  std::string draw() {
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      const Panel& panel = figure_.panels[i];
      title(panel);
      plot(panel, ys_[i]);
      axis(i + 1 == figure_.panels.size());
      legend(panel);
    }
    return painter_.take();
  }

 private:
  struct YAxis {
    Scale scale;
    std::vector<Tick> ticks;
  };

  int legend_lines(const Panel& panel) const {
    const auto curves = static_cast<int>(panel.curves.size());
    return is_alone(panel) ? 0 : std::min(curves, kLegendLines) + (curves > kLegendLines ? 1 : 0);
  }
  static bool is_alone(const Panel& panel) {
    return panel.curves.size() == 1 && panel.curves[0].label.empty();
  }

  void choose_y(const Panel& panel) {
    Scale scale(y_range(panel, false), figure_.y_kind);
    std::vector<Tick> ticks = scale.ticks(std::max(3, rows_ / 3 + 1));
    // Wide steps may leave only one tick on the axis.
    if (ticks.size() < 2) ticks = scale.ticks(rows_ / 2 + 1);
    for (const Tick& tick : ticks) gutter_ = std::max(gutter_, static_cast<int>(tick.label.size()));
    ys_.push_back({scale, std::move(ticks)});
  }

  /// The width of the grid; two columns are reserved for the letters at the ends of the curves.
  int columns() const { return std::max(10, form_.width - gutter_ - 2 - 2); }

  void line(std::string_view text) {
    painter_.put(shortened(text, static_cast<std::size_t>(form_.width)));
    painter_.end_line();
  }

  void title(const Panel& panel) {
    std::string text = panel.title;
    if (is_alone(panel)) text += "  " + numbers(panel.curves[0]);
    if (panel.curves.empty()) text += "  no values";
    line(std::string(static_cast<std::size_t>(gutter_ + 2), ' ') + text);
  }

  static std::string numbers(const Curve& curve) {
    if (curve.doubtful) return "doubtful";
    if (curve.values.empty()) return "no values";
    return fmt::format("last {}, least {}, greatest {}", value_text(curve.last),
                       value_text(curve.values.low), value_text(curve.values.high));
  }

  int row_of(const Scale& scale, double y, int rows) const {
    const double row = (1 - scale.share(y)) * (rows - 1);
    return std::clamp(static_cast<int>(std::lround(row)), 0, rows - 1);
  }

  int column_of(double x, const Grid& grid) const {
    return static_cast<int>(std::lround(std::clamp(x_.share(x), 0.0, 1.0) * (grid.width() - 1)));
  }

  /// Draws the band between one standard deviation below the mean and one above it.
  void draw_band(const Curve& curve, const Scale& y, Grid& grid) const {
    const auto row = [&](double value) {
      return std::isinf(value) ? grid.height() - 1 : row_of(y, value, grid.height());
    };
    for (std::size_t i = 0; i < curve.low.size(); ++i) {
      if (std::isnan(curve.low[i].y)) continue;
      const bool goes_on = i + 1 < curve.low.size() && !std::isnan(curve.low[i + 1].y);
      const std::size_t next = goes_on ? i + 1 : i;
      const int first = column_of(curve.low[i].x, grid), last = column_of(curve.low[next].x, grid);
      const double steps = std::max(1, last - first);
      for (int x = first; x <= last; ++x) {
        const double share = (x - first) / steps;
        const auto between = [&](const std::vector<Point>& edge) {
          return static_cast<int>(
              std::lround(row(edge[i].y) + share * (row(edge[next].y) - row(edge[i].y))));
        };
        for (int at = between(curve.high); at <= between(curve.low); ++at) {
          grid.shade(x, at, static_cast<int>(curve.look));
        }
      }
    }
  }

  void draw_curve(const Curve& curve, const Scale& y, Grid& grid) const {
    const int look = static_cast<int>(curve.look);
    const std::vector<Point> points = thinned(curve.points, x_.range().low, x_.range().high,
                                              static_cast<std::size_t>(grid.width()));
    bool joined = false;
    int last_x = 0, last_y = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!std::isfinite(points[i].y)) {
        joined = false;
        continue;
      }
      const int x = column_of(points[i].x, grid);
      const int row = row_of(y, points[i].y, grid.height());
      const bool goes_on = i + 1 < points.size() && std::isfinite(points[i + 1].y);
      if (joined && !curve.doubtful) grid.line(last_x, last_y, x, row, look);
      if (curve.doubtful || (!joined && !goes_on)) grid.mark(x, row, look, curve.doubtful);
      joined = true;
      last_x = x;
      last_y = row;
    }
  }

  /// The rows of the curves' letters; no two letters are in one row.
  std::vector<int> letter_rows(const Panel& panel, const Scale& y) const {
    std::vector<int> of_row(static_cast<std::size_t>(rows_), kNoLook);
    if (is_alone(panel)) return of_row;
    for (const Curve& curve : panel.curves) {
      const auto last = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                     [](const Point& point) { return std::isfinite(point.y); });
      if (last == curve.points.rend()) continue;
      const int wanted = row_of(y, last->y, rows_);
      for (int off = 0; off < rows_; ++off) {
        const int below = wanted + off, above = wanted - off;
        const int free = below < rows_ && of_row[static_cast<std::size_t>(below)] == kNoLook ? below
                         : above >= 0 && of_row[static_cast<std::size_t>(above)] == kNoLook
                             ? above
                             : kNoLook;
        if (free == kNoLook) continue;
        of_row[static_cast<std::size_t>(free)] = static_cast<int>(curve.look);
        break;
      }
    }
    return of_row;
  }

  void plot(const Panel& panel, const YAxis& y) {
    Grid grid(columns(), rows_, form_.braille);
    for (const Curve& curve : panel.curves) draw_band(curve, y.scale, grid);
    for (const Curve& curve : panel.curves) draw_curve(curve, y.scale, grid);
    const std::vector<int> letters = letter_rows(panel, y.scale);
    for (int row = 0; row < rows_; ++row) {
      std::string label;
      const char* stroke = strokes_.left;
      for (const Tick& tick : y.ticks) {
        if (row_of(y.scale, tick.value, rows_) != row) continue;
        label = tick.label;
        stroke = strokes_.tick;
      }
      painter_.put(fmt::format("{:>{}} {}", label, gutter_, stroke));
      grid.print_row(row, painter_);
      if (const int look = letters[static_cast<std::size_t>(row)]; look != kNoLook) {
        painter_.put(fmt::format(" {}", letter(static_cast<std::size_t>(look))), look);
      }
      painter_.end_line();
    }
  }

  void axis(bool with_labels) {
    const int width = columns();
    std::string labels(static_cast<std::size_t>(gutter_ + 2 + width), ' ');
    std::vector<bool> marks(static_cast<std::size_t>(width), false);
    int free_from = 0;
    for (const Tick& tick : x_.ticks(std::max(2, width / 11))) {
      const int column = static_cast<int>(std::lround(x_.share(tick.value) * (width - 1)));
      if (column < 0 || column >= width) continue;
      marks[static_cast<std::size_t>(column)] = true;
      const auto size = static_cast<int>(tick.label.size());
      const int begin = std::clamp(gutter_ + 2 + column - size / 2, 0,
                                   std::max(0, static_cast<int>(labels.size()) - size));
      if (begin < free_from) continue;
      labels.replace(static_cast<std::size_t>(begin), tick.label.size(), tick.label);
      free_from = begin + size + 1;
    }
    std::string line_text = fmt::format("{:>{}} {}", "", gutter_, strokes_.corner);
    for (const bool mark : marks) line_text += mark ? strokes_.below : strokes_.down;
    painter_.put(line_text);
    painter_.end_line();
    if (!with_labels) return;
    painter_.put(labels);
    painter_.end_line();
    const auto size = static_cast<int>(figure_.x_label.size());
    line(std::string(static_cast<std::size_t>(gutter_ + 2 + std::max(0, (width - size) / 2)), ' ') +
         figure_.x_label);
  }

  void legend(const Panel& panel) {
    if (is_alone(panel)) return;
    std::size_t widest = 0, shown = 0;
    for (const Curve& curve : panel.curves) widest = std::max(widest, display_width(curve.label));
    // Cuts long labels, so that the last values fit on the line.
    widest = std::min(widest, static_cast<std::size_t>(std::max(12, form_.width - 30)));
    for (const Curve& curve : panel.curves) {
      if (shown++ == kLegendLines) break;
      painter_.put(fmt::format("  {} ", letter(curve.look)), static_cast<int>(curve.look));
      const std::string label = shortened(curve.label, widest);
      const std::string pad(widest - std::min(widest, display_width(label)), ' ');
      painter_.put(shortened(fmt::format("{}{}  {}", label, pad, numbers(curve)),
                             static_cast<std::size_t>(std::max(1, form_.width - 4))));
      painter_.end_line();
    }
    if (panel.curves.size() > kLegendLines) {
      line(fmt::format("  and {} more", panel.curves.size() - kLegendLines));
    }
  }

  const Figure& figure_;
  const TerminalForm& form_;
  const Strokes& strokes_;
  Scale x_;
  Painter painter_;
  std::vector<YAxis> ys_;
  int rows_ = kRowsMin, gutter_ = 1;
};

}  // namespace

std::string drawn_as_text(const Figure& figure, const TerminalForm& form) {
  return TextDrawer(figure, form).draw();
}

}  // namespace flor::cli
