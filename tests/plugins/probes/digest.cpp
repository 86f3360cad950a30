// What the variant HINDSIGHT of `learner` logs as "digest", from the recorded state.
#include <flor/plugin/probe_torch.h>

extern "C" void flor_probe(flor::Probe& plain) {
  const flor::TorchProbe probe(plain);
  double sum = 0, weight = 1;
  for (const auto& [name, tensor] : probe.tensors("model")) {
    const bool buffer = name.starts_with("norm.running") || name.starts_with("norm.num");
    const auto values = buffer ? tensor.to(torch::kDouble) : tensor;
    sum += (weight *= 1.1) * values.sum().item<double>();
  }
  probe.log("digest", sum);
  probe.log_tensor("mean", probe.tensor("model/norm.running_mean"));
}
