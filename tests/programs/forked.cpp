// A descent whose rate is another one from an epoch on: by itself (`later`, `from`), or because the
// run that did its first epochs was forked with another rate.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <cstdint>
#include <random>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const double rate = flor::arg("rate", 0.1);
  const double later = flor::arg("later", 0.0);
  const int from = flor::arg("from", 1000);
  std::vector<double> weights(64, 0.5), velocity(64, 0.0);
  std::mt19937_64 engine{11};
  const auto state =
      flor::checkpoints(flor::named("weights", weights), flor::named("velocity", velocity),
                        flor::named("engine", engine));
  flor::log("rate", rate);
  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 8))) {
    const double now = epoch >= from ? later : rate;
    double sum = 0;
    for (const int step : flor::loop("train", 5, flor::with(sum))) {
      raise_when_due();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double gradient = weights[i] - static_cast<double>(engine() >> 11) * 0x1p-53;
        velocity[i] = 0.9 * velocity[i] + gradient;
        weights[i] -= now * velocity[i];
        sum += gradient * gradient;
      }
      show("step", epoch, step, flor::log("loss", sum));
    }
    flor::log("mean", sum / 5);
#ifdef HINDSIGHT
    flor::log("first", weights[0]);
#endif
    show("tail", epoch, weights[0], weights[63]);
  }
}
