// Where the programs of the tests train: on the CPU, or on the device that FLOR_TEST_DEVICE names
// ("cuda"), with deterministic algorithms there.
#pragma once

#include <torch/torch.h>

#include <cstdlib>

inline torch::Device test_device() {
  const char* name = std::getenv("FLOR_TEST_DEVICE");
  if (!name || *name == '\0') return {torch::kCPU};
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
  return torch::Device(name);
}
