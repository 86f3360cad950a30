// Fits a line through noisy points, with momentum. The training is a function of its own.
#include <flor/flor.h>

#include <random>
#include <vector>

struct Model {
  std::vector<double> weights = std::vector<double>(3, 0.5);
  std::vector<double> velocity = std::vector<double>(3, 0.0);
};

double learn(Model& model, std::mt19937_64& engine, double rate) {
  double loss = 0;
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    const double noise = static_cast<double>(engine() >> 11) * 0x1p-53;
    double gradient = model.weights[i] - noise;
    model.velocity[i] = 0.9 * model.velocity[i] + gradient;
    model.weights[i] -= rate * model.velocity[i];
    loss += gradient * gradient;
  }
  return loss;
}

double train(Model& model, std::mt19937_64& engine, double rate) {
  double sum = 0;
  for (int step : flor::loop("train", 6, flor::with(sum))) {
    const double loss = learn(model, engine, rate);
    sum += loss;
    flor::log("loss", loss);
    (void)step;
  }
  return sum;
}

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 5);
  const double rate = flor::arg("lr", 0.05);
  Model model;
  std::mt19937_64 engine{7};
  const auto state = flor::checkpoints(model.weights, model.velocity, engine);
  for (int epoch : flor::loop("epoch", epochs)) {
    const double sum = train(model, engine, rate);
    flor::log("mean", sum / 6);
    (void)epoch;
  }
}
