// A training of a line, with libtorch.
#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  torch::manual_seed(7);
  torch::nn::Linear line(1, 1);
  torch::optim::SGD optimizer(line->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto state = flor::checkpoints(line, optimizer);
  for (int epoch : flor::loop("epoch", 4)) {
    for ([[maybe_unused]] int step : flor::loop("train", flor::arg("steps", 10))) {
      optimizer.zero_grad();
      const auto x = torch::randn({16, 1});
      flor::log("loss", torch::mse_loss(line(x), 3 * x + 1)).backward();
      optimizer.step();
    }
    std::printf("%d %.9g\n", epoch, flor::log("total", line->weight.item<double>()));
  }
}
