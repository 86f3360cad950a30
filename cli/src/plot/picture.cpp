#include "plot/picture.h"

#include "base/late_library.h"
#include "curves/curve.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace flor::cli {
namespace {

constexpr Color kInk{0x22, 0x22, 0x22}, kFaint{0x66, 0x66, 0x66};
constexpr Color kGrid{0xe4, 0xe4, 0xe4}, kFrame{0x88, 0x88, 0x88};
/// The palette of Okabe and Ito (Color Universal Design, 2008) without yellow, which is too bright
/// on white.
constexpr std::array kColors = {Color{0x00, 0x72, 0xb2}, Color{0xd5, 0x5e, 0x00},
                                Color{0x00, 0x9e, 0x73}, Color{0xcc, 0x79, 0xa7},
                                Color{0xe6, 0x9f, 0x00}, Color{0x56, 0xb4, 0xe9},
                                Color{0x00, 0x00, 0x00}};
/// Dashes that distinguish further curves when all colours are used.
struct Dash {
  double dash, gap;
};
constexpr std::array kDashes = {Dash{0, 0}, Dash{7, 3}, Dash{2, 2.5}};

constexpr double kMargin = 14, kLabelSize = 12, kTitleSize = 14, kNoteSize = 10.5;
constexpr double kTitleRoom = 26, kAxisRoom = 24, kXLabelRoom = 20, kLegendLine = 19;
constexpr double kSampleWidth = 26;  // length of the line sample in the legend
constexpr std::size_t kLegendMax = 40, kDiscsMax = 60;

Stroke stroke_of(std::size_t look) {
  const Dash dash = kDashes[look / kColors.size() % kDashes.size()];
  return {kColors[look % kColors.size()], 1.6, 1, dash.dash, dash.gap};
}

struct LegendEntry {
  std::string label;
  std::size_t look;
};

/// The entries of the legend: one for each look, in the order of the panels.
std::vector<LegendEntry> legend_of(const Figure& figure) {
  std::vector<LegendEntry> entries;
  for (const Panel& panel : figure.panels) {
    for (const Curve& curve : panel.curves) {
      const bool known = std::ranges::any_of(
          entries, [&](const LegendEntry& entry) { return entry.look == curve.look; });
      if (!known && !curve.label.empty()) entries.push_back({curve.label, curve.look});
    }
  }
  return entries;
}

/// The legend below the panels, in as many columns as fit.
struct LegendLayout {
  std::vector<LegendEntry> entries;
  std::size_t columns = 1, lines = 0;
  double column_width = 0;
  std::size_t more = 0;  // number of entries that are not shown
};

class PictureDrawer {
 public:
  PictureDrawer(const Figure& figure, const PictureSize& size, bool png)
      : figure_(figure), width_(size.width), x_(x_range(figure), figure.x_kind, 0.01) {
    const auto make = [&](double height) {
#ifndef FLOR_HAS_PNG
      if (png) store::throw_left_out("a plot as PNG", "libcairo2-dev");
#else
      if (png) return make_png(width_, height);
#endif
      return make_svg(width_, height);
    };
    canvas_ = make(1);  // a first canvas, only to measure texts
    for (const Panel& panel : figure.panels)
      ys_.emplace_back(y_range(panel, true), figure.y_kind, 0.04);
    lay_out_legend();
    const auto panels = static_cast<double>(std::max<std::size_t>(1, figure.panels.size()));
    const double below = legend_room() + notes_room();
    const double usual = figure.panels.size() > 1 ? 250 : 400;
    height_ = size.height > 0 ? size.height : panels * usual + below;
    panel_height_ = std::max(90.0, (height_ - below - kXLabelRoom - 2 * kMargin) / panels);
    height_ = std::max(height_, panels * panel_height_ + below + kXLabelRoom + 2 * kMargin);
    left_ = kMargin + gutter();
    right_ = width_ - kMargin - 12;
    canvas_ = make(height_);
  }

  std::string draw() {
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      draw_panel(figure_.panels[i], ys_[i], kMargin + static_cast<double>(i) * panel_height_);
    }
    double y = kMargin + static_cast<double>(figure_.panels.size()) * panel_height_ + 12;
    canvas_->text({(left_ + right_) / 2, y}, figure_.x_label,
                  {kInk, kLabelSize, false, Anchor::middle});
    y += kXLabelRoom;
    draw_legend(y);
    y += legend_room();
    for (const std::string& note : figure_.notes) {
      canvas_->text({kMargin, y}, fitted(note, kNoteSize, width_ - 2 * kMargin),
                    {kFaint, kNoteSize, false, Anchor::start});
      y += kNoteSize * 1.5;
    }
    return canvas_->finish();
  }

