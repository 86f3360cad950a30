#include "libtorch/leaves.h"

#include "libtorch/lineage.h"
#include "libtorch/tensor.h"

#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace flor::libtorch {
namespace {

std::span<const NamedLeaf> parameters_of(const Leaves& leaves) {
  return std::span(leaves.all).first(leaves.parameters);
}

using Recorded = std::map<std::string, LayoutEntry>;

/// Throws if two names are one tensor here that were different tensors when recorded.
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
                "' are one tensor here, but were two when recorded: the recorded model is "
                "needed");
  }
}

/// Throws unless the model has exactly the recorded tensors.
void check(const Leaves& leaves, const Recorded& recorded, const std::vector<LayoutEntry>& entries,
           const StateReader& reader) {
  for (const NamedLeaf& leaf : leaves.all) {
    const std::string name = "'" + reader.full_name(leaf.name) + "'";
    const auto found = recorded.find(leaf.name);
    if (found == recorded.end()) {
      throw Error("the model has a tensor " + name +
                  " that was not there when it was recorded: the recorded model is needed");
    }
    const std::string then = found->second.type + " " + found->second.shape;
    if (then != describe(leaf.tensor)) {
      throw Error(name + " was recorded as " + then + ", but is " + describe(leaf.tensor) +
                  " here: the recorded model is needed");
    }
  }
  check_ties(leaves, recorded, entries, reader);
  if (recorded.size() == leaves.all.size()) return;
  std::map<std::string, bool> present;
  for (const NamedLeaf& leaf : leaves.all) present[leaf.name] = true;
  for (const auto& [name, entry] : recorded) {
    if (present.contains(name)) continue;
    throw Error("the " + entry.kind + " '" + reader.full_name(name) +
                "' was recorded, but the model has none of that name here: the recorded model is "
                "needed");
  }
}

void restore_leaves(const Leaves& leaves, const Recorded& recorded,
                    const std::vector<LayoutEntry>& entries, const StateReader& reader) {
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const NamedLeaf& leaf = leaves.all[i];
    const LayoutEntry& entry = recorded.at(leaf.name);
    if (leaf.tensor.is_leaf() && trains(leaf.tensor) != entry.flag) {
      leaf.tensor.requires_grad_(entry.flag);
    }
    if (leaves.origins[i] >= 0) continue;  // restored under its other name
    const bool is_alias = entry.origin >= 0;
    const std::string& item =
        is_alias ? entries[static_cast<std::size_t>(entry.origin)].name : leaf.name;
    if (strides_text(leaf.tensor) != entry.strides && !reader.placement(item)) {
      const at::NoGradGuard no_grad;
      leaf.tensor.set_data(empty_with(leaf.tensor.sizes(), entry.strides, leaf.tensor.options()));
    }
    read_leaf(reader, item, leaf.tensor);
    if (i < leaves.parameters) read_gradient(reader, leaf, entry.gradient);
  }
}

}  // namespace

LayoutEntry describe_leaf(std::string kind, const NamedLeaf& leaf) {
  LayoutEntry entry{.kind = std::move(kind), .name = leaf.name};
  entry.type = type_name(leaf.tensor.scalar_type());
  entry.shape = shape_text(leaf.tensor.sizes());
  if (has_content(leaf.tensor)) entry.strides = strides_text(leaf.tensor);
  entry.flag = trains(leaf.tensor);
  return entry;
}

Leaves make_leaves(std::vector<NamedLeaf> parameters, std::vector<NamedLeaf> buffers) {
  Leaves leaves;
  leaves.all = std::move(parameters);
  leaves.parameters = leaves.all.size();
  for (NamedLeaf& buffer : buffers) leaves.all.push_back(std::move(buffer));
  std::unordered_map<const c10::TensorImpl*, int> first;
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const int index = static_cast<int>(i);
    const auto [seen, is_new] = first.emplace(leaves.all[i].tensor.unsafeGetTensorImpl(), index);
    leaves.origins.push_back(is_new ? -1 : seen->second);
  }
  return leaves;
}

std::vector<LayoutEntry> write_leaves(const Leaves& leaves, const StateWriter& writer) {
  const std::vector<std::string> gradients = write_gradients(writer, parameters_of(leaves));
  std::vector<LayoutEntry> entries;
  for (std::size_t i = 0; i < leaves.all.size(); ++i) {
    const bool is_parameter = i < leaves.parameters;
    LayoutEntry entry = describe_leaf(is_parameter ? "parameter" : "buffer", leaves.all[i]);
    if (is_parameter) entry.gradient = gradients[i];
    entry.origin = leaves.origins[i];
    const Writers writers = is_parameter ? Writers::program : Writers::computing;
    if (entry.origin < 0) {
      place_tensor(writer, leaves.all[i].name, leaves.all[i].tensor, Held::as_leaf);
      write_tensor(writer, leaves.all[i].name, leaves.all[i].tensor, writers);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void read_leaves(const Leaves& leaves, const std::vector<LayoutEntry>& entries,
                 const StateReader& reader) {
  Recorded recorded;
  for (const LayoutEntry& entry : entries) {
    if (entry.kind == "parameter" || entry.kind == "buffer") recorded[entry.name] = entry;
  }
  check(leaves, recorded, entries, reader);
  restore_leaves(leaves, recorded, entries, reader);
}

}  // namespace flor::libtorch
