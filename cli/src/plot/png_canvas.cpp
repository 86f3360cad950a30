// Draws a picture as PNG with libcairo and the fonts of this machine.
#include "base/late_library.h"
#include "plot/canvas.h"

#include <flor/store/error.h>

#include <cairo.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace flor::cli {
namespace {

constexpr double kPixels = 2;  // for each unit of length
constexpr const char* kFont = "DejaVu Sans";

#define FLOR_CAIRO_FUNCTIONS(F)   \
  F(image_surface_create);        \
  F(surface_destroy);             \
  F(surface_status);              \
  F(surface_write_to_png_stream); \
  F(create);                      \
  F(destroy);                     \
  F(status);                      \
  F(status_to_string);            \
  F(scale);                       \
  F(set_source_rgba);             \
  F(paint);                       \
  F(set_line_width);              \
  F(set_line_join);               \
  F(set_dash);                    \
  F(move_to);                     \
  F(line_to);                     \
  F(stroke);                      \
  F(arc);                         \
  F(fill);                        \
  F(rectangle);                   \
  F(clip);                        \
  F(save);                        \
  F(restore);                     \
  F(select_font_face);            \
  F(set_font_size);               \
  F(text_extents);                \
  F(show_text)

/// The functions of libcairo, loaded at run time.
struct Cairo {
#define FLOR_CAIRO(name) library.load(name, "cairo_" #name)
  Cairo() { FLOR_CAIRO_FUNCTIONS(FLOR_CAIRO); }
#undef FLOR_CAIRO

  // The library is never unloaded, because fontconfig, which it uses, does not survive that.
  store::LateLibrary library{
      "libcairo.so.2",
      "a PNG needs libcairo, which is not installed: install libcairo2, or write an .svg"};
#define FLOR_CAIRO(name) decltype(&cairo_##name) name = nullptr
  FLOR_CAIRO_FUNCTIONS(FLOR_CAIRO);
#undef FLOR_CAIRO
};

const Cairo& cairo() {
  static const Cairo library;
  return library;
}

cairo_status_t append(void* target, const unsigned char* bytes, unsigned count) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

class PngCanvas final : public Canvas {
 public:
  PngCanvas(double width, double height)
      : surface_(cairo().image_surface_create(CAIRO_FORMAT_RGB24,
                                              static_cast<int>(std::lround(width * kPixels)),
                                              static_cast<int>(std::lround(height * kPixels)))),
        context_(cairo().create(surface_)) {
    cairo().scale(context_, kPixels, kPixels);
    cairo().set_source_rgba(context_, 1, 1, 1, 1);
    cairo().paint(context_);
    cairo().set_line_join(context_, CAIRO_LINE_JOIN_ROUND);
  }
  ~PngCanvas() override {
    cairo().destroy(context_);
    cairo().surface_destroy(surface_);
  }
  PngCanvas(const PngCanvas&) = delete;
  PngCanvas& operator=(const PngCanvas&) = delete;

  double text_width(std::string_view text, double size, bool bold) const override {
    choose_font(size, bold);
    cairo_text_extents_t extents;
    cairo().text_extents(context_, std::string(text).c_str(), &extents);
    return extents.x_advance;
  }

  void text(Spot at, std::string_view text, const TextForm& form) override {
    const double width = text_width(text, form.size, form.bold);
    const double back = form.anchor == Anchor::start    ? 0
                        : form.anchor == Anchor::middle ? width / 2
                                                        : width;
    color(form.color, 1);
    cairo().move_to(context_, at.x - back, at.y);
    cairo().show_text(context_, std::string(text).c_str());
  }

  void line(std::span<const Spot> points, const Stroke& stroke) override {
    if (points.empty()) return;
    color(stroke.color, stroke.opacity);
    cairo().set_line_width(context_, stroke.width);
    const double dashes[] = {stroke.dash, stroke.gap};
    cairo().set_dash(context_, dashes, stroke.dash > 0 ? 2 : 0, 0);
    cairo().move_to(context_, points[0].x, points[0].y);
    for (const Spot& point : points.subspan(1)) cairo().line_to(context_, point.x, point.y);
    cairo().stroke(context_);
  }

  void area(std::span<const Spot> points, Color fill, double opacity) override {
    if (points.empty()) return;
    color(fill, opacity);
    cairo().move_to(context_, points[0].x, points[0].y);
    for (const Spot& point : points.subspan(1)) cairo().line_to(context_, point.x, point.y);
    cairo().fill(context_);
  }

  void disc(Spot center, double radius, Color fill) override {
    color(fill, 1);
    cairo().arc(context_, center.x, center.y, radius, 0, 2 * std::numbers::pi);
    cairo().fill(context_);
  }

  void clip(Spot corner, double width, double height) override {
    cairo().save(context_);
    cairo().rectangle(context_, corner.x, corner.y, width, height);
    cairo().clip(context_);
  }

  void unclip() override { cairo().restore(context_); }

  std::string finish() override {
    std::string png;
    cairo_status_t status = cairo().status(context_);
    if (status == CAIRO_STATUS_SUCCESS)
      status = cairo().surface_write_to_png_stream(surface_, append, &png);
    if (status != CAIRO_STATUS_SUCCESS) {
      throw Error(fmt::format("the picture could not be drawn: {}: try a smaller --size",
                              cairo().status_to_string(status)));
    }
    return png;
  }

 private:
  void choose_font(double size, bool bold) const {
    cairo().select_font_face(context_, kFont, CAIRO_FONT_SLANT_NORMAL,
                             bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo().set_font_size(context_, size);
  }
  void color(Color color, double opacity) {
    cairo().set_source_rgba(context_, color.red / 255.0, color.green / 255.0, color.blue / 255.0,
                            opacity);
  }

  cairo_surface_t* surface_;
  cairo_t* context_;
};

}  // namespace

std::unique_ptr<Canvas> make_png(double width, double height) {
  return std::make_unique<PngCanvas>(width, height);
}

}  // namespace flor::cli
