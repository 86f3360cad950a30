// A small libtorch training with everything in it that makes exact replay hard: shuffling, dropout,
// batch norm, momentum, a learning rate that a scheduler changes, buffers. --kwargs optimizer=NAME,
// forget=scheduler and forget=optimizer leave state unregistered, main=loader iterates the data
// loader as the main loop, workers=N loads in threads, accumulate=N updates after so many batches.
// scheduler=step|cosine|none, shuffle, dropout, norm (batch norm), early (early stopping), loops=2
// (a second main loop) and deep (loops inside the training loop, three in all) make a matrix of
// trainings. Variant HINDSIGHT logs more. The program's own argument "wide" makes the model another
// one.
#include "device.h"
#include "raise.h"
#include "show.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl(std::int64_t hidden, bool normalizes, bool drops)
      : first(register_module("first", torch::nn::Linear(6, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        second(register_module("second", torch::nn::Linear(hidden, 3))),
        with_norm(normalizes),
        with_dropout(drops) {}

  torch::Tensor forward(const torch::Tensor& input) {
    auto hidden = first(input);
    if (with_norm) hidden = norm(hidden);
    hidden = torch::relu(hidden);
    return second(with_dropout ? torch::dropout(hidden, 0.3, is_training()) : hidden);
  }

  torch::nn::Linear first;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear second;
  bool with_norm, with_dropout;
};
TORCH_MODULE(Net);

/// A scheduler of the program's own, beside the one that libtorch has.
class CosineLR : public torch::optim::LRScheduler {
 public:
  CosineLR(torch::optim::Optimizer& optimizer, unsigned period)
      : LRScheduler(optimizer), period_(period) {}

 private:
  std::vector<double> get_lrs() override {
    std::vector<double> rates = get_current_lrs();
    const double phase = static_cast<double>(step_count_ % period_) / period_;
    for (double& rate : rates) rate *= 0.6 + 0.4 * std::cos(3.14159265358979 * phase);
    return rates;
  }
  unsigned period_;
};

/// Rates stay as they are.
class ConstantLR : public torch::optim::LRScheduler {
 public:
  using LRScheduler::LRScheduler;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
};

std::unique_ptr<torch::optim::LRScheduler> make_scheduler(const std::string& name,
                                                          torch::optim::Optimizer& optimizer) {
  if (name == "cosine") return std::make_unique<CosineLR>(optimizer, 3);
  if (name == "none") return std::make_unique<ConstantLR>(optimizer);
  return std::make_unique<torch::optim::StepLR>(optimizer, 2, 0.5);
}

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
  if (name == "plain") return std::make_unique<SGD>(std::move(parameters), SGDOptions(0.1));
  return std::make_unique<SGD>(std::move(parameters),
                               SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(1e-3));
}

struct Learner {
  explicit Learner(std::int64_t hidden)
      : device(test_device()),
        net(hidden, flor::arg("norm", true), flor::arg("dropout", true)),
        name(flor::arg("optimizer", "sgd")),
        optimizer(make_optimizer(name, (net->to(device), net->parameters()))),
        scheduler(make_scheduler(flor::arg("scheduler", "step"), *optimizer)) {}

  double step(const torch::Tensor& host_input, const torch::Tensor& host_target) {
    if (!flor::catching_up()) raise_when_due();
    net->train();
    const auto input = host_input.to(device), target = host_target.to(device);
    if (accumulate > 1) return step_of_many(input, target);
    return step_of_pieces(input, target, 1);
  }
  /// The gradient is gathered from so many pieces of the batch.
  double step_of_pieces(const torch::Tensor& input, const torch::Tensor& target, int pieces) {
    const auto inputs = input.chunk(pieces), targets = target.chunk(pieces);
    const auto loss = optimizer->step([&] {
      optimizer->zero_grad();
      auto sum = torch::zeros({}, device);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        auto value = torch::cross_entropy_loss(net->forward(inputs[i]), targets[i]);
        value.backward();
        sum += value.detach();
      }
      return sum;
    });
    return loss.item<double>();
  }
  double step_of_many(const torch::Tensor& input, const torch::Tensor& target) {
    // It evaluates the loss again and again, so it has to have all of the data at once.
    if (name == "lbfgs") return step_of_pieces(input, target, input.size(0) >= 4 ? 2 : 1);
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
    const auto output = net->forward(points.input.to(device));
    return torch::cross_entropy_loss(output, points.target.to(device)).item<double>();
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

  /// The loss has not fallen by a hundredth any more.
  bool is_enough(double loss) {
    const bool better = loss < 0.99 * best;
    best = std::min(best, loss);
    stale = better ? 0 : stale + 1;
    return stale >= 2;
  }

  torch::Device device;
  Net net;
  std::string name;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::unique_ptr<torch::optim::LRScheduler> scheduler;
  int accumulate = 1, accumulated = 0;
  bool deep = false, stops_early = false;
  double best = 1e9;
  int stale = 0;
};

/// One batch, or in loops three deep each quarter of it.
double train_on(Learner& learner, const torch::Tensor& input, const torch::Tensor& target) {
  if (!learner.deep) return learner.step(input, target);
  double sum = 0;
  for (const int half : flor::loop("half", 2)) {
    for (const int piece : flor::loop("piece", 2)) {
      const auto part = static_cast<std::size_t>(2 * half + piece);
      sum += flor::log("piece_loss", learner.step(input.chunk(4)[part], target.chunk(4)[part]));
    }
  }
  return sum;
}

template <typename Loader>
void train_by_epochs(Learner& learner, Loader& loader, const Points& points, int epochs,
                     const char* name = "epoch") {
  for (const int epoch : flor::loop(name, epochs)) {
    double sum = 0;
    int step = 0;
    for (const auto& batch : flor::loop("train", loader, flor::with(sum, step))) {
      const double loss = flor::log("loss", train_on(learner, batch.data, batch.target));
      sum += loss;
      show("step", epoch, step++, loss);
#ifdef HINDSIGHT
      flor::log("gradient", learner.net->first->weight.grad().abs().max());
#endif
    }
    learner.scheduler->step();
    flor::log("sum", sum);
    flor::log("rate", learner.rate());
    const double test = flor::log("test_loss", learner.evaluate(points));
    show("tail", epoch, sum, learner.rate(), test, learner.digest());
#ifdef HINDSIGHT
    flor::log("digest", learner.digest());
    flor::log_histogram("weights", learner.net->first->weight);
    flor::log_tensor("mean", learner.net->norm->running_mean);
#endif
    if (learner.stops_early && learner.is_enough(test)) break;
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
  Learner learner(wide ? 9 : 8);
  learner.accumulate = flor::arg("accumulate", 1);
  learner.deep = flor::arg("deep", false);
  learner.stops_early = flor::arg("early", false);
  const bool shuffle = flor::arg("shuffle", true);
  const int loops = flor::arg("loops", 1);
  const auto options =
      torch::data::DataLoaderOptions(8).workers(flor::arg("workers", std::size_t{0}));
  auto data = Points(points).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(data, options);
  auto in_order =
      torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(data, options);
  std::vector<flor::Checkpoints> state;
  state.push_back(flor::checkpoints(learner.net));
  if (forget != "optimizer") state.push_back(flor::checkpoints(learner.optimizer));
  if (forget != "scheduler") state.push_back(flor::checkpoints(*learner.scheduler));
  state.push_back(flor::checkpoints(flor::named("accumulated", learner.accumulated),
                                    flor::named("best", learner.best),
                                    flor::named("stale", learner.stale)));
  if (flor::arg("main", "epochs") == "loader") {
    train_by_batches(learner, *loader);
  } else {
    const auto train = [&](int count, const char* name) {
      shuffle ? train_by_epochs(learner, *loader, points, count, name)
              : train_by_epochs(learner, *in_order, points, count, name);
    };
    train(epochs, "epoch");
    if (loops > 1) train(2, "refine");
  }
}
