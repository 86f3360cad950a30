// Measures what a checkpoint costs a training on a GPU, in units of a copy of its state from the
// device to pinned memory, measured in the same run. One of four epochs is stored (--flor_every 4).
// The cost is the time that the epoch which takes the checkpoint and the one after it need in
// excess of the two others. Without a GPU, the unit is a copy in memory.
//
//   gpu_stall --flor gpu --flor_no_git --flor_home DIR --flor_every 4
//   ... --kwargs width=4096 layers=5    the state: 12 * width^2 * layers bytes (Adam)
//       overlap=true                    copies beside the next step
//       dtype=bf16                      parameters of two bytes
//       rival=save                      torch::save to a file instead (without --flor)
#include "stall_common.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using bench::median;
using bench::tensors_of;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Copies the state into memory that was used before: the least that every checkpoint must do.
class OneCopy {
 public:
  explicit OneCopy(bool pinned) : pinned_(pinned) {}
  /// Returns milliseconds.
  double measure(const std::vector<torch::Tensor>& tensors) {
    if (copies_.size() != tensors.size()) {
      copies_.clear();
      for (const auto& tensor : tensors) {
        const auto options = tensor.options().device(torch::kCPU).pinned_memory(pinned_);
        copies_.push_back(torch::empty(tensor.sizes(), options));
      }
    }
    const auto began = Clock::now();
    for (std::size_t i = 0; i < tensors.size(); ++i) copies_[i].copy_(tensors[i], true);
    if (pinned_) torch::cuda::synchronize();
    return ms_since(began);
  }
  void drop() { copies_.clear(); }

 private:
  bool pinned_;
  std::vector<torch::Tensor> copies_;
};

struct Times {
  std::vector<double> taking, writing, others, end;
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const bool cuda = torch::cuda::is_available();
  const torch::Device device(cuda ? torch::kCUDA : torch::kCPU);
  const std::int64_t width = flor::arg("width", cuda ? 4096 : 512);
  const int count = flor::arg("layers", 5), batch = flor::arg("batch", 2048);
  const int epochs = flor::arg("epochs", 25), steps = flor::arg("steps", 40);
  const bool overlap = flor::arg("overlap", false);
  const std::string rival = flor::arg("rival", "");
  const auto dtype = flor::arg("dtype", "f32") == "bf16" ? torch::kBFloat16 : torch::kFloat;
  torch::manual_seed(1);
  bench::Layers net(width, count, /*bias=*/false);
  net.to(device, dtype);
  torch::optim::Adam optimizer(net.parameters(), 1e-5);
  const auto state = overlap ? flor::checkpoints(net, optimizer, flor::overlapping)
                             : flor::checkpoints(net, optimizer);
  const auto input = torch::randn({batch, width}, torch::TensorOptions(device).dtype(dtype));
  const auto wait = [&] {
    if (cuda) torch::cuda::synchronize();
  };

  OneCopy one_copy(cuda);
  Times times;
  std::vector<double> copy;
  Clock::time_point began = Clock::now(), last_step = began;
  double end = 0;
  for (const int epoch : flor::loop("epoch", epochs)) {
    for ([[maybe_unused]] const int step : flor::loop("train", steps)) {
      optimizer.zero_grad();
      torch::mse_loss(net.forward(input), input).backward();
      if (overlap) flor::fence();
      optimizer.step();
      last_step = Clock::now();
    }
    end = ms_since(last_step);  // on this thread alone: the cost of the call
    const int phase = epoch % 4;
    if (phase == 3 && rival == "save") {
      torch::save(tensors_of(net, optimizer), "gpu_stall.pt");
      std::filesystem::remove("gpu_stall.pt");
    }
    wait();
    const double took = ms_since(began);
    if (epoch >= 7) {
      (phase == 3 ? times.taking : phase == 0 ? times.writing : times.others).push_back(took);
      if (phase == 3) times.end.push_back(end);
    }
    if (phase == 2 && epoch > 4) copy.push_back(one_copy.measure(tensors_of(net, optimizer)));
    began = Clock::now();
  }
  std::uint64_t bytes = 0;
  for (const auto& tensor : tensors_of(net, optimizer)) bytes += tensor.nbytes();
  const std::size_t rounds =
      std::min({times.taking.size(), times.writing.size(), times.others.size() / 2});
  std::vector<double> lost;
  for (std::size_t i = 0; i < rounds; ++i) {
    lost.push_back(times.taking[i] + times.writing[i] - times.others[2 * i] -
                   times.others[2 * i + 1]);
  }
  const double unit = median(copy);
  const char* what = flor::recording() ? (overlap ? "flor, overlapping" : "flor, copying")
                     : rival.empty()   ? "nothing"
                                       : rival.c_str();
  std::printf("%-18s state %.2f GB, one copy %.1f ms (%.1f GB/s), epoch %.1f ms, taking %.1f, "
              "after it %.1f, lost %.1f ms = %.3f copies, end of loop %.1f ms = %.3f\n",
              what, static_cast<double>(bytes) / 1e9, unit, static_cast<double>(bytes) / unit / 1e6,
              median(times.others), median(times.taking), median(times.writing), median(lost),
              median(lost) / unit, median(times.end), median(times.end) / unit);
}
