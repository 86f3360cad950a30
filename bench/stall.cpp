// Measures what the training thread pays for a checkpoint: the time that Flor spends in it at the
// end of a nested loop (everything changed), at the boundary (nothing changed), and in the fence
// before the next update. Compares with a memcpy of the same bytes, without gradients, into memory
// that was used before, with a clone of the tensors, and with torch::save. Prints wall time and
// processor time of this thread: on a busy machine only the latter is the cost of the calls
// themselves.
//
//   OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 ./stall --flor stall --flor_no_git --flor_home DIR
//   ... --kwargs overlap=true: the copying overlaps with the evaluation and the next backward pass
//   ... --kwargs gradients=false: they are gone before the loop ends, so that none are kept
#include "stall_common.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sstream>
#include <thread>
#include <vector>

namespace {

using bench::median;
using bench::tensors_of;

/// Milliseconds of wall time and of this thread's processor time.
struct Moment {
  static Moment now() {
    const auto read = [](clockid_t clock) {
      timespec time{};
      clock_gettime(clock, &time);
      return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    };
    return {read(CLOCK_MONOTONIC), read(CLOCK_THREAD_CPUTIME_ID)};
  }
  double wall, cpu;
};

struct Samples {
  void add(Moment since) {
    const Moment now = Moment::now();
    wall.push_back(now.wall - since.wall);
    cpu.push_back(now.cpu - since.cpu);
  }
  void print(const char* what, const Samples& unit) const {
    std::printf("%-24s %8.2f %7.3f %8.2f %7.3f\n", what, median(wall),
                median(wall) / median(unit.wall), median(cpu), median(cpu) / median(unit.cpu));
  }
  std::vector<double> wall, cpu;
};

/// Other ways of saving the same tensors.
struct Rivals {
  void measure(const std::vector<torch::Tensor>& tensors, bool warm) {
    bytes = 0;
    for (const auto& tensor : tensors) bytes += tensor.nbytes();
    reused.resize(bytes);
    Moment began = Moment::now();
    std::size_t offset = 0;
    for (const auto& tensor : tensors) {
      std::memcpy(reused.data() + offset, tensor.data_ptr(), tensor.nbytes());
      offset += tensor.nbytes();
    }
    if (warm) copy.add(began);
    began = Moment::now();
    std::vector<torch::Tensor> clones;
    for (const auto& tensor : tensors) clones.push_back(tensor.clone());
    if (warm) clone.add(began);
    began = Moment::now();
    std::ostringstream out;
    torch::save(tensors, out);
    if (warm) save.add(began);
  }
  Samples copy, clone, save;
  std::vector<char> reused;
  std::size_t bytes = 0;
};

}  // namespace

int main(int argc, char** argv) {
  // With the default thresholds, writing to fresh memory costs seven times as much as a copy, in
  // every program.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);

  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 25);
  const int steps = flor::arg("steps", 6);
  const int evaluations = flor::arg("evaluations", 4);
  const int width = flor::arg("width", 1024);
  const int pause_ms =
      flor::arg("pause_ms", 0);  // gives the writer time if other processes keep the cores busy
  const bool overlap = flor::arg("overlap", false);
  const bool gradients = flor::arg("gradients", true);
  torch::manual_seed(1);
  bench::Layers net(width, 4, /*bias=*/true);
  torch::optim::Adam optimizer(net.parameters());
  auto state = overlap ? flor::checkpoints(net, optimizer, flor::overlapping)
                       : flor::checkpoints(net, optimizer);

  Samples end, boundary, fence, first_step, later_steps;
  Rivals rivals;
  Moment left = Moment::now();
  for (const int epoch : flor::loop("epoch", epochs)) {
    const bool warm = epoch > 2;
    if (warm) boundary.add(left);
    Moment step_end = left;
    for (const int step : flor::loop("train", steps)) {
      const Moment began = Moment::now();
      optimizer.zero_grad();
      const auto input = torch::randn({64, width});
      torch::mse_loss(net.forward(input), input).backward();
      const Moment before = Moment::now();
      flor::fence();
      if (warm && step == 0) fence.add(before);
      optimizer.step();
      if (!gradients && step + 1 == steps) {
        for (const torch::Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
      }
      step_end = Moment::now();
      if (warm) (step == 0 ? first_step : later_steps).add(began);
    }
    if (warm) end.add(step_end);
    {
      const torch::NoGradGuard no_grad;
      for (int i = 0; i < evaluations; ++i) net.forward(torch::randn({64, width}));
    }
    rivals.measure(tensors_of(net, optimizer), warm);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    left = Moment::now();
  }
  std::printf("state %.1f MB, %d threads, recording: %s, overlapping: %s\n",
              static_cast<double>(rivals.bytes) / 1e6, torch::get_num_threads(),
              flor::recording() ? "yes" : "no", overlap ? "yes" : "no");
  std::printf("%-24s %8s %7s %8s %7s\n", "", "wall ms", "memcpys", "cpu ms", "memcpys");
  rivals.copy.print("one memcpy of it", rivals.copy);
  end.print("end of nested loop", rivals.copy);
  boundary.print("boundary, none changed", rivals.copy);
  fence.print("fence", rivals.copy);
  rivals.clone.print("clone", rivals.copy);
  rivals.save.print("torch::save to memory", rivals.copy);
  first_step.print("first step", rivals.copy);
  later_steps.print("later steps", rivals.copy);
}
