// A training that can be killed at any moment and started again with the same command line:
//
//   resume --flor resume --flor_resume auto --flor_every_steps 50
//
// Each start continues where the recorded run ends, even in the middle of an epoch. The sampler
// keeps track of the pictures that have been used; `flor audit` counts them in the record.
#include "data.h"

#include <flor/data/samplers.h>
#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const auto [train, test] =
      examples::load_pictures(examples::data_option(argc, argv), flor::arg("pictures", 12'000));
  const auto epochs = flor::arg("epochs", 6);
  const auto batch_size = flor::arg("batch", 64);
  torch::manual_seed(flor::arg("seed", 1));
  torch::nn::Sequential net(torch::nn::Flatten(), torch::nn::Linear(28 * 28, 256),
                            torch::nn::ReLU(), torch::nn::Dropout(0.2), torch::nn::Linear(256, 10));
  torch::optim::SGD optimizer(net->parameters(),
                              torch::optim::SGDOptions(flor::arg("lr", 0.05)).momentum(0.9));

  flor::InterruptibleSampler sampler(*train.size(), {.seed = 1});
  const auto loader = torch::data::make_data_loader(train, sampler, batch_size);
  const auto state = flor::checkpoints(net, optimizer, sampler);

  for (int epoch : flor::loop("epoch", epochs)) {
    sampler.set_epoch(epoch);
    net->train();
    for (const auto& batch : flor::loop("train", *loader)) {
      optimizer.zero_grad();
      const auto loss =
          torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      sampler.advance();  // this batch has been used
      flor::log("loss", loss);
    }
    const torch::NoGradGuard no_grad;
    net->eval();
    const auto correct = net->forward(test.images).argmax(1).eq(test.labels).to(torch::kFloat);
    std::printf("epoch %d: accuracy %.4f\n", epoch,
                flor::log("accuracy", correct.mean().item<double>()));
  }
}
