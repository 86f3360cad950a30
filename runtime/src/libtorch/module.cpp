// Modules and single tensors.
#include "gradient.h"
#include "layout.h"
#include "tensor.h"

#include <flor/torch.h>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>

#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>

namespace flor::libtorch {
namespace {

struct Leaves {
  std::vector<NamedLeaf> all;  ///< parameters, then buffers
  std::size_t parameters = 0;  ///< how many of them are parameters
  std::vector<int> origins;    ///< index of the first one that is the same tensor, or -1
};

Leaves leaves_of(const torch::nn::Module& module) {
  Leaves leaves;
  for (const auto& item : module.named_parameters())
    leaves.all.push_back({item.key(), item.value()});
  leaves.parameters = leaves.all.size();
  for (const auto& item : module.named_buffers()) leaves.all.push_back({item.key(), item.value()});
  std::unordered_map<const c10::TensorImpl*, int> first;
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const int index = static_cast<int>(i);
    const auto [seen, is_new] = first.emplace(leaves.all[i].tensor.unsafeGetTensorImpl(), index);
    leaves.origins.push_back(is_new ? -1 : seen->second);
  }
  return leaves;
}

/// The module and all below it, outer ones first. Does not ask for the shared_ptr of the module
/// itself, which may live on the stack.
template <typename Type>
std::vector<std::pair<std::string, Type*>> modules_of(Type& module) {
  std::vector<std::pair<std::string, Type*>> all{{"", &module}};
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    all.emplace_back(item.key(), item.value().get());
  }
  return all;
}

LayoutEntry describe_leaf(std::string kind, const NamedLeaf& leaf) {
  LayoutEntry entry{.kind = std::move(kind), .name = leaf.name};
  entry.type = type_name(leaf.tensor.scalar_type());
  entry.shape = shape_text(leaf.tensor.sizes());
  entry.flag = leaf.tensor.is_leaf() && leaf.tensor.requires_grad();
  return entry;
}

std::span<const NamedLeaf> parameters_of(const Leaves& leaves) {
  return std::span(leaves.all).first(leaves.parameters);
}

using Recorded = std::map<std::string, LayoutEntry>;

/// Two names may be one tensor here only if they were one when recorded.
void check_ties(const Leaves& leaves, const Recorded& recorded,
                const std::vector<LayoutEntry>& entries, const StateReader& reader) {
  const auto item_of = [&](const std::string& name) {
    const LayoutEntry& entry = recorded.at(name);
    return entry.origin < 0 ? name : entries[static_cast<std::size_t>(entry.origin)].name;
  };
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    if (leaves.origins[i] < 0) continue;
    const std::string& name = leaves.all[i].name;
    const std::string& other = leaves.all[static_cast<std::size_t>(leaves.origins[i])].name;
    if (item_of(name) == item_of(other)) continue;
    throw Error("'" + reader.full_name(name) + "' and '" + reader.full_name(other) +
                "' are one tensor here, but were two when recorded: replay needs the recorded "
                "model");
  }
}

/// Throws unless the model has exactly the tensors that were recorded.
void check(const Leaves& leaves, const Recorded& recorded, const std::vector<LayoutEntry>& entries,
           const StateReader& reader) {
  for (const NamedLeaf& leaf : leaves.all) {
    const std::string name = "'" + reader.full_name(leaf.name) + "'";
    const auto found = recorded.find(leaf.name);
    if (found == recorded.end()) {
      throw Error("the model has a tensor " + name +
                  " that was not there when it was recorded: replay needs the recorded model");
    }
    const std::string then = found->second.type + " " + found->second.shape;
    if (then != describe(leaf.tensor)) {
      throw Error(name + " was recorded as " + then + ", but is " + describe(leaf.tensor) +
                  " here: replay needs the recorded model");
    }
  }
  check_ties(leaves, recorded, entries, reader);
  if (recorded.size() == leaves.all.size()) return;
  std::map<std::string, bool> present;
  for (const NamedLeaf& leaf : leaves.all) present[leaf.name] = true;
  for (const auto& [name, entry] : recorded) {
    if (present.contains(name)) continue;
    throw Error("the " + entry.kind + " '" + reader.full_name(name) +
                "' was recorded, but the model has none of that name here: replay needs the "
                "recorded model");
  }
}

