// Pictures in files, and folders of them, one a class. Knows nothing of libtorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace flor {

/// Red, green and blue of each pixel, 8 bits each, row by row from the top.
struct Image {
  std::int64_t height = 0;  ///< in pixels
  std::int64_t width = 0;   ///< in pixels
  std::vector<std::uint8_t> pixels = {};  ///< height * width * 3
};

/// Reads a JPEG (by libjpeg), a PNG (by libpng), or a binary PGM or PPM of 8 bits, by its content,
/// whatever its name. Grey is repeated in the three channels, transparency is dropped, 16 bits are
/// cut to 8. Throws flor::Error with the file and the reason. Any thread.
Image load_image(const std::filesystem::path& file);

/// Pictures sorted into one directory a class, as torchvision's ImageFolder has them.
struct ImageFolder {
  std::vector<std::string> classes;                                   ///< sorted by bytes
  std::vector<std::pair<std::filesystem::path, std::int64_t>> files;  ///< with the class, sorted

  /// Differs where the names of the files or classes differ; relative to the root.
  std::string fingerprint = {};
};

/// Lists `root`/CLASS/**/FILE with the extensions .jpg, .jpeg, .png, .pgm and .ppm in any case.
/// Follows links. Throws flor::Error if there is no class, a class without pictures, or a file with
/// the extension of another picture format (.bmp, .gif, .tif, .tiff, .webp), which would be missed.
ImageFolder find_images(const std::filesystem::path& root);

}  // namespace flor
