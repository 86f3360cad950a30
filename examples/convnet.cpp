// A convolutional network with everything that makes replaying delicate: batch norm keeps running
// statistics, dropout draws random numbers, SGD has momentum, a scheduler changes the learning
// rate, and the loop that trains changes a local variable.
//
// `--data DIR` trains on the files of MNIST; without it, digits are drawn by code.
#include "data.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>

namespace {

struct ConvNetImpl : torch::nn::Module {
  explicit ConvNetImpl(int channels)
      : conv1(torch::nn::Conv2dOptions(1, channels, 3).padding(1)),
        norm1(channels),
        conv2(torch::nn::Conv2dOptions(channels, 2 * channels, 3).padding(1)),
        norm2(2 * channels),
        dropout(0.3),
        linear(2 * channels * 7 * 7, 10) {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
    register_module("norm2", norm2);
    register_module("dropout", dropout);
    register_module("linear", linear);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm1(conv1(x))), 2);
    x = torch::max_pool2d(torch::relu(norm2(conv2(x))), 2);
    return linear(dropout(x.flatten(1)));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d norm1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d norm2;
  torch::nn::Dropout dropout;
  torch::nn::Linear linear;
};
TORCH_MODULE(ConvNet);

double evaluate(ConvNet& net, const examples::Pictures& test) {
  const torch::NoGradGuard no_grad;
  net->eval();
  return net(test.images).argmax(1).eq(test.labels).to(torch::kFloat).mean().item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const auto [train, test] =
      examples::load_pictures(examples::data_option(argc, argv), flor::arg("pictures", 6'000));

  const auto epochs = flor::arg("epochs", 6);
  torch::manual_seed(flor::arg("seed", 1));
  ConvNet net(flor::arg("channels", 16));
  torch::optim::SGD optimizer(
      net->parameters(),
      torch::optim::SGDOptions(flor::arg("lr", 0.05)).momentum(0.9).weight_decay(1e-4));
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/2, /*gamma=*/0.5);
  const auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      train, flor::arg("batch", 64));
  const auto state = flor::checkpoints(net, optimizer, scheduler);

  for (int epoch : flor::loop("epoch", epochs)) {
    net->train();
    // The loop changes this variable, which is used after it: flor::with stores it with the loop.
    double running_loss = 0;
    for (const auto& batch : flor::loop("train", *loader, flor::with(running_loss))) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(net(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      running_loss +=
          flor::log("loss", loss.item<double>()) * static_cast<double>(batch.data.size(0));
    }
    scheduler.step();
    flor::log("lr", optimizer.param_groups()[0].options().get_lr());
    const double train_loss = running_loss / static_cast<double>(*train.size());
    std::printf("epoch %d: loss %.4f, accuracy %.4f\n", epoch, flor::log("train_loss", train_loss),
                flor::log("accuracy", evaluate(net, test)));
  }
}
