// Fits a line through noisy points.
#include <flor/flor.h>

#include <random>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 5);
  const double rate = flor::arg("lr", 0.05);
  std::vector<double> weights(3, 0.5);
  std::mt19937_64 engine{7};
  const auto state = flor::checkpoints(weights, engine);
  for (int epoch : flor::loop("epoch", epochs)) {
    double sum = 0;
    for (int step : flor::loop("train", 6, flor::with(sum))) {
      double loss = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        double gradient = weights[i] - static_cast<double>(engine() >> 11) * 0x1p-53;
        weights[i] -= rate * gradient;
        loss += gradient * gradient;
      }
      sum += loss;
      flor::log("loss", loss);
      (void)step;
    }
    flor::log("mean", sum / 6);
    (void)epoch;
  }
}
