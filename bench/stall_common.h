// Shared by stall.cpp and gpu_stall.cpp.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <vector>

namespace bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Linear layers with Tanh between them.
struct Layers : torch::nn::Module {
  Layers(std::int64_t width, int count, bool bias) {
    for (int i = 0; i < count; ++i) {
      if (i > 0) layers->push_back(torch::nn::Tanh());
      layers->push_back(torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(bias)));
    }
    register_module("layers", layers);
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
};

/// The tensors of the state without gradients, for the methods that Flor is compared with.
inline std::vector<torch::Tensor> tensors_of(const torch::nn::Module& net,
                                             const torch::optim::Adam& optimizer) {
  std::vector<torch::Tensor> tensors;
  for (const auto& parameter : net.parameters()) tensors.push_back(parameter.detach());
  for (const auto& entry : optimizer.state()) {
    const auto& state = static_cast<const torch::optim::AdamParamState&>(*entry.second);
    tensors.push_back(state.exp_avg());
    tensors.push_back(state.exp_avg_sq());
  }
  return tensors;
}

}  // namespace bench
