// The project of docs/versions.md: its model compiles at once, so that a version of it costs little.
#include <flor/flor.h>

double gradient(double weight, int step);

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const double rate = flor::arg("lr", 0.1);
  double weight = 0;
  const auto state = flor::checkpoints(weight);
  for (int epoch : flor::loop("epoch", flor::arg("epochs", 4))) {
    for (int step : flor::loop("train", 10)) {
      weight += rate * gradient(weight, step);
    }
    flor::log("weight", weight);
    (void)epoch;
  }
}
