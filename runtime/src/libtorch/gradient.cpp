// How gradients are kept and restored. Gradients that are all zero, as after zero_grad(), are not
// stored.
#include "libtorch/gradient.h"

#include "libtorch/lineage.h"
#include "libtorch/sparse_gradient.h"
#include "libtorch/tensor.h"
#include "protocol/module_layout.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace flor::libtorch {
namespace {

bool is_all_zero(const std::byte* content, std::size_t size) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, size);
    unsigned char any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= std::to_integer<unsigned char>(content[i]);
    if (any != 0) return false;
  }
  return true;
}

/// A boolean tensor without dimensions, on the gradient's device: true if any element has a bit
/// set, so -0.0 counts.
at::Tensor any_nonzero(const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  if (gradient.is_sparse()) return at::scalar_tensor(gradient._nnz() > 0, at::kBool);
  if (!gradient.is_floating_point()) return gradient.ne(0).any();
  return gradient.ne(0).logical_or(gradient.signbit()).any();
}

/// Whether the gradient of each leaf has anything but zeros. Gradients on one device are examined
/// together, so that each device is waited for only once.
std::vector<bool> look_at(std::span<const NamedLeaf> leaves) {
  std::vector<bool> nonzero(leaves.size());
  std::map<std::string, std::pair<std::vector<at::Tensor>, std::vector<std::size_t>>> by_device;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const at::Tensor& leaf = leaves[i].tensor;
    if (!leaf.is_leaf() || !leaf.grad().defined()) continue;
    const at::Tensor& gradient = leaf.grad();
    if (has_content(gradient) && gradient.device().is_cpu() &&
        gradient.is_non_overlapping_and_dense()) {
      nonzero[i] =
          !is_all_zero(static_cast<const std::byte*>(gradient.data_ptr()), gradient.nbytes());
      continue;
    }
    const at::Tensor flag = any_nonzero(gradient);
    auto& [flags, indices] = by_device[flag.device().str()];
    flags.push_back(flag);
    indices.push_back(i);
  }
  for (const auto& [device, entry] : by_device) {
    const auto& [flags, indices] = entry;
    const at::Tensor found = at::stack(flags).cpu();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      nonzero[indices[i]] = found.data_ptr<bool>()[i];
    }
  }
  return nonzero;
}

std::string gradient_item(const std::string& name) {
  return name.empty() ? "grad" : "grad/" + name;
}

/// The strides of the gradient for its description. Empty if they are those of the leaf, as
/// autograd makes them.
std::string strides_beside(const at::Tensor& gradient, const at::Tensor& leaf) {
  if (!has_content(gradient) || gradient.strides() == leaf.strides()) return {};
  const std::string strides = strides_text(gradient);
  return strides == "-" ? std::string(":[]") : ":" + strides;
}

/// Suffixes after the word for a gradient's content, for gradients through which is differentiated
/// again.
constexpr std::string_view kTrained = "+trained", kComputed = "+computed";

std::string_view standing_of(const at::Tensor& gradient) {
  if (!gradient.is_leaf()) return kComputed;
  return trains(gradient) ? kTrained : std::string_view();
}

bool take_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

at::Tensor empty_gradient(const at::Tensor& leaf, const std::string& strides) {
  if (strides.empty()) return at::empty_strided(leaf.sizes(), leaf.strides(), leaf.options());
  return empty_with(leaf.sizes(), strides == "[]" ? "-" : strides, leaf.options());
}

at::Tensor read_dense(const StateReader& reader, const NamedLeaf& leaf, bool zero, bool computed,
                      const std::string& strides) {
  const at::NoGradGuard no_grad;
  const auto make = [&] { return empty_gradient(leaf.tensor, strides); };
  at::Tensor present = leaf.tensor.grad();
  if (present.defined() && !reader.placement(gradient_item(leaf.name)) &&
      !lineage_of(present).fits(computed)) {
    present = present.detach();
  }
  const bool fits = present.defined() && has_content(present) &&
                    strides_beside(present, leaf.tensor) == (strides.empty() ? "" : ":" + strides);
  const std::string item = gradient_item(leaf.name);
  return zero ? choose_tensor(reader, item, present, fits, make).zero_()
              : read_handle(reader, item, present, fits, make);
}

}  // namespace

std::vector<std::string> write_gradients(const StateWriter& writer,
                                         std::span<const NamedLeaf> leaves) {
  std::vector<bool> nonzero(leaves.size(), true);
  if (writer.wants_content()) {
    translated("the gradients", [&] { nonzero = look_at(leaves); });
  }
  std::vector<std::string> descriptions;
  descriptions.reserve(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& [name, leaf] = leaves[i];
    if (!leaf.is_leaf() || !leaf.grad().defined()) {
      descriptions.emplace_back(kNoGradient);
      continue;
    }
    const at::Tensor& gradient = leaf.grad();
    const SparseForm form = SparseForm::of(gradient);
    if (nonzero[i] && form) {
      write_sparse(writer, gradient_item(name), gradient);
    } else if (!form) {
      place_tensor(writer, gradient_item(name), gradient, Held::by_handle);
      if (nonzero[i]) write_tensor(writer, gradient_item(name), gradient);
    }
    descriptions.push_back(described(form, nonzero[i] ? kKeptGradient : kZeroGradient)
                               .append(standing_of(gradient)) +
                           strides_beside(gradient, leaf));
  }
  return descriptions;
}

void read_gradient(const StateReader& reader, const NamedLeaf& leaf,
                   const std::string& description) {
  if (!leaf.tensor.is_leaf()) return;
  std::string state = description;
  const SparseForm form = take_form(state);
  std::string strides;
  if (const std::size_t colon = state.find(':'); colon != std::string::npos) {
    strides = state.substr(colon + 1);
    state.resize(colon);
  }
  if (state == kNoGradient) return leaf.tensor.mutable_grad().reset();
  const bool computed = take_suffix(state, kComputed), trained = take_suffix(state, kTrained);
  const bool zero = state == kZeroGradient;
  const std::string name = "the gradient of '" + reader.full_name(leaf.name) + "'";
  translated(name, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor gradient =
        !form  ? read_dense(reader, leaf, zero, computed, strides)
        : zero ? empty_sparse(leaf.tensor, form)
               : read_sparse(reader, gradient_item(leaf.name), leaf.tensor, form);
    take_part(gradient, trained, computed, name);
    if (!gradient.is_same(leaf.tensor.grad())) leaf.tensor.mutable_grad() = gradient;
  });
}

}  // namespace flor::libtorch
