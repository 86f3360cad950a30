// A training without libtorch that the tests record, kill and replay: stochastic descent with
// momentum and a decaying learning rate on numbers that a random engine draws. Prints what it
// computes, so that a test need not believe Flor about what came out.
//
// Variants: HINDSIGHT logs more after the training loop and outside the loops, HINDSIGHT_INNER
// inside the training loop, HINDSIGHT_RANDOM logs a value that needs random numbers of its own,
// HINDSIGHT_CONTENTS the weights themselves.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Training {
  explicit Training(std::size_t size) : weights(size, 0.5), velocity(size, 0.0) {}

  double step() {
    double loss = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double noise = static_cast<double>(engine() >> 11) * 0x1p-53;
      const double gradient = weights[i] - noise;
      velocity[i] = 0.9 * velocity[i] + gradient;
      weights[i] -= rate * velocity[i];
      loss += gradient * gradient;
    }
    return loss / static_cast<double>(weights.size());
  }
  double norm() const {
    double sum = 0;
    for (const double weight : weights) sum += weight * weight;
    return std::sqrt(sum);
  }

  std::vector<double> weights, velocity;
  double rate = 0.1;
  std::mt19937_64 engine{7};
};

/// The training with all of its state registered, but for the part named `forgotten`.
std::vector<flor::Checkpoints> checkpoint(Training& training, const std::string& forgotten) {
  std::vector<flor::Checkpoints> state;
  const auto keep = [&](const char* name, auto& object) {
    if (forgotten != name) state.push_back(flor::checkpoints(flor::named(name, object)));
  };
  keep("weights", training.weights);
  keep("velocity", training.velocity);
  keep("rate", training.rate);
  keep("engine", training.engine);
  return state;
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  if (const char* directory = std::getenv("CHANGES_TO")) std::filesystem::current_path(directory);
  const int epochs = flor::arg("epochs", 6);
  const int steps = flor::arg("steps", 4);
  const int pause_ms = flor::arg("pause_ms", 0);
  Training training(flor::arg("size", std::size_t{32}));
  const auto state = checkpoint(training, flor::arg("forgotten", ""));
  flor::log("start", training.norm());
#ifdef HINDSIGHT
  flor::log("start_rate", training.rate);
#endif
  for (const int epoch : flor::loop("epoch", epochs)) {
    double sum = 0;
    for (const int step : flor::loop("train", steps, flor::with(sum))) {
      raise_when_due();
      const double loss = flor::log("loss", training.step());
      sum += loss;
      show("step", epoch, step, loss);
#ifdef HINDSIGHT_INNER
      flor::log("weight0", training.weights[0]);
#endif
      if (pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    flor::log("mean", sum / steps);
    flor::log("rate", training.rate);
    training.rate *= 0.8;
#ifdef HINDSIGHT
    flor::log("norm", training.norm());
#endif
#ifdef HINDSIGHT_RANDOM
    flor::log("sample", training.weights[training.engine() % training.weights.size()]);
#endif
#ifdef HINDSIGHT_CONTENTS
    flor::log_tensor("weights", training.weights,
                     {static_cast<std::int64_t>(training.weights.size())});
#endif
    show("tail", epoch, training.norm(), sum);
  }
  flor::log("end", training.norm());
#ifdef HINDSIGHT
  flor::log("end_rate", training.rate);
#endif
}
