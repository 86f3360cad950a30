// Cross validation: a new model for each fold, whose epochs are the main loop.
#include <torch/torch.h>

#include <iostream>

int main() {
  torch::manual_seed(11);
  const auto x = torch::randn({90, 5});
  const auto y = x.sum(1, true).tanh();
  double total = 0;
  for (int fold = 0; fold < 2; ++fold) {
    const auto held_out = x.slice(0, fold * 30, fold * 30 + 30);
    auto model = std::make_shared<torch::nn::LinearImpl>(5, 1);
    torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(0.01));
    double error = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int step = 0; step < 5; ++step) {
        auto rows = torch::randint(90, {16}, torch::kLong);
        auto loss = torch::l1_loss(model->forward(x.index_select(0, rows)), y.index_select(0, rows));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        // here: loss.item<double>()
      }
      torch::NoGradGuard no_grad;
      error = torch::l1_loss(model->forward(held_out), y.slice(0, fold * 30, fold * 30 + 30)).item<double>();
      std::cout << "fold " << fold << ", epoch " << epoch << ": error " << error << '\n';
    }
    total += error;
  }
  std::cout << "mean error " << total / 2 << '\n';
}