void restore_leaves(const Leaves& leaves, const Recorded& recorded,
                    const std::vector<LayoutEntry>& entries, const StateReader& reader) {
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const NamedLeaf& leaf = leaves.all[i];
    const LayoutEntry& entry = recorded.at(leaf.name);
    if (leaf.tensor.is_leaf() && leaf.tensor.requires_grad() != entry.flag) {
      leaf.tensor.requires_grad_(entry.flag);
    }
    if (leaves.origins[i] >= 0) continue;  // the same tensor under another name
    const bool is_alias = entry.origin >= 0;
    read_tensor(reader, is_alias ? entries[static_cast<std::size_t>(entry.origin)].name : leaf.name,
                leaf.tensor);
    if (i < leaves.parameters) read_gradient(reader, leaf, entry.gradient);
  }
}

}  // namespace

void save(const torch::nn::Module& module, const StateWriter& writer) {
  const Leaves leaves = leaves_of(module);
  const std::vector<std::string> gradients = write_gradients(writer, parameters_of(leaves));
  std::vector<LayoutEntry> entries;
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const bool is_parameter = i < leaves.parameters;
    LayoutEntry entry = describe_leaf(is_parameter ? "parameter" : "buffer", leaves.all[i]);
    if (is_parameter) entry.gradient = gradients[i];
    entry.origin = leaves.origins[i];
    const Writers writers = is_parameter ? Writers::program : Writers::computing;
    if (entry.origin < 0) write_tensor(writer, leaves.all[i].name, leaves.all[i].tensor, writers);
    entries.push_back(std::move(entry));
  }
  for (const auto& [name, part] : modules_of(module)) {
    entries.push_back({.kind = "module", .flag = part->is_training(), .name = name});
  }
  writer.bytes(kLayoutItem, to_text(entries));
}

void load(torch::nn::Module& module, const StateReader& reader) {
  const std::vector<LayoutEntry> entries = parse_layout(reader.bytes(kLayoutItem));
  Recorded recorded;
  std::map<std::string, bool> training;
  for (const LayoutEntry& entry : entries) {
    if (entry.kind == "module") {
      training[entry.name] = entry.flag;
    } else {
      recorded[entry.name] = entry;
    }
  }
  const Leaves leaves = leaves_of(module);
  check(leaves, recorded, entries, reader);
  restore_leaves(leaves, recorded, entries, reader);
  // Outer modules first, since train() reaches down.
  for (const auto& [name, part] : modules_of(module)) {
    const auto found = training.find(name);
    if (found != training.end() && part->is_training() != found->second) part->train(found->second);
  }
}

torch::nn::Module& module_of(const torch::nn::AnyModule& any) {
  if (any.is_empty()) throw Error("a registered AnyModule is empty: register it after it is set");
  return *any.ptr();  // `any` shares it
}

void save(const at::Tensor& tensor, const StateWriter& writer) {
  if (!tensor.defined())
    return writer.bytes(kLayoutItem, to_text({{.kind = "undefined", .name = ""}}));
  const NamedLeaf leaf{"", tensor};
  LayoutEntry entry = describe_leaf("tensor", leaf);
  entry.device = c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true);
  // What an operation computed comes back as a plain tensor, and is to be described like one.
  entry.gradient =
      tensor.is_leaf() ? write_gradients(writer, {&leaf, 1}).front() : std::string(kNoGradient);
  write_tensor(writer, "", tensor, Writers::program);
  writer.bytes(kLayoutItem, to_text({entry}));
}

void load(at::Tensor& tensor, const StateReader& reader) {
  const std::vector<LayoutEntry> entries = parse_layout(reader.bytes(kLayoutItem));
  if (entries.size() != 1)
    throw Error("'" + reader.full_name("") + "' was not recorded as a tensor");
  const LayoutEntry& entry = entries.front();
  if (entry.kind == "undefined") return tensor.reset();
  translated("'" + reader.full_name("") + "'", [&] {
    const auto& sizes = reader.item("").sizes;
    const at::ScalarType type = scalar_type_named(entry.type);
    const bool fits = tensor.defined() && has_content(tensor) && tensor.scalar_type() == type &&
                      tensor.sizes() == at::IntArrayRef(sizes);
    if (!fits) {
      const at::Device device = tensor.defined() ? tensor.device() : current_device(entry.device);
      tensor = at::empty(sizes, at::TensorOptions().dtype(type).device(device));
    } else if (!tensor.is_leaf()) {
      tensor = tensor.detach();  // the recorded content was not computed by this program's graph
    }
    if (tensor.requires_grad() != entry.flag) tensor.requires_grad_(entry.flag);
  });
  read_tensor(reader, "", tensor);
  if (entry.gradient != "-") read_gradient(reader, {"", tensor}, entry.gradient);
}

}  // namespace flor::libtorch
