// A descent that logs its loss and its own level after each epoch. At a low level it takes its
// time, so that whoever watches it can judge it.
#include <flor/flor.h>

#include <chrono>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const double level = flor::arg("level", 3.0);
  const double lr = flor::arg("lr", 0.1);
  const int epochs = flor::arg("epochs", level > 2 ? 4 : 400);
  std::vector<double> weights(4, 1.0);
  const auto state = flor::checkpoints(flor::named("weights", weights));
  for ([[maybe_unused]] const int epoch : flor::loop("epoch", epochs)) {
    for (double& weight : weights) weight -= lr * weight;
    flor::log("loss", weights[0] * weights[0]);
    flor::log("first", level);
    if (level <= 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}
