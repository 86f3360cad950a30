// Support for TorchScript: lets flor::checkpoints take a torch::jit::Module, whether read by
// torch::jit::load or defined in the program. It includes no header of libtorch; a program includes
// <torch/script.h> itself.
#pragma once

#include <flor/torch.h>

#include <string_view>

namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace flor {
namespace libtorch {

/// Saves parameters and buffers as for a torch::nn::Module; they are loaded in place, so that an
/// optimizer keeps using them. The other attributes of the module and its submodules are replaced:
/// `training`, numbers, texts, None, tensors, and lists, tuples and dictionaries of these. Throws
/// flor::Error with the name of an attribute of another kind. If the module is not the recorded
/// one, `load` throws and changes nothing.
///
/// libtorch optimizes the first calls of a scripted function less than later ones. If this changes
/// a result, a replay that skips calls reports that it differs.
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
