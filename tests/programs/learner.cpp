// A small libtorch training with everything in it that makes exact replay hard: shuffling, dropout,
// batch norm, momentum, a learning rate that a scheduler changes, buffers. --kwargs optimizer=NAME,
// forget=scheduler and forget=optimizer leave state unregistered, main=loader iterates the data
// loader as the main loop, workers=N loads in threads, accumulate=N updates after so many batches.
// Variant HINDSIGHT logs more. The program's own argument "wide" makes the model another one.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct NetImpl : torch::nn::Module {
  explicit NetImpl(std::int64_t hidden)
      : first(register_module("first", torch::nn::Linear(6, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        second(register_module("second", torch::nn::Linear(hidden, 3))) {}

  torch::Tensor forward(const torch::Tensor& input) {
    const auto hidden = torch::relu(norm(first(input)));
    return second(torch::dropout(hidden, 0.3, is_training()));
  }

  torch::nn::Linear first;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear second;
};
TORCH_MODULE(Net);

struct Points : torch::data::datasets::Dataset<Points> {
  Points() : input(torch::randn({40, 6})), target((input.sum(1) > 0).to(torch::kLong)) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {input[i], target[i]};
  }
  torch::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(input.size(0));
  }
  torch::Tensor input, target;
};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        std::vector<torch::Tensor> parameters) {
  using namespace torch::optim;
  if (name == "adam") {
    return std::make_unique<Adam>(std::move(parameters), AdamOptions(0.05).amsgrad(true));
  }
  if (name == "adamw") return std::make_unique<AdamW>(std::move(parameters), AdamWOptions(0.05));
  if (name == "rmsprop") {
    return std::make_unique<RMSprop>(std::move(parameters),
                                     RMSpropOptions(0.01).momentum(0.5).centered(true));
  }
  if (name == "adagrad") {
    return std::make_unique<Adagrad>(std::move(parameters), AdagradOptions(0.05).lr_decay(0.01));
  }
  if (name == "lbfgs") {
    return std::make_unique<LBFGS>(std::move(parameters), LBFGSOptions(0.1).max_iter(3));
  }
  return std::make_unique<SGD>(std::move(parameters),
                               SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(1e-3));
}

struct Learner {
  Learner(std::int64_t hidden, const std::string& optimizer_name)
      : net(hidden),
        optimizer(make_optimizer(optimizer_name, net->parameters())),
        scheduler(*optimizer, 2, 0.5) {}

  double step(const torch::Tensor& input, const torch::Tensor& target) {
    raise_when_due();
    net->train();
    if (accumulate > 1) return step_of_many(input, target);
    const auto loss = optimizer->step([&] {
      optimizer->zero_grad();
      auto value = torch::cross_entropy_loss(net->forward(input), target);
      value.backward();
      return value;
    });
    return loss.item<double>();
  }
  double step_of_many(const torch::Tensor& input, const torch::Tensor& target) {
    auto value = torch::cross_entropy_loss(net->forward(input), target);
    value.backward();
    if (++accumulated == accumulate) {
      optimizer->step();
      optimizer->zero_grad();
      accumulated = 0;
    }
    return value.item<double>();
  }
  double evaluate(const Points& points) {
    torch::NoGradGuard no_grad;
    net->eval();
    return torch::cross_entropy_loss(net->forward(points.input), points.target).item<double>();
  }
  /// Sums of all parameters and buffers, which no two states share by accident.
  double digest() const {
    double sum = 0, weight = 1;
    for (const auto& tensor : net->parameters())
      sum += (weight *= 1.1) * tensor.sum().item<double>();
    for (const auto& tensor : net->buffers()) {
      sum += (weight *= 1.1) * tensor.to(torch::kDouble).sum().item<double>();
    }
    return sum;
  }
  double rate() const { return optimizer->param_groups().at(0).options().get_lr(); }

  Net net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  torch::optim::StepLR scheduler;
  int accumulate = 1, accumulated = 0;
};

template <typename Loader>
void train_by_epochs(Learner& learner, Loader& loader, const Points& points, int epochs) {
  for (const int epoch : flor::loop("epoch", epochs)) {
    double sum = 0;
    int step = 0;
    for (const auto& batch : flor::loop("train", loader, flor::with(sum, step))) {
      const double loss = flor::log("loss", learner.step(batch.data, batch.target));
      sum += loss;
      show("step", epoch, step++, loss);
#ifdef HINDSIGHT
      flor::log("gradient", learner.net->first->weight.grad().abs().max());
#endif
    }
    learner.scheduler.step();
    flor::log("sum", sum);
    flor::log("rate", learner.rate());
    const double test = flor::log("test_loss", learner.evaluate(points));
    show("tail", epoch, sum, learner.rate(), test, learner.digest());
#ifdef HINDSIGHT
    flor::log("digest", learner.digest());
    flor::log_histogram("weights", learner.net->first->weight);
    flor::log_tensor("mean", learner.net->norm->running_mean);
#endif
  }
}

template <typename Loader>
void train_by_batches(Learner& learner, Loader& loader) {
  int number = 0;
  const auto state = flor::checkpoints(flor::named("number", number));
  for (const auto& batch : flor::loop("batch", loader)) {
    const double loss = flor::log("loss", learner.step(batch.data, batch.target));
    show("tail", number, loss, learner.digest());
    ++number;
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  torch::manual_seed(flor::arg("seed", 1));
  const int epochs = flor::arg("epochs", 6);
  const bool wide = argc > 1 && std::string(argv[1]) == "wide";
  const std::string forget = flor::arg("forget", "");
  const Points points;
  Learner learner(wide ? 9 : 8, flor::arg("optimizer", "sgd"));
  learner.accumulate = flor::arg("accumulate", 1);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Points(points).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(8).workers(flor::arg("workers", std::size_t{0})));
  std::vector<flor::Checkpoints> state;
  state.push_back(flor::checkpoints(learner.net));
  if (forget != "optimizer") state.push_back(flor::checkpoints(learner.optimizer));
  if (forget != "scheduler") state.push_back(flor::checkpoints(learner.scheduler));
  state.push_back(flor::checkpoints(flor::named("accumulated", learner.accumulated)));
  if (flor::arg("main", "epochs") == "loader") {
    train_by_batches(learner, *loader);
  } else {
    train_by_epochs(learner, *loader, points, epochs);
  }
}
