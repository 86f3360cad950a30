// The smallest training with Flor, without libtorch: fits a line to points. Compiles in seconds.
#include <flor/flor.h>

#include <cstdio>
#include <random>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  double slope = 0, offset = 0;
  const auto state = flor::checkpoints(random, noise, slope, offset);

  for (int epoch : flor::loop("epoch", flor::arg("epochs", 5))) {
    double loss = 0;
    for (int step : flor::loop("train", 1000, flor::with(loss))) {
      const double x = (step % 100) / 50.0 - 1;
      const double error = slope * x + offset - (3 * x + 1 + noise(random));
      slope -= 0.01 * error * x;
      offset -= 0.01 * error;
      loss += error * error / 1000;
    }
    std::printf("epoch %d: loss %.4f\n", epoch, flor::log("loss", loss));
  }
}
