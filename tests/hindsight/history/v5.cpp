// Fits a line through noisy points, with momentum, and validates after each epoch.
#include <flor/flor.h>

#include <random>
#include <vector>

struct Model {
  std::vector<double> weights = std::vector<double>(3, 0.5);
  std::vector<double> velocity = std::vector<double>(3, 0.0);
};

double learn(Model& net, std::mt19937_64& engine, double rate) {
  double loss = 0;
  for (std::size_t i = 0; i < net.weights.size(); ++i) {
    const double noise = static_cast<double>(engine() >> 11) * 0x1p-53;
    double gradient = net.weights[i] - noise;
    net.velocity[i] = 0.9 * net.velocity[i] + gradient;
    net.weights[i] -= rate * net.velocity[i];
    loss += gradient * gradient;
  }
  return loss;
}

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 5);
  const double rate = flor::arg("lr", 0.05);
  Model net;
  std::mt19937_64 engine{7};
  const auto state = flor::checkpoints(net.weights, net.velocity, engine);
  for (int epoch : flor::loop("epoch", epochs)) {
    double sum = 0;
    for (int step : flor::loop("train", 6, flor::with(sum))) {
      const double loss = learn(net, engine, rate);
      sum += loss;
      flor::log("loss", loss);
      (void)step;
    }
    flor::log("mean", sum / 6);
    double distance = 0;
    for (int sample : flor::loop("eval", 4, flor::with(distance))) {
      const double target = 0.25 * sample;
      for (const double weight : net.weights) distance += (weight - target) * (weight - target);
    }
    flor::log("distance", distance);
    (void)epoch;
  }
}
