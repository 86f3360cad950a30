// Reads image files, and lists folders of images with one directory per class. Independent of
// libtorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace flor {

/// An image with 8-bit red, green and blue values for each pixel, row by row from the top.
struct Image {
  std::int64_t height = 0;  ///< in pixels
  std::int64_t width = 0;   ///< in pixels
  std::vector<std::uint8_t> pixels = {};  ///< height * width * 3 values
};

/// Reads a JPEG (with libjpeg), a PNG (with libpng), or a binary PGM or PPM with 8 bits per
/// channel. The content decides the format, not the file name. A grey value is repeated in all
/// three channels, transparency is dropped, 16-bit channels are cut to 8 bits. Throws flor::Error
/// with the file and the reason. May be called from any thread.
Image load_image(const std::filesystem::path& file);

/// Images sorted into one directory per class, as torchvision's ImageFolder expects them.
struct ImageFolder {
  std::vector<std::string> classes;                                   ///< names, sorted by bytes
  /// Path and index of the class of each image, sorted.
  std::vector<std::pair<std::filesystem::path, std::int64_t>> files;

  /// Differs between folders whose file or class names differ. Uses names relative to the root, so
  /// a folder that is moved keeps its fingerprint.
  std::string fingerprint = {};
};

/// Lists `root`/CLASS/**/FILE with the extensions .jpg, .jpeg, .png, .pgm and .ppm in upper or
/// lower case, and follows links. Throws flor::Error if there is no class, or a class without
/// images. Also throws for a file in another image format (.bmp, .gif, .tif, .tiff, .webp), since
/// it would silently be left out.
ImageFolder find_images(const std::filesystem::path& root);

}  // namespace flor