 private:
  double plot_height() const { return panel_height_ - kTitleRoom - kAxisRoom; }
  int y_ticks() const { return std::max(3, static_cast<int>(plot_height() / 42)); }
  double legend_room() const {
    const auto lines = static_cast<double>(legend_.lines + (legend_.more ? 1 : 0));
    return lines * kLegendLine + (lines > 0 ? 6 : 0);
  }
  double notes_room() const { return static_cast<double>(figure_.notes.size()) * kNoteSize * 1.5; }

  double gutter() const {
    double widest = 20;
    for (const Scale& y : ys_) {
      for (const Tick& tick : y.ticks(y_ticks())) {
        widest = std::max(widest, canvas_->text_width(tick.label, kLabelSize, false));
      }
    }
    return widest + 8;
  }

  /// The text, shortened with "…" if it is wider than `room`.
  std::string fitted(const std::string& text, double size, double room, bool bold = false) const {
    std::size_t columns = display_width(text);
    std::string result = text;
    while (columns > 2 && canvas_->text_width(result, size, bold) > room) {
      // Cuts in proportion to the excess width, so that one or two steps suffice.
      const double share = room / canvas_->text_width(result, size, bold);
      columns =
          std::min(columns - 1, static_cast<std::size_t>(static_cast<double>(columns) * share));
      result = shortened(text, std::max<std::size_t>(columns, 2));
    }
    return result;
  }

  void lay_out_legend() {
    legend_.entries = legend_of(figure_);
    if (legend_.entries.empty()) return;
    if (legend_.entries.size() > kLegendMax) {
      legend_.more = legend_.entries.size() - kLegendMax;
      legend_.entries.resize(kLegendMax);
    }
    const double room = width_ - 2 * kMargin;
    double widest = 0;
    for (const LegendEntry& entry : legend_.entries) {
      widest = std::max(widest, canvas_->text_width(entry.label, kLabelSize, false));
    }
    widest = std::min(widest + kSampleWidth + 28, room);
    legend_.columns = std::max<std::size_t>(1, static_cast<std::size_t>(room / widest));
    legend_.columns = std::min(legend_.columns, legend_.entries.size());
    legend_.column_width = widest;
    legend_.lines = (legend_.entries.size() + legend_.columns - 1) / legend_.columns;
  }

  void draw_legend(double top) {
    for (std::size_t i = 0; i < legend_.entries.size(); ++i) {
      const LegendEntry& entry = legend_.entries[i];
      const double x = kMargin + static_cast<double>(i % legend_.columns) * legend_.column_width;
      const double y = top + static_cast<double>(i / legend_.columns) * kLegendLine + 10;
      Stroke stroke = stroke_of(entry.look);
      stroke.width = 2.2;
      const std::array sample = {Spot{x, y - 4}, Spot{x + kSampleWidth, y - 4}};
      canvas_->line(sample, stroke);
      canvas_->text({x + kSampleWidth + 7, y},
                    fitted(entry.label, kLabelSize, legend_.column_width - kSampleWidth - 16),
                    {kInk, kLabelSize, false, Anchor::start});
    }
    if (legend_.more == 0) return;
    canvas_->text({kMargin, top + static_cast<double>(legend_.lines) * kLegendLine + 10},
                  fmt::format("and {} more", legend_.more),
                  {kFaint, kLabelSize, false, Anchor::start});
  }

  double x_of(double value) const {
    return left_ + std::clamp(x_.share(value), 0.0, 1.0) * (right_ - left_);
  }

  void draw_panel(const Panel& panel, const Scale& y, double top) {
    canvas_->text({left_, top + 15}, fitted(panel.title, kTitleSize, right_ - left_, true),
                  {kInk, kTitleSize, true, Anchor::start});
    const double upper = top + kTitleRoom, lower = top + panel_height_ - kAxisRoom;
    draw_axes(y, upper, lower);
    canvas_->clip({left_, upper - 4}, right_ - left_ + 4, lower - upper + 8);
    for (const Curve& curve : panel.curves) draw_band(curve, y, upper, lower);
    for (const Curve& curve : panel.curves) {
      if (curve.unsmoothed.empty()) continue;
      Stroke faint = stroke_of(curve.look);
      faint.opacity = 0.25;
      faint.width = 1;
      draw_points(curve.unsmoothed, faint, y, upper, lower, false);
    }
    for (const Curve& curve : panel.curves) {
      draw_points(curve.points, stroke_of(curve.look), y, upper, lower, curve.doubtful);
    }
    canvas_->unclip();
    if (panel.curves.empty() || y_range(panel, true).empty()) {
      canvas_->text({(left_ + right_) / 2, (upper + lower) / 2}, "no values",
                    {kFaint, kTitleSize, false, Anchor::middle});
    }
  }

