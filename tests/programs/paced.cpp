// A training of a known pace: epochs of `work` units of computing (about a microsecond each) on
// `threads` threads, and `mib` MiB of state, all of which changes in every epoch; `evaluate` units
// follow the training of each. Prints how long the loop and all evaluations took on stderr, for the
// benchmarks.
#include "show.h"

#include <flor/flor.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A unit: a chain of dependent multiplications, whose result is used.
double compute(double start, int units) {
  double x = start;
  for (int i = 0; i < units; ++i) {
    for (int j = 0; j < 250; ++j) x = x * 0.999999 + 1e-7;
  }
  return x;
}

double compute_with(int threads, double start, int units) {
  std::vector<std::jthread> others;
  std::vector<double> results(static_cast<std::size_t>(threads), 0.0);
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&results, start, units, t] {
      results[static_cast<std::size_t>(t)] = compute(start, units);
    });
  }
  results[0] = compute(start, units);
  others.clear();
  return results[0];
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 100);
  const int work = flor::arg("work", 1000);
  const int threads = flor::arg("threads", 1);
  const int mib = flor::arg("mib", 1);
  const bool nested = flor::arg("nested", true);
  const bool quiet = flor::arg("quiet", false);
  const int evaluate = flor::arg("evaluate", 0);
  constexpr std::size_t kDoubles = (std::size_t{1} << 20) / sizeof(double);

  std::vector<std::vector<double>> layers(static_cast<std::size_t>(mib));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].resize(kDoubles);
    for (std::size_t j = 0; j < kDoubles; ++j) {
      layers[i][j] = static_cast<double>((i * kDoubles + j) * 2654435761U % 1000003U) * 1e-6;
    }
  }
  double value = 0.5;
  const auto state = flor::checkpoints(flor::named("layers", layers), flor::named("value", value));
  const auto train = [&] {
    value = compute_with(threads, value, work);
    for (auto& layer : layers) layer[static_cast<std::size_t>(value * 1000) % kDoubles] += value;
  };

  using Seconds = std::chrono::duration<double>;
  Seconds evaluated{0};
  const auto began = std::chrono::steady_clock::now();
  for (const int epoch : flor::loop("epoch", epochs)) {
    if (nested) {
      for ([[maybe_unused]] const int step : flor::loop("train", 1)) train();
    } else {
      train();
    }
    if (evaluate > 0) {
      const auto start = std::chrono::steady_clock::now();
      flor::log("evaluation", compute_with(threads, value, evaluate));
      evaluated += std::chrono::steady_clock::now() - start;
    }
    if (!quiet) show("tail", epoch, flor::log("value", value));
  }
  const Seconds took = std::chrono::steady_clock::now() - began;
  std::fprintf(stderr, "loop %.4f s\n", took.count());
  if (evaluate > 0) std::fprintf(stderr, "evaluation %.4f s\n", evaluated.count());
}
