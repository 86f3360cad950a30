#include <flor/data/images.h>

#include <flor/data/sample_order.h>
#include <flor/store/error.h>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>
#include <stdio.h>  // jpeglib.h needs it before

#include <algorithm>
#include <array>
#include <cctype>
#include <csetjmp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

namespace flor {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kChannels = 3;
/// Limits the memory that a false header can cost: 2^28 pixels are 16384 by 16384.
constexpr std::int64_t kPixelsMax = std::int64_t{1} << 28;

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw Error("cannot read the picture " + file.string() + ": " + why);
}

Bytes content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, "it cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
}

Image make_image(const fs::path& file, std::int64_t height, std::int64_t width) {
  if (height <= 0 || width <= 0 || height > kPixelsMax / width) {
    fail(file, "it says that it is " + std::to_string(width) + " by " + std::to_string(height) +
                   " pixels");
  }
  return {.height = height,
          .width = width,
          .pixels = Bytes(static_cast<std::size_t>(height * width * kChannels))};
}

// JPEG --------------------------------------------------------------------------------------------

/// How libjpeg reports an error: by a function that must not return, and so jumps back here.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> message;
};

extern "C" {
[[noreturn]] static void jpeg_failed(j_common_ptr decoder) {
  auto* errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->back, 1);
}
/// Turns two warnings (levels below 0) into errors. They mean that data is missing, which libjpeg
/// would fill with grey.
static void jpeg_message(j_common_ptr decoder, int level) {
  const int code = decoder->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) jpeg_failed(decoder);
}
}

/// Between setjmp and the end there must be no object with a destructor, since a jump would skip
/// it. So all memory belongs to the caller.
bool decode_jpeg(const Bytes& bytes, JpegErrors& errors, jpeg_decompress_struct& decoder,
                 bool (*allocate)(void*, unsigned height, unsigned width), void* image,
                 std::uint8_t* (*row)(void*, unsigned)) {
  if (setjmp(errors.back)) return false;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, bytes.data(), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(&decoder);
  if (!allocate(image, decoder.output_height, decoder.output_width)) return true;
  jpeg_start_decompress(&decoder);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW line = row(image, decoder.output_scanline);
    jpeg_read_scanlines(&decoder, &line, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

Image read_jpeg(const fs::path& file, const Bytes& bytes) {
  struct Target {
    const fs::path& file;
    Image image;
    std::exception_ptr error;
  } target{file, {}, {}};
  JpegErrors errors{};
  jpeg_decompress_struct decoder{};
  decoder.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jpeg_failed;
  errors.manager.emit_message = jpeg_message;
  const auto allocate = [](void* to, unsigned height, unsigned width) {
    auto* into = static_cast<Target*>(to);
    try {  // exceptions must not pass through C
      into->image = make_image(into->file, height, width);
      return true;
    } catch (...) {
      into->error = std::current_exception();
      return false;
    }
  };
  const auto row = [](void* to, unsigned line) {
    Image& image = static_cast<Target*>(to)->image;
    return &image.pixels[static_cast<std::size_t>(line) *
                         static_cast<std::size_t>(image.width * kChannels)];
  };
  const bool done = decode_jpeg(bytes, errors, decoder, allocate, &target, row);
  jpeg_destroy_decompress(&decoder);
  if (!done) fail(file, errors.message.data());
  if (target.error) std::rethrow_exception(target.error);
  return std::move(target.image);
}

// PNG ---------------------------------------------------------------------------------------------

Image read_png(const fs::path& file, const Bytes& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> owner(&png, &png_image_free);
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) {
    fail(file, png.message);
  }
  // With RGBA transparent pixels keep their colours; with RGB they would be blended with black.
  png.format = PNG_FORMAT_RGBA;
  Image image = make_image(file, png.height, png.width);
  Bytes rgba(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, rgba.data(), 0, nullptr)) fail(file, png.message);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) {
    std::copy_n(&rgba[4 * i], 3, &image.pixels[3 * i]);
  }
  return image;
}