  void draw_axes(const Scale& y, double upper, double lower) {
    for (const Tick& tick : y.ticks(y_ticks())) {
      const double at = lower - y.share(tick.value) * (lower - upper);
      const std::array grid = {Spot{left_, at}, Spot{right_, at}};
      canvas_->line(grid, {kGrid, 1});
      canvas_->text({left_ - 7, at + kLabelSize * 0.36}, tick.label,
                    {kInk, kLabelSize, false, Anchor::end});
    }
    double free_from = 0;
    for (const Tick& tick : x_.ticks(std::max(2, static_cast<int>((right_ - left_) / 75)))) {
      const double at = x_of(tick.value);
      const std::array grid = {Spot{at, upper}, Spot{at, lower + 4}};
      canvas_->line(grid, {kGrid, 1});
      const double half = canvas_->text_width(tick.label, kLabelSize, false) / 2;
      const double middle = std::min(at, width_ - 4 - half);
      if (middle - half < free_from) continue;
      free_from = middle + half + 8;
      canvas_->text({middle, lower + 17}, tick.label, {kInk, kLabelSize, false, Anchor::middle});
    }
    const std::array frame = {Spot{left_, upper}, Spot{left_, lower}, Spot{right_, lower}};
    canvas_->line(frame, {kFrame, 1});
  }

  /// Draws the band from one standard deviation below the mean to one above it; gaps divide it into
  /// parts.
  void draw_band(const Curve& curve, const Scale& y, double upper, double lower) {
    constexpr double kOpacity = 0.18;
    const auto spots_of = [&](const std::vector<Point>& edge, std::size_t first, std::size_t end) {
      const std::vector<Point> part(edge.begin() + static_cast<std::ptrdiff_t>(first),
                                    edge.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<Spot> spots;
      for (const Point& point : thinned(part, x_.range().low, x_.range().high,
                                        static_cast<std::size_t>(right_ - left_))) {
        const double share = std::isinf(point.y) ? 0 : y.share(point.y);
        spots.push_back({x_of(point.x), lower - share * (lower - upper)});
      }
      return spots;
    };
    for (std::size_t first = 0, end = 0; first < curve.low.size(); first = end + 1) {
      end = first;
      while (end < curve.low.size() && !std::isnan(curve.low[end].y)) ++end;
      if (end == first) continue;
      std::vector<Spot> spots = spots_of(curve.low, first, end);
      const std::vector<Spot> above = spots_of(curve.high, first, end);
      spots.insert(spots.end(), above.rbegin(), above.rend());
      canvas_->area(spots, stroke_of(curve.look).color, kOpacity);
    }
  }

  void draw_points(const std::vector<Point>& all, const Stroke& stroke, const Scale& y,
                   double upper, double lower, bool hollow) {
    const std::vector<Point> points =
        thinned(all, x_.range().low, x_.range().high, static_cast<std::size_t>(right_ - left_) * 2);
    const bool few = points.size() <= kDiscsMax && stroke.opacity >= 1;
    std::vector<Spot> spots;
    const auto flush = [&] {
      if (spots.size() > 1 && !hollow) canvas_->line(spots, stroke);
      if (few || hollow || spots.size() == 1) {
        for (const Spot& spot : spots) draw_disc(spot, stroke, hollow);
      }
      spots.clear();
    };
    for (const Point& point : points) {
      if (std::isfinite(point.y)) {
        spots.push_back({x_of(point.x), lower - y.share(point.y) * (lower - upper)});
      } else {
        flush();
      }
    }
    flush();
  }

  void draw_disc(Spot spot, const Stroke& stroke, bool hollow) {
    const double radius = stroke.width * (hollow ? 2 : 1.5);
    canvas_->disc(spot, radius, stroke.color);
    if (hollow) canvas_->disc(spot, radius - 1, {255, 255, 255});
  }

  const Figure& figure_;
  double width_, height_ = 0, panel_height_ = 0, left_ = 0, right_ = 0;
  Scale x_;
  std::vector<Scale> ys_;
  LegendLayout legend_;
  std::unique_ptr<Canvas> canvas_;
};

std::optional<double> parse_length(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional<double>(value) : std::nullopt;
}

}  // namespace

PictureSize parse_picture_size(std::string_view text) {
  const std::size_t x = text.find('x');
  const auto width = parse_length(text.substr(0, x));
  const auto height = x == text.npos ? std::nullopt : parse_length(text.substr(x + 1));
  if (!width || !height || *width < 200 || *height < 150 || *width > 10'000 || *height > 10'000) {
    throw UsageError(fmt::format(
        "--size {} is no size: use WIDTHxHEIGHT from 200x150 to 10000x10000, as 900x500",
        printable(text)));
  }
  return {*width, *height};
}

void check_picture_name(const std::filesystem::path& file) {
  if (file.extension() == ".svg" || file.extension() == ".png") return;
  throw UsageError(fmt::format("'{}' ends in neither .svg nor .png: the ending chooses the format",
                               printable(file.string())));
}

std::string drawn_as_picture(const Figure& figure, const std::filesystem::path& file,
                             const PictureSize& size) {
  check_picture_name(file);
  return PictureDrawer(figure, size, file.extension() == ".png").draw();
}

}  // namespace flor::cli
