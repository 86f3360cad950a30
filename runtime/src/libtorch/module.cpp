// Saves and loads modules and single tensors.
#include "libtorch/composite.h"
#include "libtorch/leaves.h"
#include "libtorch/lineage.h"
#include "libtorch/tensor.h"

#include <flor/torch.h>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>

#include <map>
#include <utility>

namespace flor::libtorch {
namespace {

Leaves leaves_of(const torch::nn::Module& module) {
  const auto named = [](const auto& items) {
    std::vector<NamedLeaf> leaves;
    for (const auto& item : items) leaves.push_back({item.key(), item.value()});
    return leaves;
  };
  return make_leaves(named(module.named_parameters()), named(module.named_buffers()));
}

/// The module and all modules below it, outer ones first. Does not use the module's own shared_ptr,
/// since the module may be on the stack.
template <typename Type>
std::vector<std::pair<std::string, Type*>> modules_of(Type& module) {
  std::vector<std::pair<std::string, Type*>> all{{"", &module}};
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    all.emplace_back(item.key(), item.value().get());
  }
  return all;
}

}  // namespace

void save(const torch::nn::Module& module, const StateWriter& writer) {
  std::vector<LayoutEntry> entries = write_leaves(leaves_of(module), writer);
  for (const auto& [name, part] : modules_of(module)) {
    entries.push_back({.kind = "module", .flag = part->is_training(), .name = name});
  }
  writer.bytes(kLayoutItem, to_text(entries));
}

void load(torch::nn::Module& module, const StateReader& reader) {
  const std::vector<LayoutEntry> entries = parse_layout(reader.bytes(kLayoutItem));
  read_leaves(leaves_of(module), entries, reader);
  std::map<std::string, bool> training;
  for (const LayoutEntry& entry : entries) {
    if (entry.kind == "module") training[entry.name] = entry.flag;
  }
  // Outer modules first, since train() also changes the modules below.
  for (const auto& [name, part] : modules_of(module)) {
    const auto found = training.find(name);
    if (found != training.end() && part->is_training() != found->second) part->train(found->second);
  }
}

torch::nn::Module& module_of(const torch::nn::AnyModule& any) {
  if (any.is_empty()) throw Error("a registered AnyModule is empty: register it after it is set");
  return *any.ptr();  // `any` keeps it alive
}

void save(const at::Tensor& tensor, const StateWriter& writer) {
  if (!tensor.defined())
    return writer.bytes(kLayoutItem, to_text({{.kind = "undefined", .name = ""}}));
  const NamedLeaf leaf{"", tensor};
  LayoutEntry entry = describe_leaf("tensor", leaf);
  entry.device = c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true);
  entry.gradient =
      tensor.is_leaf() ? write_gradients(writer, {&leaf, 1}).front() : std::string(kPassedOn);
  if (is_composite(tensor)) {
    entry.kind = write_composite(writer, tensor);
  } else {
    place_tensor(writer, "", tensor, entry.flag ? Held::as_trained : Held::by_handle);
    write_tensor(writer, "", tensor, Writers::program);
  }
  writer.bytes(kLayoutItem, to_text({entry}));
}

namespace {

at::Tensor read_plain(const at::Tensor& present, const LayoutEntry& entry,
                      const StateReader& reader) {
  const auto& sizes = reader.item("").sizes;
  const at::ScalarType type = scalar_type_named(entry.type);
  const bool fits = present.defined() && has_content(present) && present.scalar_type() == type &&
                    present.sizes() == at::IntArrayRef(sizes) &&
                    strides_text(present) == entry.strides;
  // For a tensor that shares memory, the placement decides whether it can stay as it is.
  const bool stands = !fits || reader.placement("") ||
                      lineage_of(present).fits(entry.gradient == kPassedOn);
  const at::Tensor usable = stands ? present : present.detach();
  return read_handle(reader, "", usable, fits, [&] {
    const at::Device device = present.defined() ? present.device() : current_device(entry.device);
    return empty_with(sizes, entry.strides, at::TensorOptions().dtype(type).device(device));
  });
}

}  // namespace

void load(at::Tensor& tensor, const StateReader& reader) {
  const std::vector<LayoutEntry> entries = parse_layout(reader.bytes(kLayoutItem));
  if (entries.size() != 1)
    throw Error("'" + reader.full_name("") + "' was not recorded as a tensor");
  const LayoutEntry& entry = entries.front();
  if (entry.kind == "undefined") return tensor.reset();
  translated("'" + reader.full_name("") + "'", [&] {
    tensor = entry.kind == "tensor" ? read_plain(tensor, entry, reader)
                                    : read_composite(reader, entry.kind, tensor, entry);
    take_part(tensor, entry.flag, entry.gradient == kPassedOn, "'" + reader.full_name("") + "'");
  });
  if (entry.gradient != "-" && entry.gradient != kPassedOn) {
    read_gradient(reader, {"", tensor}, entry.gradient);
  }
}

}  // namespace flor::libtorch
