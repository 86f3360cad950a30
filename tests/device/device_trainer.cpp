// A training on the device that FLOR_TEST_DEVICE names, with what makes replays on a GPU delicate:
// random numbers that the device draws (data and dropout), convolutions, atomics that deterministic
// algorithms replace, batch norm. --kwargs mode=plain; bf16: parameters of two bytes; amp: automatic
// mixed precision with a loss scale that follows the gradients; overlap: copies beside the next
// step; graph: the step is captured once as a CUDA graph and launched from then on; ranks: gradients
// averaged over NCCL. Prints all that it computes; variant HINDSIGHT asks more.
#include "device_parts.h"
#include "programs/device.h"
#include "programs/raise.h"
#include "programs/show.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace {

using flor_test::Autocast;
using flor_test::Averager;
using flor_test::StepGraph;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv(register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(8))),
        table(register_module("table", torch::nn::Embedding(16, 8))),
        hidden(register_module("hidden", torch::nn::Linear(8 * 6 * 6 + 8, 64))),
        last(register_module("last", torch::nn::Linear(64, 5))) {}

  torch::Tensor forward(const torch::Tensor& pictures, const torch::Tensor& words) {
    auto x = torch::relu(norm(conv(pictures))).flatten(1);
    x = torch::cat({x, table(words).sum(1)}, 1);
    return last(torch::dropout(torch::relu(hidden(x)), 0.25, is_training()));
  }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  torch::nn::Embedding table;
  torch::nn::Linear hidden, last;
};
TORCH_MODULE(Net);

struct Batch {
  torch::Tensor pictures, words, labels;
};

struct Trainer {
  explicit Trainer(std::string how) : mode(std::move(how)) {
    net->to(device);
    if (mode == "bf16") net->to(torch::kBFloat16);
    if (mode == "graph") {
      optimizer = std::make_unique<torch::optim::SGD>(
          net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    } else {
      optimizer = std::make_unique<torch::optim::Adam>(net->parameters(), 1e-2);
    }
    if (mode == "ranks") averager = std::make_unique<Averager>(device);
    fixed = draw();
    if (mode == "graph") capture();
  }

  /// Drawn on the device, by its own generator.
  Batch draw() const {
    const auto options = torch::TensorOptions(device);
    const auto type = mode == "bf16" ? torch::kBFloat16 : torch::kFloat;
    return {torch::randn({16, 3, 8, 8}, options).to(type),
            torch::randint(16, {16, 4}, options.dtype(torch::kLong)),
            torch::randint(5, {16}, options.dtype(torch::kLong))};
  }

  double step() {
    raise_when_due();
    net->train();
    if (mode == "graph") return step_of_graph();
    optimizer->zero_grad();
    const auto loss = forward(draw());
    (mode == "amp" ? loss * scale : loss).backward();
    if (averager) averager->average(net->parameters());
    if (mode == "overlap") flor::fence();
    if (mode != "amp" || unscale()) optimizer->step();
    return loss.template item<double>();
  }
  torch::Tensor forward(const Batch& batch) {
    const Autocast autocast(mode == "amp", device);
    return torch::cross_entropy_loss(net->forward(batch.pictures, batch.words).to(torch::kFloat),
                                     batch.labels);
  }
  /// What PyTorch's GradScaler does: skips the step and halves the scale where a gradient is no
  /// number, doubles it after some good steps.
  bool unscale() {
    bool finite = true;
    for (auto& parameter : net->parameters()) {
      parameter.mutable_grad().div_(scale);
      finite = finite && torch::isfinite(parameter.grad()).all().item<bool>();
    }
    good_steps = finite ? good_steps + 1 : 0;
    if (!finite) scale /= 2;
    if (good_steps == 7) scale *= 2, good_steps = 0;
    return finite;
  }
  double step_of_graph() {
    const Batch batch = draw();
    fixed.pictures.copy_(batch.pictures);
    fixed.words.copy_(batch.words);
    fixed.labels.copy_(batch.labels);
    graph->launch();
    return graph_loss.item<double>();
  }
  /// Before the loops: the steps that warm up change the weights, which each process does alike.
  void capture() {
    net->train();
    graph = std::make_unique<StepGraph>([this] {
      for (auto& parameter : net->parameters()) {  // in place: the graph knows their memory
        if (parameter.grad().defined()) parameter.mutable_grad().zero_();
      }
      graph_loss = forward(fixed);
      graph_loss.backward();
      optimizer->step();
    });
  }
  double evaluate() {
    const torch::NoGradGuard no_grad;
    net->eval();
    return forward(fixed).item<double>();
  }
  /// The bits of all parameters and buffers, added up: two states share it only by accident.
  double digest() const {
    std::int64_t sum = 0;
    auto tensors = net->parameters();
    for (const auto& buffer : net->buffers()) tensors.push_back(buffer);
    for (const auto& tensor : tensors) {
      const auto bits = tensor.detach().reshape({-1}).view(torch::kByte).to(torch::kLong);
      const auto places = torch::arange(1, bits.numel() + 1, bits.options());
      sum = sum * 31 + (bits * places).sum().item<std::int64_t>();
    }
    return static_cast<double>(sum % (std::int64_t{1} << 50));
  }

  std::string mode;
  torch::Device device = test_device();
  Net net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::unique_ptr<Averager> averager;
  double scale = 65536;
  int good_steps = 0;
  Batch fixed;
  std::unique_ptr<StepGraph> graph;
  torch::Tensor graph_loss;
};

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 6);
  torch::manual_seed(flor::arg("seed", 1));
  Trainer trainer(flor::arg("mode", "plain"));
  std::vector<flor::Checkpoints> state;
  if (trainer.mode == "overlap") {
    state.push_back(flor::checkpoints(trainer.net, trainer.optimizer, flor::overlapping));
  } else {
    state.push_back(flor::checkpoints(trainer.net, trainer.optimizer));
  }
  state.push_back(flor::checkpoints(flor::named("scale", trainer.scale),
                                    flor::named("good_steps", trainer.good_steps),
                                    flor::named("pictures", trainer.fixed.pictures),
                                    flor::named("words", trainer.fixed.words),
                                    flor::named("labels", trainer.fixed.labels)));
  for (const int epoch : flor::loop("epoch", epochs)) {
    double sum = 0;
    for (const int step : flor::loop("train", 8, flor::with(sum))) {
      const double loss = flor::log("loss", trainer.step());
      sum += loss;
      show("step", epoch, step, loss);
#ifdef HINDSIGHT
      flor::log("gradient", trainer.net->conv->weight.grad().to(torch::kFloat).abs().max());
#endif
    }
    const double test = flor::log("test_loss", trainer.evaluate());
    show("tail", epoch, sum, test, flor::log("digest", trainer.digest()));
#ifdef HINDSIGHT
    flor::log("weights", trainer.net->hidden->weight.to(torch::kFloat).norm());
#endif
  }
}
