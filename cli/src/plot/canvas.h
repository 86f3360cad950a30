// A surface to draw a picture on: an SVG or a PNG. Lengths are in units of one pixel in an SVG, of
// two pixels in a PNG; y grows downwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

struct Spot {
  double x = 0, y = 0;
};

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// The style of a line. `dash` and `gap` are lengths; a `dash` of 0 means an uninterrupted line.
struct Stroke {
  Color color;
  double width = 1;
  double opacity = 1;
  double dash = 0, gap = 0;
};

enum class Anchor { start, middle, end };

struct TextForm {
  Color color;
  double size = 12;
  bool bold = false;
  Anchor anchor = Anchor::start;
};

/// A drawing surface, white at the beginning.
class Canvas {
 public:
  virtual ~Canvas() = default;

  /// The width of the text; may be a little too large.
  virtual double text_width(std::string_view text, double size, bool bold) const = 0;
  virtual void text(Spot baseline, std::string_view text, const TextForm& form) = 0;
  /// Draws a line through all the points. Parts outside of the clipping rectangle are invisible.
  virtual void line(std::span<const Spot> points, const Stroke& stroke) = 0;
  /// Fills the polygon of these points.
  virtual void area(std::span<const Spot> points, Color color, double opacity) = 0;
  virtual void disc(Spot center, double radius, Color color) = 0;
  /// Limits drawing to the rectangle until `unclip`.
  virtual void clip(Spot corner, double width, double height) = 0;
  virtual void unclip() = 0;
  /// Returns the file's content. No other function may be called after it.
  virtual std::string finish() = 0;
};

std::unique_ptr<Canvas> make_svg(double width, double height);
/// Loads libcairo when it is called: linking it would slow down every command by 3 ms. Throws Error
/// if it is not installed.
std::unique_ptr<Canvas> make_png(double width, double height);

}  // namespace flor::cli
