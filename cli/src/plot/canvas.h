// A surface for a picture: an SVG or a PNG. Lengths are in units, of one pixel in an SVG and of two
// in a PNG; y grows downwards.
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

/// A line's style. `dash` and `gap` are lengths; `dash` is 0 for an uninterrupted line.
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

/// A surface that is white until something is drawn on it.
class Canvas {
 public:
  virtual ~Canvas() = default;

  /// The width of the text, or a little more.
  virtual double text_width(std::string_view text, double size, bool bold) const = 0;
  virtual void text(Spot baseline, std::string_view text, const TextForm& form) = 0;
  /// Draws a line through all the points. Parts outside of the clipping are invisible.
  virtual void line(std::span<const Spot> points, const Stroke& stroke) = 0;
  /// Fills what the points enclose.
  virtual void area(std::span<const Spot> points, Color color, double opacity) = 0;
  virtual void disc(Spot center, double radius, Color color) = 0;
  /// Limits drawing to the rectangle until `unclip`.
  virtual void clip(Spot corner, double width, double height) = 0;
  virtual void unclip() = 0;
  /// Returns the file's content. The last call.
  virtual std::string finish() = 0;
};

std::unique_ptr<Canvas> make_svg(double width, double height);
/// Uses libcairo, which is loaded here and not linked: linking it would cost every command 3 ms.
/// Throws Error if it is not installed.
std::unique_ptr<Canvas> make_png(double width, double height);

}  // namespace flor::cli
