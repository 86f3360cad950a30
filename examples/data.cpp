#include "data.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace examples {
namespace {

constexpr int kSide = 28;

/// Ends the program with a message, because the given data cannot be used.
[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "--data: %s\n", message.c_str());
  std::exit(1);
}

// ---------------------------------------------------------------------------------------------
// IDX files: a magic number and the sizes as big-endian integers of 32 bits, then bytes.

/// The content of `directory`/`name`, or else of `name`.gz. gzopen reads both.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& directory,
                                     const std::string& name) {
  std::filesystem::path path = directory / name;
  if (!std::filesystem::exists(path)) path += ".gz";
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (!file) fail("cannot read " + path.string());
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 1 << 16> buffer;
  int count = 0;
  while ((count = gzread(file.get(), buffer.data(), buffer.size())) > 0) {
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + count);
  }
  if (count < 0) fail(path.string() + " is damaged");
  return bytes;
}

/// The tensor in an IDX file with `rank` dimensions.
torch::Tensor read_idx(const std::filesystem::path& directory, const std::string& name,
                       std::size_t rank) {
  const std::vector<std::uint8_t> bytes = read_bytes(directory, name);
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) fail(name + " is not an IDX file");
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[at + i];
    return value;
  };
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) count *= sizes.emplace_back(number(4 + 4 * i));
  if (number(0) != static_cast<std::int64_t>(0x800 + rank) ||
      bytes.size() != header + static_cast<std::size_t>(count)) {
    fail(name + " is not an IDX file of bytes with " + std::to_string(rank) + " dimensions");
  }
  auto tensor = torch::empty(sizes, torch::kUInt8);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end(),
            tensor.data_ptr<std::uint8_t>());
  return tensor;
}

Pictures read_pictures(const std::filesystem::path& directory, const std::string& part) {
  return {read_idx(directory, part + "-images-idx3-ubyte", 3).unsqueeze(1).to(torch::kFloat) / 255,
          read_idx(directory, part + "-labels-idx1-ubyte", 1).to(torch::kLong)};
}

Split split(const Pictures& all) {
  const std::int64_t count = all.images.size(0), train = count - count / 6;
  return {.train = {all.images.slice(0, 0, train), all.labels.slice(0, 0, train)},
          .test = {all.images.slice(0, train), all.labels.slice(0, train)}};
}

// ---------------------------------------------------------------------------------------------
// Digits drawn by code. Only std::mt19937 is used: distributions differ between libraries.

using Engine = std::mt19937;

float uniform(Engine& engine, float least, float greatest) {
  return least + (greatest - least) * static_cast<float>(engine()) / 4294967296.0F;
}

struct Point {
  float x, y;
};

/// Each digit as points that a pen connects, with coordinates from 0 to 4; y grows downwards.
const std::array<std::vector<Point>, 10> kStrokes{{
    {{2, 0}, {3, 1}, {3, 3}, {2, 4}, {1, 3}, {1, 1}, {2, 0}},
    {{1.4F, 1}, {2.2F, 0}, {2.2F, 4}},
    {{1, 1}, {2, 0}, {3, 1}, {1, 4}, {3, 4}},
    {{1, 0}, {3, 0}, {2, 1.6F}, {3, 2.8F}, {2, 4}, {1, 3.5F}},
    {{2.6F, 4}, {2.6F, 0}, {1, 2.8F}, {3.2F, 2.8F}},
    {{3, 0}, {1.2F, 0}, {1, 1.8F}, {2.4F, 1.6F}, {3, 2.8F}, {2, 4}, {1, 3.6F}},
    {{2.6F, 0}, {1.2F, 2}, {1, 3.2F}, {2, 4}, {3, 3}, {2, 2.2F}, {1.1F, 2.8F}},
    {{1, 0}, {3, 0}, {1.8F, 4}},
    {{2, 2}, {1.1F, 1}, {2, 0}, {2.9F, 1}, {2, 2}, {1, 3}, {2, 4}, {3, 3}, {2, 2}},
    {{2.9F, 1.2F}, {2, 1.9F}, {1, 1}, {2, 0}, {2.9F, 1.2F}, {2.4F, 4}},
}};

float distance(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float along =
      std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy), 0.0F, 1.0F);
  return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

