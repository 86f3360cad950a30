// Support for TorchScript: torch::jit::Module for flor::checkpoints, one that torch::jit::load has
// read or that was defined in the program. Includes no header of libtorch; a program includes
// <torch/script.h> itself.
#pragma once

#include <flor/torch.h>

#include <string_view>

namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace flor {
namespace libtorch {

/// Parameters and buffers like those of a torch::nn::Module, in place, so that an optimizer that
/// was given them keeps using them; and the other attributes of the module and those below it,
/// which are set anew: `training`, numbers, texts, None, tensors, and lists, tuples and
/// dictionaries of these. Throws flor::Error, which names the attribute, where there is one of
/// another kind, and, having changed nothing, where the module is not the recorded one.
///
/// libtorch runs the first calls of a scripted function with less optimization than later ones;
/// where that changes a result, a replay that skips calls says that it differs.
void save(const ::torch::jit::Module& module, const StateWriter& writer);
void load(::torch::jit::Module& module, const StateReader& reader);

}  // namespace libtorch

template <>
struct StateTraits<::torch::jit::Module> {
  static constexpr std::string_view kind = "model";
  static void save(const ::torch::jit::Module& module, const StateWriter& writer) {
    libtorch::save(module, writer);
  }
  static void load(::torch::jit::Module& module, const StateReader& reader) {
    libtorch::load(module, reader);
  }
};

}  // namespace flor