// PGM and PPM -------------------------------------------------------------------------------------

/// The next number in the header, after spaces and comments.
std::int64_t netpbm_number(const fs::path& file, const Bytes& bytes, std::size_t& at) {
  while (at < bytes.size() && (std::isspace(bytes[at]) || bytes[at] == '#')) {
    if (bytes[at++] != '#') continue;
    while (at < bytes.size() && bytes[at] != '\n') ++at;
  }
  std::int64_t number = 0;
  const std::size_t begin = at;
  for (; at < bytes.size() && std::isdigit(bytes[at]) && number < kPixelsMax; ++at) {
    number = 10 * number + (bytes[at] - '0');
  }
  if (at == begin) fail(file, "its header is damaged");
  return number;
}

Image read_netpbm(const fs::path& file, const Bytes& bytes) {
  const std::size_t channels = bytes[1] == '6' ? 3 : 1;
  std::size_t at = 2;
  const std::int64_t width = netpbm_number(file, bytes, at);
  const std::int64_t height = netpbm_number(file, bytes, at);
  if (netpbm_number(file, bytes, at) != 255) fail(file, "it does not have 8 bits a channel");
  ++at;  // skips the one space after the header
  Image image = make_image(file, height, width);
  const std::size_t pixels = image.pixels.size() / 3;
  if (bytes.size() < at + pixels * channels) fail(file, "it is cut off");
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = bytes[at + (channels == 3 ? i : i / 3)];
  }
  return image;
}

// Folders -----------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kKnown{".jpg", ".jpeg", ".png", ".pgm", ".ppm"};
constexpr std::array<std::string_view, 5> kUnknown{".bmp", ".gif", ".tif", ".tiff", ".webp"};

std::string extension_of(const fs::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

std::vector<fs::path> pictures_in(const fs::path& directory) {
  std::vector<fs::path> files;
  constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(directory, kFollow)) {
    if (!entry.is_regular_file()) continue;
    const std::string extension = extension_of(entry.path());
    if (std::ranges::find(kUnknown, extension) != kUnknown.end()) {
      throw Error(entry.path().string() + " is a picture of a format that is not read (" +
                  extension + "): convert it to .png, or move it away");
    }
    if (std::ranges::find(kKnown, extension) != kKnown.end()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw Error("the class " + directory.string() +
                " has no pictures (.jpg, .jpeg, .png, .pgm, "
                ".ppm): remove the directory or add some");
  }
  return files;
}

}  // namespace

Image load_image(const fs::path& file) {
  const Bytes bytes = content_of(file);
  const auto begins = [&](std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (begins("\xFF\xD8\xFF")) return read_jpeg(file, bytes);
  if (begins("\x89PNG")) return read_png(file, bytes);
  if (begins("P5") || begins("P6")) return read_netpbm(file, bytes);
  fail(file, bytes.empty() ? "it is empty" : "it is no JPEG, PNG, PGM or PPM");
}

ImageFolder find_images(const fs::path& root) {
  ImageFolder folder;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (entry.is_directory()) folder.classes.push_back(entry.path().filename().string());
  }
  if (error) throw Error("cannot list " + root.string() + ": " + error.message());
  if (folder.classes.empty()) {
    throw Error("there is no directory in " + root.string() + ": each class needs one");
  }
  std::ranges::sort(folder.classes);
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < folder.classes.size(); ++i) {
    for (fs::path& file : pictures_in(root / folder.classes[i])) {
      for (const char c : file.lexically_relative(root).string() + "\n") {
        digest = detail::mix64(digest ^ static_cast<std::uint8_t>(c));
      }
      folder.files.emplace_back(std::move(file), static_cast<std::int64_t>(i));
    }
  }
  folder.fingerprint = std::to_string(folder.files.size()) + " files " + std::to_string(digest);
  return folder;
}

}  // namespace flor
