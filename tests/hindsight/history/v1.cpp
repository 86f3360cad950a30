// Fits a line through noisy points.
#include <flor/flor.h>

#include <random>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 5);
  const double lr = flor::arg("lr", 0.05);
  std::vector<double> w(3, 0.5);
  std::mt19937_64 rng{7};
  const auto state = flor::checkpoints(w, rng);
  for (int epoch : flor::loop("epoch", epochs)) {
    double total = 0;
    for (int step : flor::loop("train", 6, flor::with(total))) {
      double err = 0;
      for (std::size_t i = 0; i < w.size(); ++i) {
        double g = w[i] - static_cast<double>(rng() >> 11) * 0x1p-53;
        w[i] -= lr * g;
        err += g * g;
      }
      total += err;
      flor::log("loss", err);
      (void)step;
    }
    flor::log("mean", total / 6);
    (void)epoch;
  }
}
