// What the training thread pays for a checkpoint, in one run: the time that Flor spends in it at
// the end of a nested loop (everything changed) and at the boundary (nothing changed), next to one
// memcpy of the same bytes into memory that was used before, a clone of the tensors, and
// torch::save.
//
//   OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 ./stall --flor stall --flor_no_git --flor_home DIR
#include <flor/flor.h>
#include <flor/torch.h>

#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Net : torch::nn::Module {
  explicit Net(int64_t width) {
    for (int i = 0; i < 4; ++i) {
      layers->push_back(torch::nn::Linear(width, width));
      layers->push_back(torch::nn::ReLU());
    }
    register_module("layers", layers);
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
};

/// The tensors of the state, for the rivals.
std::vector<torch::Tensor> tensors_of(const Net& net, const torch::optim::Adam& optimizer) {
  std::vector<torch::Tensor> tensors;
  for (const auto& parameter : net.parameters()) tensors.push_back(parameter.detach());
  for (const auto& entry : optimizer.state()) {
    const auto& state = static_cast<const torch::optim::AdamParamState&>(*entry.second);
    tensors.push_back(state.exp_avg());
    tensors.push_back(state.exp_avg_sq());
  }
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  // Fresh memory costs seven times a copy with the default thresholds, in every program.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);

  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 25);
  const int steps = flor::arg("steps", 6);
  const int width = flor::arg("width", 1024);
  torch::manual_seed(1);
  Net net(width);
  torch::optim::Adam optimizer(net.parameters());
  auto state = flor::checkpoints(net, optimizer);

  std::vector<double> end, boundary, copy, clone, save, first_step, later_steps;
  std::vector<char> reused;
  Clock::time_point left = Clock::now();
  for (int epoch : flor::loop("epoch", epochs)) {
    if (epoch > 2) boundary.push_back(ms_since(left));
    Clock::time_point step_end;
    for (int step : flor::loop("train", steps)) {
      const auto began = Clock::now();
      optimizer.zero_grad();
      net.forward(torch::randn({64, width})).square().mean().backward();
      optimizer.step();
      step_end = Clock::now();
      if (epoch > 2) (step == 0 ? first_step : later_steps).push_back(ms_since(began));
    }
    if (epoch > 2) end.push_back(ms_since(step_end));

    const auto tensors = tensors_of(net, optimizer);
    std::size_t bytes = 0;
    for (const auto& tensor : tensors) bytes += tensor.nbytes();
    reused.resize(bytes);
    auto began = Clock::now();
    std::size_t offset = 0;
    for (const auto& tensor : tensors) {
      std::memcpy(reused.data() + offset, tensor.data_ptr(), tensor.nbytes());
      offset += tensor.nbytes();
    }
    if (epoch > 2) copy.push_back(ms_since(began));
    began = Clock::now();
    std::vector<torch::Tensor> clones;
    for (const auto& tensor : tensors) clones.push_back(tensor.clone());
    if (epoch > 2) clone.push_back(ms_since(began));
    clones.clear();
    began = Clock::now();
    std::ostringstream out;
    torch::save(tensors, out);
    if (epoch > 2) save.push_back(ms_since(began));
    if (epoch == epochs - 1) {
      std::printf("state %.1f MB, %d threads, recording: %s\n", static_cast<double>(bytes) / 1e6,
                  torch::get_num_threads(), flor::recording() ? "yes" : "no");
    }
    left = Clock::now();
  }
  const double unit = median(copy);
  std::printf("one memcpy of it        %8.2f ms   1\n", unit);
  std::printf("end of nested loop      %8.2f ms   %.2f\n", median(end), median(end) / unit);
  std::printf("boundary, none changed  %8.2f ms   %.2f\n", median(boundary),
              median(boundary) / unit);
  std::printf("clone                   %8.2f ms   %.2f\n", median(clone), median(clone) / unit);
  std::printf("torch::save to memory   %8.2f ms   %.2f\n", median(save), median(save) / unit);
  std::printf("step, first / later     %8.2f / %.2f ms\n", median(first_step), median(later_steps));
}
