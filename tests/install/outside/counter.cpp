// A training of one number, without libtorch.
#include <flor/flor.h>

#include <cstdio>
#include <random>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  std::mt19937 engine(7);
  double total = 0;
  const auto state = flor::checkpoints(engine, total);
  for (int epoch : flor::loop("epoch", 4)) {
    for (int step : flor::loop("train", flor::arg("steps", 10))) {
      total += static_cast<double>(engine() % 100) / (step + 1);
      flor::log("step_total", total);
    }
    std::printf("%d %.17g\n", epoch, flor::log("total", total));
  }
}
