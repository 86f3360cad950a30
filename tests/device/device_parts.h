// What differs between versions of libtorch, and between builds with and without CUDA.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#ifdef FLOR_TEST_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif
#ifdef FLOR_TEST_NCCL
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>
#include <string>
#endif

namespace flor_test {

/// Automatic mixed precision while it exists: half on a GPU, bfloat16 on the CPU.
class Autocast {
 public:
  Autocast(bool enabled, torch::Device device) : enabled_(enabled), cuda_(device.is_cuda()) {
    if (enabled_) set(true);
  }
  ~Autocast() {
    if (!enabled_) return;
    at::autocast::clear_cache();
    set(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  void set(bool on) const {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(cuda_ ? at::kCUDA : at::kCPU, on);
#else
    cuda_ ? at::autocast::set_enabled(on) : at::autocast::set_cpu_enabled(on);
#endif
  }
  bool enabled_, cuda_;
};

#ifdef FLOR_TEST_CUDA
/// A training step that the GPU launches as one. The warm-up, which makes the optimizer's state,
/// runs as often as CUDA's guide asks for.
class StepGraph {
 public:
  explicit StepGraph(const std::function<void()>& step) {
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    c10::cuda::getCurrentCUDAStream().synchronize();
    const c10::cuda::CUDAStreamGuard guard(stream);
    for (int i = 0; i < 3; ++i) step();
    stream.synchronize();
    graph_.capture_begin();
    step();
    graph_.capture_end();
    stream.synchronize();
  }
  void launch() { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};
#else
class StepGraph {
 public:
  explicit StepGraph(const std::function<void()>& step) : step_(step) {}
  void launch() { step_(); }

 private:
  std::function<void()> step_;
};
#endif

#ifdef FLOR_TEST_NCCL
/// Averages gradients over all ranks by NCCL; RANK, WORLD_SIZE and MEETING (a file) as ever.
class Averager {
 public:
  explicit Averager(torch::Device)
      : world_(std::atoi(std::getenv("WORLD_SIZE"))),
        group_(c10::make_intrusive<c10d::ProcessGroupNCCL>(
            c10::make_intrusive<c10d::FileStore>(std::getenv("MEETING"), world_),
            std::atoi(std::getenv("RANK")), world_)) {}
  void average(const std::vector<torch::Tensor>& parameters) {
    for (const auto& parameter : parameters) {
      std::vector<torch::Tensor> tensors{parameter.grad()};
      group_->allreduce(tensors)->wait();
      parameter.grad().div_(world_);
    }
  }

 private:
  int world_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
};
#else
class Averager {
 public:
  explicit Averager(torch::Device) { throw std::runtime_error("built without NCCL"); }
  void average(const std::vector<torch::Tensor>&) {}
};
#endif

}  // namespace flor_test
