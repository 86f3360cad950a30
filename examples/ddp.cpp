// Distributed data parallel: two or more processes train one network, each on its own share of the
// digits, and average their gradients over c10d (with gloo here; with NCCL on GPUs):
//
//   for rank in 0 1; do
//     RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 ddp --flor ddp &
//   done; wait
//   flor replay ddp --workers 1               (each worker starts both ranks)
//   flor replay ddp --rank 0                  (rank 0 alone, if it needs no other rank)
//
// Without RANK and WORLD_SIZE it trains in a single process.
#include "data.h"
#include "meeting.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

/// The processes that train together, with the numbers that the launcher gave them. They connect
/// when they first exchange something, so a replay that skips the training needs no other rank.
class Ranks {
 public:
  const int rank = std::stoi(variable("RANK", "0"));
  const int world = std::stoi(variable("WORLD_SIZE", "1"));

  void average_gradients(const std::vector<torch::Tensor>& parameters) {
    if (world == 1) return;
    if (!group_) meet();
    std::vector<torch::Tensor> pieces;
    for (const auto& parameter : parameters) pieces.push_back(parameter.grad().flatten());
    std::vector<torch::Tensor> all{torch::cat(pieces)};
    group_->allreduce(all)->wait();
    std::int64_t at = 0;
    for (const auto& parameter : parameters) {
      const auto count = parameter.numel();
      parameter.grad().copy_(all[0].slice(0, at, at + count).view_as(parameter.grad()).div(world));
      at += count;
    }
  }

 private:
  /// Connects the ranks. A rank that dies is noticed within a minute, and the group can be resumed.
  void meet() {
    group_ = examples::meet({.rank = rank,
                             .world = world,
                             .port = std::stoi(variable("MASTER_PORT", "29500")),
                             .host = variable("MASTER_ADDR", "127.0.0.1"),
                             .own = variable("GLOO_HOST", "127.0.0.1"),
                             .patience = std::chrono::seconds(60)});
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

torch::nn::Sequential make_net(int hidden) {
  return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(28 * 28, hidden),
                               torch::nn::ReLU(), torch::nn::Dropout(0.2),
                               torch::nn::Linear(hidden, 10));
}

double accuracy(torch::nn::Sequential& net, const examples::Pictures& test) {
  const torch::NoGradGuard no_grad;
  net->eval();
  const auto predicted = net->forward(test.images).argmax(1);
  return predicted.eq(test.labels).to(torch::kFloat).mean().item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  Ranks ranks;
  const auto [train, test] =
      examples::load_pictures(examples::data_option(argc, argv), flor::arg("pictures", 6'000));

  const auto epochs = flor::arg("epochs", 4);
  const int seed = flor::arg("seed", 1);
  torch::manual_seed(seed);  // the same initial network in all ranks
  auto net = make_net(flor::arg("hidden", 128));
  torch::optim::Adam optimizer(net->parameters(), flor::arg("lr", 1e-3));
  torch::manual_seed(seed + ranks.rank);  // different dropout masks in each rank
  // Shares of equal size, so that all ranks have equally many batches.
  torch::data::samplers::DistributedRandomSampler sampler(
      train.size().value(), static_cast<std::size_t>(ranks.world),
      static_cast<std::size_t>(ranks.rank), false);
  const auto batch_size = flor::arg("batch", 64);
  const auto state = flor::checkpoints(net, optimizer);

  for (int epoch : flor::loop("epoch", epochs)) {
    net->train();
    sampler.set_epoch(static_cast<std::size_t>(epoch));  // the order of the pictures depends on it
    const auto loader = torch::data::make_data_loader(train, sampler, batch_size);
    for (const auto& batch : flor::loop("train", *loader)) {
      optimizer.zero_grad();
      const auto loss =
          torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      ranks.average_gradients(net->parameters());
      optimizer.step();
      flor::log("loss", loss);
    }
    std::printf("epoch %d: accuracy %.4f\n", epoch, flor::log("accuracy", accuracy(net, test)));
  }
}
