// A figure as a picture: dark text on white, colours that colour-blind people tell apart.
#pragma once

#include "plot/canvas.h"
#include "plot/figure.h"

#include <filesystem>
#include <string>

namespace flor::cli {

/// A size in units, of one pixel in an SVG and of two in a PNG.
struct PictureSize {
  double width = 900, height = 0;  ///< 0: as needed for the number of panels and the legend
};
/// Parses "1200x600"; UsageError for anything else, and for less than 200x150 or more than
/// 10000x10000.
PictureSize parse_picture_size(std::string_view text);

/// The content of an .svg or a .png, by the ending of `file`; UsageError for others.
std::string drawn_as_picture(const Figure& figure, const std::filesystem::path& file,
                             const PictureSize& size);
void check_picture_name(const std::filesystem::path& file);

}  // namespace flor::cli
