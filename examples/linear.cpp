// A first program with Flor: a small network learns to read digits. Record a training; then ask for
// something that it did not log, and replay it:
//
//   linear --flor linear                   (train and record)
//   linear --replay_flor                   (after adding a log statement and rebuilding)
//
// `--data DIR` trains on the files of MNIST; without it, digits are drawn by code.
#include "data.h"

#include <flor/flor.h>
#include <flor/torch.h>

// These parts of <torch/torch.h> suffice here, and compile in two thirds of its time.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <cstdio>

namespace {

torch::nn::Sequential make_net(int hidden) {
  return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(28 * 28, hidden),
                               torch::nn::ReLU(), torch::nn::Dropout(0.2),
                               torch::nn::Linear(hidden, hidden), torch::nn::ReLU(),
                               torch::nn::Dropout(0.2), torch::nn::Linear(hidden, 10));
}

/// For each picture, the digit that the network recognizes in it.
torch::Tensor predict(torch::nn::Sequential& net, const torch::Tensor& images) {
  const torch::NoGradGuard no_grad;
  net->eval();
  return net->forward(images).argmax(1);
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);  // takes Flor's flags out of argv
  const auto [train, test] =
      examples::load_pictures(examples::data_option(argc, argv), flor::arg("pictures", 12'000));

  const auto epochs = flor::arg("epochs", 8);
  torch::manual_seed(flor::arg("seed", 1));
  auto net = make_net(flor::arg("hidden", 512));
  torch::optim::Adam optimizer(net->parameters(), flor::arg("lr", 1e-3));
  const auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      train, flor::arg("batch", 64));
  const auto state = flor::checkpoints(net, optimizer);  // what training changes

  for (int epoch : flor::loop("epoch", epochs)) {
    net->train();
    for (const auto& batch : flor::loop("train", *loader)) {
      optimizer.zero_grad();
      const auto loss = torch::cross_entropy_loss(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      flor::log("loss", loss);
    }
    const auto predicted = predict(net, test.images);
    const auto correct = predicted.eq(test.labels).to(torch::kFloat).mean().item<double>();
    std::printf("epoch %d: accuracy %.4f\n", epoch, flor::log("accuracy", correct));
  }
}
