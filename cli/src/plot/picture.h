// Draws a figure as a picture: dark text on white, in colours that colour-blind people can tell
// apart.
#pragma once

#include "plot/canvas.h"
#include "plot/figure.h"

#include <filesystem>
#include <string>

namespace flor::cli {

/// The size of a picture, in units of one pixel in an SVG, of two pixels in a PNG.
struct PictureSize {
  double width = 900, height = 0;  ///< 0: the height that panels and legend need
};
/// Parses "1200x600"; throws UsageError for anything else, and for less than 200x150 or more than
/// 10000x10000.
PictureSize parse_picture_size(std::string_view text);

/// Returns the content of an .svg or .png file, as the extension of `file` says; throws UsageError
/// for other extensions.
std::string drawn_as_picture(const Figure& figure, const std::filesystem::path& file,
                             const PictureSize& size);
void check_picture_name(const std::filesystem::path& file);

}  // namespace flor::cli
