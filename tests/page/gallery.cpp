// A training that logs something of every kind that the page can draw. It learns nothing: what it
// logs is computed from the epoch, so that every recording of it looks the same.
//
// GALLERY_MORE=1: what a hindsight question adds. GALLERY_FAIL=1: it ends with an exception.
#include <flor/flor.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSide = 32;

/// A ring that moves over a shaded ground.
std::vector<std::uint8_t> picture(int epoch) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double far = std::hypot(x - 10.0 - epoch, y - 16.0);
      const bool ring = far > 6 && far < 9;
      pixels.push_back(static_cast<std::uint8_t>(ring ? 240 : 4 * x));
      pixels.push_back(static_cast<std::uint8_t>(ring ? 200 : 5 * y));
      pixels.push_back(static_cast<std::uint8_t>(ring ? 60 : 120));
    }
  }
  return pixels;
}

/// Where the ring is taken to be.
std::vector<std::uint8_t> mask(int epoch) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double far = std::hypot(x - 11.0 - epoch, y - 16.0);
      pixels.push_back(static_cast<std::uint8_t>(far > 5 && far < 10 ? 255 : 0));
    }
  }
  return pixels;
}

flor::Table confusion(int epoch) {
  const std::array<const char*, 4> names{"cat", "dog", "horse", "ship"};
  flor::Table table;
  for (int i = 0; i < 4; ++i) {
    table.columns.emplace_back(names[static_cast<std::size_t>(i)]);
    table.row_names.emplace_back(names[static_cast<std::size_t>(i)]);
    std::vector<double> row;
    for (int j = 0; j < 4; ++j) {
      const int wrong = std::max(i == 3 ? 0 : 2 - i, 14 - epoch - 4 * std::abs(i - j));
      row.push_back(i == j ? 50 + 6 * epoch : wrong);
    }
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 6);
  const int steps = flor::arg("steps", 20);
  const int pause_ms = flor::arg("pause_ms", 0);
  const double lr = flor::arg("lr", 0.1);
  const std::string note = flor::arg("note", std::string("as usual"));
  const bool more = std::getenv("GALLERY_MORE") != nullptr;

  std::vector<double> weights(4096, 0.0);
  std::mt19937_64 random(7);
  const auto state =
      flor::checkpoints(flor::named("weights", weights), flor::named("random", random));
  flor::log("note", note);
  for (const int epoch : flor::loop("epoch", epochs)) {
    std::normal_distribution<double> noise(0, 1);
    for (const int step : flor::loop("train", steps)) {
      const double progress = epoch + static_cast<double>(step) / steps;
      for (double& weight : weights) weight += lr * 0.1 * noise(random);
      flor::log("loss", 2.3 * std::exp(-5 * lr * progress) + 0.03 * std::abs(noise(random)));
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    flor::log("accuracy", 1 - 0.9 * std::exp(-6 * lr * (epoch + 1)));
    flor::log_histogram("weights", weights, 40);
    flor::log_image("picture", picture(epoch), kSide, kSide, 3);
    flor::log_image("mask", mask(epoch), kSide, kSide, 1);
    if (more) {
      flor::log_table("confusion", confusion(epoch));
      flor::log("norm", std::sqrt(static_cast<double>(weights.size())) * lr * (epoch + 1));
    }
    if (std::getenv("GALLERY_FAIL") && epoch == 2)
      throw std::runtime_error("the loss is not a number");
  }
  flor::log_table("scores",
                  {{"precision", "recall"}, {{0.91, 0.88}, {0.72, 0.95}}, {"small", "large"}});
  flor::log_tensor("embedding", weights, {64, 64});
}
