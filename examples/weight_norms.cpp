// A plug-in that logs the norm of each layer's weights after every epoch, for runs whose program
// did not log it. Works with every program that registers its model under the name that
// flor::checkpoints gives by default, "model".
//
//   flor replay linear --plugin ./libweight_norms.so
//   flor query 'norm 1.weight' --run linear
#include <flor/plugin/probe_torch.h>

extern "C" void flor_probe(flor::Probe& plain) {
  const flor::TorchProbe probe(plain);
  auto sum = torch::zeros({}, torch::kDouble);
  for (const auto& [name, tensor] : probe.tensors("model")) {
    const auto values = tensor.to(torch::kDouble);
    probe.log("norm " + name, values.norm());
    sum += values.square().sum();
  }
  probe.log("norm", sum.sqrt());
}
