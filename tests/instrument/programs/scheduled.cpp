// A module in two classes, a scheduler, the best result, patience, and a history that is shown at
// the end.
#include <torch/torch.h>

#include <iostream>
#include <vector>

struct RegressorImpl : torch::nn::Module {
  explicit RegressorImpl(int64_t width)
      : hidden(register_module("hidden", torch::nn::Linear(4, width))),
        norm(register_module("norm", torch::nn::BatchNorm1d(width))),
        out(register_module("out", torch::nn::Linear(width, 1))) {}

  torch::Tensor forward(const torch::Tensor& x) { return out(torch::relu(norm(hidden(x)))); }

  torch::nn::Linear hidden;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear out;
};
TORCH_MODULE(Regressor);

double evaluate(Regressor& net, const torch::Tensor& x, const torch::Tensor& y) {
  torch::NoGradGuard no_grad;
  net->eval();
  return torch::mse_loss(net->forward(x), y).item<double>();
}

int main(int argc, char** argv) {
  const int epochs = argc > 5 ? std::atoi(argv[1]) : 6;
  torch::manual_seed(4);
  const auto x = torch::randn({128, 4});
  const auto y = x.sin().sum(1, true);

  Regressor net(12);
  auto optimizer = torch::optim::AdamW(net->parameters(), torch::optim::AdamWOptions(1e-2));
  torch::optim::StepLR scheduler(optimizer, 2, 0.5);

  double best = 1e9;
  int bad = 0;
  std::vector<double> history;
  for (int epoch = 0; epoch < epochs; epoch++) {
    net->train();
    for (int step = 0; step < 8; ++step) {
      const auto rows = torch::randint(128, {16}, torch::kLong);
      const auto loss = torch::mse_loss(net->forward(x.index_select(0, rows)), y.index_select(0, rows));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      // here: loss.item<double>()
    }
    scheduler.step();
    const double error = evaluate(net, x, y);
    history.push_back(error);
    if (error < best) {
      best = error;
      bad = 0;
    } else if (++bad > 2) {
      break;
    }
    std::cout << "epoch " << epoch << ": error " << error << ", best " << best << "\n";
  }
  std::cout << history.size() << " epochs, the first error " << history.front() << "\n";
}
