// A training whose checkpoints are copied while it goes on, and ways to break what it promised.
// --kwargs ways=NAME: "plain" does not overlap at all, "fence" fences before each update, "auto"
// leaves that to Flor, "forgets" ceases to fence; for the others see `tail`. Prints all that it
// computes.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kHidden = 400;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : first(register_module("first", torch::nn::Linear(100, kHidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(kHidden))),
        second(register_module("second", torch::nn::Linear(kHidden, kHidden))),
        last(register_module("last", torch::nn::Linear(kHidden, 3))) {}

  torch::Tensor forward(const torch::Tensor& input) {
    const auto hidden = torch::relu(norm(first(input)));
    return last(torch::dropout(torch::relu(second(hidden)), 0.3, is_training()));
  }

  torch::nn::Linear first;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear second, last;
};
TORCH_MODULE(Net);

struct Learner {
  explicit Learner(std::string how) : ways(std::move(how)) {}

  double step(bool fence) {
    raise_when_due();
    net->train();
    optimizer.zero_grad();
    const auto input = torch::randn({16, 100});
    const auto target = (input.sum(1) > 0).to(torch::kLong);
    const auto loss = torch::cross_entropy_loss(net->forward(input), target);
    loss.backward();
    if (fence) flor::fence();
    optimizer.step();
    return loss.item<double>();
  }
  double evaluate() {
    torch::NoGradGuard no_grad;
    net->eval();
    return net->forward(examples).square().sum().item<double>();
  }
  double digest() const {
    double sum = 0, weight = 1;
    for (const auto& tensor : net->parameters()) {
      sum += (weight *= 1.1) * tensor.sum().item<double>();
    }
    return sum;
  }
  float* weights() { return net->second->weight.data_ptr<float>(); }

  /// What stands right behind the training loop.
  void tail(int epoch) {
    if (epoch < 3) return;
    const torch::NoGradGuard no_grad;
    const std::int64_t count = net->second->weight.numel();
    if (ways == "in_place") net->second->weight.mul_(0.5);
    if (ways == "inference") {
      const c10::InferenceMode guard;
      net->second->weight.mul_(0.5);
    }
    if (ways == "dense_pointer") {
      for (std::int64_t i = 0; i < count; ++i) weights()[i] *= 0.5F;
    }
    if (ways == "one_element") weights()[kHidden * 3 + 7] += 0.5F;
    if (ways == "other_memory") net->second->weight.set_data(net->second->weight * 0.5);
    if (ways == "throw" && epoch == 4) throw std::runtime_error("thrown behind the loop");
    if (ways == "exit" && epoch == 4) std::exit(0);
    if (ways == "kill" && epoch == 4) ::kill(::getpid(), SIGKILL);
    if (ways == "fork") {
      const pid_t child = ::fork();
      if (child == 0) {
        flor::fence();
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
    }
  }

  std::string ways;
  Net net;
  torch::optim::Adam optimizer{net->parameters(), 1e-2};
  torch::optim::StepLR scheduler{optimizer, 2, 0.5};
  torch::Tensor examples = torch::randn({200, 100});
  /// Comes first, so that it takes a while until the next tensor is copied.
  torch::Tensor ballast = torch::zeros({ways == "one_element" ? 8 << 20 : 1});
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  torch::manual_seed(1);
  const int epochs = flor::arg("epochs", 6);
  Learner learner(flor::arg("ways", "auto"));
  const std::string& ways = learner.ways;
  auto state = ways == "plain" ? flor::checkpoints(learner.ballast, learner.net, learner.optimizer,
                                                   learner.scheduler)
                               : flor::checkpoints(learner.ballast, learner.net, learner.optimizer,
                                                   learner.scheduler, flor::overlapping);
  for (const int epoch : flor::loop("epoch", epochs)) {
    const bool fence = ways == "fence" || (ways == "forgets" && epoch < 3);
    for (const int step : flor::loop("train", 4)) {
      show("step", epoch, step, flor::log("loss", learner.step(fence)));
    }
    learner.tail(epoch);
    learner.scheduler.step();
    for (const int part : flor::loop("test", 2)) {
      show("step", epoch, part, flor::log("test_loss", learner.evaluate()));
    }
    show("tail", epoch, flor::log("digest", learner.digest()));
  }
}
