// The recorded state as tensors and modules of libtorch, for a plug-in (<flor/plugin/probe.h>).
// Compile the plug-in with the same libtorch as the program.
//
//   extern "C" void flor_probe(flor::Probe& plain) {
//     const flor::TorchProbe probe(plain);
//     for (const auto& [name, tensor] : probe.tensors("model")) {
//       probe.log("norm of " + name, tensor.norm());
//     }
//   }
#pragma once

#include <flor/plugin/probe.h>

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flor {

/// Reads the state that a Probe offers as tensors of the recorded type and shape, in host memory
/// that belongs to the plug-in. Gradients are switched off while the object exists. Random numbers
/// that a plug-in draws do not change the replay: the generators are restored when it returns.
class TorchProbe {
 public:
  /// Keeps a reference to `probe`.
  explicit TorchProbe(const Probe& probe) : probe_(probe) {}

  const Probe& plain() const { return probe_; }               ///< the probe that it reads from
  const ProbePlace& place() const { return probe_.place(); }  ///< where the replay is

  /// A registered tensor, a parameter or buffer, or a part of an optimizer's state, by its full
  /// name: "model/0.weight", "optimizer/group0/3/exp_avg".
  at::Tensor tensor(const std::string& name) const {
    const store::Item item = probe_.item(name);
    return read({&item, 1}).front();
  }

  /// All tensors whose names are below `prefix`, with the rest of the name: for "model" they are
  /// "0.weight" and "0.bias". Reads all in one pass, which is quicker than calls of `tensor`. A
  /// tensor with several names in a module (tied weights) comes once. Gradients are left out; they
  /// are below "model/grad".
  std::vector<std::pair<std::string, at::Tensor>> tensors(const std::string& prefix) const {
    std::vector<store::Item> items;
    for (store::Item& item : probe_.items(prefix)) {
      const bool gradient = item.name.starts_with(prefix + "/grad/");
      if (item.type != store::ElementType::bytes && !gradient) items.push_back(std::move(item));
    }
    std::vector<at::Tensor> contents = read(items);
    std::vector<std::pair<std::string, at::Tensor>> named;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string& name = items[i].name;
      const bool below = !prefix.empty() && name.size() > prefix.size();
      named.emplace_back(below ? name.substr(prefix.size() + 1) : name, std::move(contents[i]));
    }
    return named;
  }

  /// Fills the parameters and buffers of a module that belongs to the plug-in and is built like the
  /// recorded one. Throws if one of them was not recorded, or with another shape.
  void load(const std::string& name, torch::nn::Module& module) const {
    std::map<std::string, at::Tensor> recorded;
    for (auto& [key, tensor] : tensors(name)) recorded.emplace(std::move(key), std::move(tensor));
    std::set<const void*> filled;  // a tensor that has two names was recorded under one of them
    std::vector<std::pair<std::string, at::Tensor>> open;
    const auto fill = [&](const auto& own) {
      for (const auto& entry : own) {
        const auto found = recorded.find(entry.key());
        if (found == recorded.end()) {
          open.emplace_back(entry.key(), entry.value());
          continue;
        }
        if (entry.value().sizes() != found->second.sizes()) {
          throw std::runtime_error("'" + name + "/" + entry.key() +
                                   "' has another shape in this module than was recorded");
        }
        entry.value().copy_(found->second);
        filled.insert(entry.value().unsafeGetTensorImpl());
      }
    };
    fill(module.named_parameters());
    fill(module.named_buffers());
    for (const auto& [key, tensor] : open) {
      if (filled.contains(tensor.unsafeGetTensorImpl())) continue;
      throw std::runtime_error("the run recorded no '" + name + "/" + key +
                               "': build the module as the program does");
    }
  }

  /// Logs what Probe::log takes, and tensors with one element.
  template <typename T>
  void log(const std::string& name, const T& value) const {
    if constexpr (std::same_as<T, at::Tensor>) {
      log_element(name, value);
    } else {
      probe_.log(name, value);
    }
  }
  /// Logs a whole tensor.
  void log_tensor(const std::string& name, const at::Tensor& value) const {
    const at::Tensor host = on_host(value);
    probe_.log_content(name, false, element_type(host.scalar_type()), host.sizes().vec(),
                       {static_cast<const std::byte*>(host.data_ptr()), host.nbytes()});
  }
  /// Logs the distribution of the elements: counts in `bins` intervals of equal width.
  void log_histogram(const std::string& name, const at::Tensor& values, int bins = 64) const {
    const at::Tensor host = on_host(values).to(at::kDouble);
    probe_.log_histogram(name, {host.data_ptr<double>(), static_cast<std::size_t>(host.numel())},
                         bins);
  }

 private:
  static constexpr std::pair<store::ElementType, at::ScalarType> kTypes[] = {
      {store::ElementType::boolean, at::kBool},     {store::ElementType::u8, at::kByte},
      {store::ElementType::i8, at::kChar},          {store::ElementType::i16, at::kShort},
      {store::ElementType::i32, at::kInt},          {store::ElementType::i64, at::kLong},
      {store::ElementType::f16, at::kHalf},         {store::ElementType::bf16, at::kBFloat16},
      {store::ElementType::f32, at::kFloat},        {store::ElementType::f64, at::kDouble},
      {store::ElementType::c64, at::kComplexFloat}, {store::ElementType::c128, at::kComplexDouble},
  };
  static at::ScalarType scalar_type(const store::Item& item) {
    for (const auto& [type, scalar] : kTypes) {
      if (type == item.type) return scalar;
    }
    throw std::runtime_error("'" + item.name + "' is no tensor");
  }
  static store::ElementType element_type(at::ScalarType wanted) {
    for (const auto& [type, scalar] : kTypes) {
      if (scalar == wanted) return type;
    }
    throw std::runtime_error("tensors of this type cannot be logged");
  }
  static at::Tensor on_host(const at::Tensor& tensor) {
    if (!tensor.defined()) throw std::runtime_error("an undefined tensor cannot be logged");
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
  }

  std::vector<at::Tensor> read(std::span<const store::Item> items) const {
    std::vector<at::Tensor> tensors;
    std::vector<void*> into;
    for (const store::Item& item : items) {
      tensors.push_back(at::empty(item.sizes, at::TensorOptions().dtype(scalar_type(item))));
      into.push_back(tensors.back().data_ptr());
    }
    probe_.read(items, into);
    return tensors;
  }

  void log_element(const std::string& name, const at::Tensor& value) const {
    const at::Tensor host = on_host(value);
    if (host.numel() != 1 || host.is_complex()) {
      throw std::runtime_error("'" + name + "': log takes a tensor of one real element");
    }
    if (host.scalar_type() == at::kBool) {
      probe_.log(name, host.item<bool>());
    } else if (at::isIntegralType(host.scalar_type(), /*includeBool=*/false)) {
      probe_.log(name, host.item<std::int64_t>());
    } else {
      probe_.log(name, host.item<double>());
    }
  }

  const Probe& probe_;
  at::NoGradGuard no_grad_;
};

}  // namespace flor

extern "C" {
/// The version of libtorch as text, which Flor finds in the file before it loads the plug-in.
[[gnu::visibility("default"), gnu::weak]] extern const char flor_probe_libtorch[];
const char flor_probe_libtorch[] = "flor-probe-libtorch=" TORCH_VERSION ";";
}
