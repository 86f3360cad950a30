// Draws a picture as SVG. Texts stay texts, in the fonts of the viewer.
#include "output/terminal_text.h"
#include "plot/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace flor::cli {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

/// A length as text with at most two decimals.
std::string length(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

/// The width of a character relative to the font size, in DejaVu Sans or Verdana; other fonts that
/// a viewer may use are narrower.
double share_of(char c) {
  constexpr std::string_view kNarrow = " ijl.,:;|!'()[]ftr/-I";
  constexpr std::string_view kWide = "mwMW@%+=~<>";
  if (kNarrow.find(c) != kNarrow.npos) return 0.42;
  if (kWide.find(c) != kWide.npos) return 0.96;
  return c >= 'A' && c <= 'Z' ? 0.75 : 0.64;
}

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height) {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        length(width), length(height));
  }

  double text_width(std::string_view text, double size, bool bold) const override {
    double width = 0;
    std::size_t other = 0;
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x80) {
        width += share_of(c);
      } else {
        ++other;
      }
    }
    if (other > 0) width += static_cast<double>(display_width(text)) * 0.7;
    return width * size * (bold ? 1.12 : 1);
  }

  void text(Spot at, std::string_view text, const TextForm& form) override {
    constexpr std::array kAnchors = {"start", "middle", "end"};
    text_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>\n", length(at.x),
        length(at.y), length(form.size), hex(form.color),
        form.anchor == Anchor::start
            ? ""
            : fmt::format(" text-anchor=\"{}\"", kAnchors[static_cast<std::size_t>(form.anchor)]),
        form.bold ? " font-weight=\"bold\"" : "", escaped(text));
  }

  void line(std::span<const Spot> points, const Stroke& stroke) override {
    if (points.empty()) return;
    put_points("polyline", points);
    text_ += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", hex(stroke.color),
                         length(stroke.width));
    if (stroke.opacity < 1) text_ += fmt::format(" stroke-opacity=\"{}\"", length(stroke.opacity));
    if (stroke.dash > 0) {
      text_ += fmt::format(" stroke-dasharray=\"{} {}\"", length(stroke.dash), length(stroke.gap));
    }
    text_ += " stroke-linejoin=\"round\"/>\n";
  }

  void area(std::span<const Spot> points, Color color, double opacity) override {
    if (points.empty()) return;
    put_points("polygon", points);
    text_ += fmt::format("\" fill=\"{}\" fill-opacity=\"{}\"/>\n", hex(color), length(opacity));
  }

  void disc(Spot center, double radius, Color color) override {
    text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", length(center.x),
                         length(center.y), length(radius), hex(color));
  }

  void clip(Spot corner, double width, double height) override {
    ++clips_;
    text_ += fmt::format(
        "<clipPath id=\"clip{0}\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" "
        "height=\"{4}\"/></clipPath>\n<g clip-path=\"url(#clip{0})\">\n",
        clips_, length(corner.x), length(corner.y), length(width), length(height));
  }

  void unclip() override { text_ += "</g>\n"; }

  std::string finish() override { return std::move(text_) + "</svg>\n"; }

 private:
  void put_points(const char* shape, std::span<const Spot> points) {
    text_ += fmt::format("<{} points=\"", shape);
    for (std::size_t i = 0; i < points.size(); ++i) {
      text_ += fmt::format("{}{},{}", i ? " " : "", length(points[i].x), length(points[i].y));
    }
  }

  std::string text_;
  int clips_ = 0;
};

}  // namespace

std::unique_ptr<Canvas> make_svg(double width, double height) {
  return std::make_unique<SvgCanvas>(width, height);
}

}  // namespace flor::cli
