// Loads a checkpoint of another run into its objects, in one of several ways, and says what it has.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const std::string from = flor::arg("from", "");
  const std::string how = flor::arg("how", "all");
  std::vector<double> weights(64, 0.25), velocity(64, 1.0);
  std::vector<float> narrow(64, 2.0F);
#ifdef HINDSIGHT
  std::vector<double> teacher(64, 0.0);
  if (how == "taught") flor::load("teacher@latest", flor::named("weights", teacher));
#endif
  std::mt19937_64 engine{1};
  const auto state =
      flor::checkpoints(flor::named("weights", weights), flor::named("velocity", velocity),
                        flor::named("engine", engine));
  const auto show_state = [&](int epoch) {
    show("state", epoch, weights[0], weights[63], velocity[0], narrow[0]);
    std::fflush(stdout);
  };
  try {
    flor::Checkpoint loaded;
    if (how == "all") loaded = flor::load(from);
    if (how == "some" || how == "taught") {
      loaded = flor::load(from, flor::named("weights", weights));
    }
    if (how == "other_name") loaded = flor::load(from, flor::named("weight", weights));
    if (how == "other_type") {
      loaded = flor::load(from, flor::named("weights", weights), flor::named("velocity", narrow));
    }
    if (how == "fallback") {
      try {
        loaded = flor::load("warm@latest", flor::named("weights", weights));
      } catch (const flor::NotFound& error) {
        std::printf("loaded nothing: %s\n", error.what());
        loaded = flor::load(from, flor::named("weights", weights));
      }
    }
    if (loaded) std::printf("loaded %s\n", loaded.address().c_str());
  } catch (const flor::Error& error) {
    std::printf("refused %d: %s\n", static_cast<int>(error.status()), error.what());
  }
  if (how == "needed") flor::load("needed@latest", flor::named("weights", weights));
  show_state(-1);
  flor::save_checkpoint("loaded");
  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 3))) {
    if (how == "each") flor::load(from, flor::named("velocity", velocity));
    if (how == "own" && epoch > 0) {
      flor::load(flor::latest_checkpoint()->address(), flor::named("velocity", velocity));
    }
    for (const int step : flor::loop("train", 4)) {
      raise_when_due();
      const auto k = static_cast<std::size_t>(step);
      weights[k] += 0.5 * velocity[k] + static_cast<double>(engine() >> 11) * 0x1p-53;
      velocity[k] += 1;
      flor::log("weight", weights[k]);
    }
    show_state(epoch);
    if (how == "deploy") {
      std::vector<std::string> words{"in", "epoch", std::to_string(epoch)};
#ifdef HINDSIGHT
      words.push_back("more");
#endif
      flor::save_checkpoint("deploy", {{"weight", weights[0]}}, flor::named("weights", weights),
                            flor::named("words", words));
    }
#ifdef HINDSIGHT
    flor::log("first", weights[0]);
    if (how == "taught") {
      flor::load("teacher@0", flor::named("velocity", teacher));
      flor::log("teacher", teacher[0]);
    }
#endif
  }
  if (how == "needed_after") flor::load("needed@latest", flor::named("weights", weights));
}
