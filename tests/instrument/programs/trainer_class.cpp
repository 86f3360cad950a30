// A class that trains: its members are the state, and one method has the epochs.
#include <torch/torch.h>

#include <cstdio>
#include <memory>

struct Settings {
  int epochs = 4;
  int steps = 6;
};

class Trainer {
 public:
  explicit Trainer(const Settings& settings)
      : settings_(settings),
        model_(torch::nn::Linear(3, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1)),
        optimizer_(std::make_unique<torch::optim::Adam>(model_->parameters(), 0.02)) {}

  void fit(const torch::Tensor& x, const torch::Tensor& y) {
    for (int epoch = 0; epoch < settings_.epochs; ++epoch) {
      double sum = 0;
      for (int step = 0; step < settings_.steps; ++step) {
        sum += learn(x, y);
        // here: sum
      }
      const double mean = sum / settings_.steps;
      if (mean < best_) best_ = mean;
      std::printf("epoch %d: loss %.5f, best %.5f\n", epoch, mean, best_);
    }
  }

 private:
  double learn(const torch::Tensor& x, const torch::Tensor& y) {
    auto rows = torch::randint(x.size(0), {8}, torch::kLong);
    auto loss = torch::mse_loss(model_->forward(x.index_select(0, rows)), y.index_select(0, rows));
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step();
    return loss.item<double>();
  }

  Settings settings_;
  torch::nn::Sequential model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  double best_ = 1e9;
};

int main() {
  torch::manual_seed(3);
  auto x = torch::randn({64, 3});
  auto y = x.prod(1, true);
  Trainer trainer(Settings{});
  trainer.fit(x, y);
}