void draw_digit(std::size_t digit, Engine& engine, float* pixels) {
  const float angle = uniform(engine, -0.3F, 0.3F), slant = uniform(engine, -0.3F, 0.3F);
  const float width = uniform(engine, 3.5F, 6.5F), height = uniform(engine, 3.5F, 6);
  const float right = uniform(engine, 11, 17), down = uniform(engine, 11, 17);
  const float pen = uniform(engine, 0.6F, 1.8F);
  std::vector<Point> stroke;
  for (const Point point : kStrokes[digit]) {
    const float y = (point.y - 2 + uniform(engine, -0.2F, 0.2F)) * height;
    const float x = (point.x - 2 + uniform(engine, -0.2F, 0.2F)) * width + slant * y;
    stroke.push_back({right + x * std::cos(angle) - y * std::sin(angle),
                      down + x * std::sin(angle) + y * std::cos(angle)});
  }
  for (int i = 0; i < kSide * kSide; ++i) {
    const Point here{static_cast<float>(i % kSide), static_cast<float>(i / kSide)};
    float nearest = kSide;
    for (std::size_t k = 1; k < stroke.size(); ++k) {
      nearest = std::min(nearest, distance(here, stroke[k - 1], stroke[k]));
    }
    const float ink = std::clamp(1 + pen - nearest, 0.0F, 1.0F);
    pixels[i] = std::clamp(ink + uniform(engine, -0.3F, 0.3F), 0.0F, 1.0F);
  }
}

Pictures draw_digits(std::int64_t count) {
  Engine engine(1);
  auto images = torch::empty({count, 1, kSide, kSide});
  auto labels = torch::empty({count}, torch::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t digit = engine() % 10;
    draw_digit(digit, engine, images.data_ptr<float>() + i * kSide * kSide);
    labels.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(digit);
  }
  return {images, labels};
}

// ---------------------------------------------------------------------------------------------
// Text made by a grammar.

std::string make_text(std::size_t length) {
  constexpr std::array<std::string_view, 4> kArticles{"the", "a", "every", "one"};
  constexpr std::array<std::string_view, 6> kAdjectives{"old",  "quiet",   "green",
                                                        "tiny", "curious", "sleepy"};
  constexpr std::array<std::string_view, 8> kNouns{"fox",   "sailor", "river",  "teacher",
                                                   "cloud", "baker",  "garden", "clock"};
  constexpr std::array<std::string_view, 6> kVerbs{"follows", "paints", "hears",
                                                   "forgets", "meets",  "carries"};
  Engine engine(1);
  std::string text;
  const auto pick = [&](const auto& words) { text.append(words[engine() % words.size()]) += ' '; };
  const auto phrase = [&] {
    pick(kArticles);
    if (engine() % 2 == 0) pick(kAdjectives);
    pick(kNouns);
  };
  while (text.size() < length) {
    phrase();
    pick(kVerbs);
    phrase();
    text.back() = '.';
    text += engine() % 4 == 0 ? '\n' : ' ';
  }
  return text;
}

}  // namespace

std::string data_option(int argc, char** argv) {
  if (argc == 1) return {};
  if (argc == 3 && std::string_view(argv[1]) == "--data") return argv[2];
  std::fprintf(stderr, "usage: %s [--data PATH] [flags of Flor, see docs/cli.md]\n", argv[0]);
  std::exit(2);
}

torch::data::Example<> Pictures::get_batch(c10::ArrayRef<std::size_t> indices) {
  const std::vector<std::int64_t> rows(indices.begin(), indices.end());
  const auto index = torch::tensor(rows, torch::kLong);
  return {images.index_select(0, index), labels.index_select(0, index)};
}

Split load_pictures(const std::string& directory, std::int64_t count) {
  if (directory.empty()) return split(draw_digits(count));
  const std::filesystem::path images = std::filesystem::path(directory) / "train-images-idx3-ubyte";
  if (std::filesystem::exists(images) || std::filesystem::exists(images.string() + ".gz")) {
    return {.train = read_pictures(directory, "train"), .test = read_pictures(directory, "t10k")};
  }
  return split(read_pictures(directory, "t10k"));
}

torch::Tensor load_text(const std::string& file) {
  std::string text;
  if (file.empty()) {
    text = make_text(200'000);
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) fail("cannot read " + file);
    text.assign(std::istreambuf_iterator<char>(in), {});
    if (text.size() < 10'000) fail(file + " is too short: a model needs 10000 bytes to learn from");
  }
  const auto size = static_cast<std::int64_t>(text.size());
  return torch::from_blob(text.data(), {size}, torch::kUInt8).to(torch::kLong);
}

}  // namespace examples
