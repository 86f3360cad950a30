// Saves and loads modules of TorchScript.
#include "libtorch/leaves.h"
#include "libtorch/tensor.h"

#include <flor/torch_script.h>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace flor::libtorch {
namespace {

/// The item with the attributes: one pickled tuple of their names, one per line, and their values.
constexpr std::string_view kAttributesItem = ".attributes";
/// Prefix of the items for tensors inside the values: ".attribute0", ...
constexpr std::string_view kTensorItem = ".attribute";

Leaves leaves_of(const torch::jit::Module& module) {
  const auto named = [](const auto& items) {
    std::vector<NamedLeaf> leaves;
    for (const auto& item : items) leaves.push_back({item.name, item.value});
    return leaves;
  };
  return make_leaves(named(module.named_parameters()), named(module.named_buffers()));
}

struct Attribute {
  torch::jit::Module owner;  ///< a handle of the module that has the attribute
  std::string name;          ///< name in its owner
  std::string full_name;
};

bool is_leaf(const c10::ClassType& type, std::size_t index) {
  return type.is_parameter(index) || type.is_buffer(index) ||
         type.getAttribute(index)->isSubtypeOf(*c10::TensorType::get());
}

/// The attributes that are neither parameters, buffers nor modules.
std::vector<Attribute> attributes_of(const torch::jit::Module& module) {
  std::vector<Attribute> attributes;
  for (const auto& part : module.named_modules()) {
    const auto type = part.value.type();
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      if (is_leaf(*type, i) || type->getAttribute(i)->is_module()) continue;
      const std::string& name = type->getAttributeName(i);
      attributes.push_back({part.value, name, part.name.empty() ? name : part.name + "." + name});
    }
  }
  return attributes;
}

std::string names_of(const std::vector<Attribute>& attributes) {
  std::string names;
  for (const Attribute& attribute : attributes) names += attribute.full_name + "\n";
  return names;
}

bool can_be_kept(const c10::IValue& value) {
  const auto all = [](const auto& values) {
    return std::all_of(std::begin(values), std::end(values),
                       [](const c10::IValue& part) { return can_be_kept(part); });
  };
  if (value.isList()) return all(value.toList().vec());
  if (value.isTuple()) return all(value.toTupleRef().elements());
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (!can_be_kept(entry.key()) || !can_be_kept(entry.value())) return false;
    }
    return true;
  }
  return value.isNone() || value.isBool() || value.isInt() || value.isDouble() ||
         value.isString() || value.isTensor();
}

void write_attributes(const std::vector<Attribute>& attributes, const StateWriter& writer,
                      std::vector<LayoutEntry>& entries) {
  std::vector<c10::IValue> values;
  for (const Attribute& attribute : attributes) {
    values.push_back(attribute.owner.attr(attribute.name));
    if (can_be_kept(values.back())) continue;
    throw Error("the attribute '" + writer.full_name(attribute.full_name) + "' is a " +
                values.back().type()->str() +
                ", which flor cannot save: make it a number, a text, a tensor, or a list, tuple or "
                "dictionary of these");
  }
  std::vector<at::Tensor> tensors;
  const std::vector<char> pickled = torch::jit::pickle(
      c10::ivalue::Tuple::create({names_of(attributes), c10::ivalue::Tuple::create(values)}),
      &tensors);
  writer.bytes(kAttributesItem, {pickled.data(), pickled.size()});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = std::string(kTensorItem) + std::to_string(i);
    LayoutEntry entry = describe_leaf("attribute", {name, tensors[i]});
    entry.device = c10::DeviceTypeName(tensors[i].device().type(), /*lower_case=*/true);
    place_tensor(writer, name, tensors[i], Held::anew);
    write_tensor(writer, name, tensors[i]);
    entries.push_back(std::move(entry));
  }
}

/// Makes the tensors. They are filled later, before the restore as a whole returns.
std::vector<at::Tensor> read_tensors(const std::vector<LayoutEntry>& entries,
                                     const StateReader& reader) {
  std::vector<at::Tensor> tensors;
  for (const LayoutEntry& entry : entries) {
    if (entry.kind != "attribute") continue;
    tensors.push_back(read_handle(reader, entry.name, {}, false, [&] {
      return empty_with(reader.item(entry.name).sizes, entry.strides,
                        at::TensorOptions()
                            .dtype(scalar_type_named(entry.type))
                            .device(current_device(entry.device)));
    }));
  }
  return tensors;
}

void check_names(const std::vector<Attribute>& attributes, const std::string& recorded,
                 const StateReader& reader) {
  if (recorded == names_of(attributes)) return;
  throw Error("the attributes of the scripted module '" + reader.full_name("") +
              "' are not those that were recorded: the recorded model is needed");
}

}  // namespace

void save(const torch::jit::Module& module, const StateWriter& writer) {
  translated("'" + writer.full_name("") + "'", [&] {
    std::vector<LayoutEntry> entries = write_leaves(leaves_of(module), writer);
    write_attributes(attributes_of(module), writer, entries);
    writer.bytes(kLayoutItem, to_text(entries));
  });
}

void load(torch::jit::Module& module, const StateReader& reader) {
  translated("'" + reader.full_name("") + "'", [&] {
    const std::vector<LayoutEntry> entries = parse_layout(reader.bytes(kLayoutItem));
    const std::string pickled = reader.bytes(kAttributesItem);
    std::vector<Attribute> attributes = attributes_of(module);
    const c10::IValue recorded = torch::jit::unpickle(pickled.data(), pickled.size(), nullptr,
                                                      read_tensors(entries, reader));
    const auto& parts = recorded.toTupleRef().elements();
    check_names(attributes, parts.at(0).toStringRef(), reader);
    read_leaves(leaves_of(module), entries, reader);
    const auto& values = parts.at(1).toTupleRef().elements();
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      attributes[i].owner.setattr(attributes[i].name, values.at(i));
    }
  });
}

}  // namespace flor::libtorch
