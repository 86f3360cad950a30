// What a picture is drawn on: an SVG or a PNG. Lengths in units, of which an SVG has one and a PNG
// two pixels; y grows downwards.
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

/// How a line is interrupted: lengths of dash and gap; 0 for a line that is not.
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

/// White, until something is drawn on it.
class Canvas {
 public:
  virtual ~Canvas() = default;

  /// How wide the text will be, or a little more.
  virtual double text_width(std::string_view text, double size, bool bold) const = 0;
  virtual void text(Spot baseline, std::string_view text, const TextForm& form) = 0;
  /// A line through all the points. What lies outside of the clipping is not seen.
  virtual void line(std::span<const Spot> points, const Stroke& stroke) = 0;
  virtual void disc(Spot center, double radius, Color color) = 0;
  /// What is drawn until `unclip` is seen in the rectangle only.
  virtual void clip(Spot corner, double width, double height) = 0;
  virtual void unclip() = 0;
  /// The file's content. The last call.
  virtual std::string finish() = 0;
};

std::unique_ptr<Canvas> make_svg(double width, double height);
/// Through libcairo, which is loaded here and not linked: linking it would cost every command
/// 3 ms. Throws Error where it is not installed.
std::unique_ptr<Canvas> make_png(double width, double height);

}  // namespace flor::cli
