// Several processes train one network, save it together, and continue with any number of processes:
//
//   for rank in 0 1; do
//     RANK=$rank WORLD_SIZE=2 MASTER_PORT=29501 ./distributed --out out --flor distributed &
//   done; wait
//
// Kill them, and start one, two or four again: every picture is still used exactly once in each
// epoch. The checkpoint in `out` is shared by all ranks; each rank records a run of its own.
#include "data.h"
#include "meeting.h"

#include <flor/data/metrics.h>
#include <flor/data/samplers.h>
#include <flor/dist/process_group.h>
#include <flor/flor.h>
#include <flor/save/atomic_directory.h>
#include <flor/save/atomic_save.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::stoi(value) : otherwise;
}

void average_gradients(c10d::ProcessGroupGloo& ranks,
                       const std::vector<torch::Tensor>& parameters) {
  for (const torch::Tensor& parameter : parameters) {
    std::vector<torch::Tensor> gradient{parameter.grad()};
    ranks.allreduce(gradient)->wait();
    parameter.grad().div_(ranks.getSize());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const std::string out = argc == 3 && std::string(argv[1]) == "--out" ? argv[2] : "out";
  const int rank = number("RANK", 0), world = number("WORLD_SIZE", 1);
  const auto ranks =
      examples::meet({.rank = rank, .world = world, .port = number("MASTER_PORT", 29501)});
  flor::ProcessGroup group(ranks, std::chrono::seconds(60));

  const auto pictures = flor::arg("pictures", 2'400), epochs = flor::arg("epochs", 3);
  const auto batch_size = flor::arg("batch", 32), every = flor::arg("every", 10);
  const auto [train, test] = examples::load_pictures("", pictures);
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Flatten(), torch::nn::Linear(28 * 28, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 10));
  torch::optim::Adam optimizer(net->parameters(), 1e-3);
  flor::InterruptibleDistributedSampler sampler(*train.size(),
                                                {.world = static_cast<std::uint64_t>(world),
                                                 .rank = static_cast<std::uint64_t>(rank),
                                                 .seed = 7,
                                                 .tail = flor::Tail::uneven});
  const auto loader = torch::data::make_data_loader(train, sampler, batch_size);
  flor::Metrics metrics;

  flor::AtomicDirectory saver(out, group, {.name = "model", .keep_last = 2});
  if (const auto latest = saver.latest()) {
    flor::atomic_load(*latest / "state", net, optimizer, sampler);
    std::printf("rank %d of %d goes on in epoch %lu with %s\n", rank, world,
                static_cast<unsigned long>(sampler.resume_epoch()), latest->filename().c_str());
  }
  const auto save = [&] {
    sampler.agree(group);
    const auto directory = saver.prepare();
    if (rank == 0) flor::atomic_save(directory / "state", net, optimizer, sampler);
    saver.commit();
  };

  const int first = static_cast<int>(sampler.resume_epoch());
  for (int epoch : flor::loop("epoch", flor::range(first, static_cast<int>(epochs)))) {
    sampler.set_epoch(static_cast<std::uint64_t>(epoch));
    int step = 0;
    for (const auto& batch : flor::loop("train", *loader)) {
      optimizer.zero_grad();
      const auto loss =
          torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      average_gradients(*ranks, net->parameters());
      optimizer.step();
      sampler.advance();
      metrics.mean("loss", loss.item<double>(), static_cast<double>(batch.data.size(0)));
      metrics.sum("pictures", static_cast<double>(batch.data.size(0)));
      if (++step % every == 0) save();
    }
    save();
    const auto all = metrics.log_and_reset(group);
    if (rank == 0) {
      std::printf("epoch %d: %.0f pictures here, loss %.4f\n", epoch, all.at("pictures"),
                  all.at("loss"));
    }
  }
}
