#include "export/state_dict.h"

#include "output/terminal_text.h"
#include "protocol/module_layout.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

namespace flor::cli {
namespace {

using libtorch::LayoutEntry;

std::string_view object_of(std::string_view item) { return item.substr(0, item.find('/')); }

std::vector<std::string> objects_in(const store::CheckpointReader& checkpoint) {
  std::vector<std::string> objects;
  for (const store::Item& item : checkpoint.items()) {
    if (item.name.starts_with('@')) continue;
    std::string object(object_of(item.name));
    if (std::ranges::find(objects, object) == objects.end()) objects.push_back(std::move(object));
  }
  return objects;
}

/// The layout of an object that is a module; nullopt if it is none.
std::optional<std::vector<LayoutEntry>> module_layout(const store::CheckpointReader& checkpoint,
                                                      std::string_view object) {
  const auto item = checkpoint.find(fmt::format("{}/{}", object, libtorch::kLayoutItem));
  if (!item) return std::nullopt;
  const std::vector<std::byte> bytes = checkpoint.read(*item);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string kind = text.substr(0, text.find(' '));
  if (kind != "parameter" && kind != "buffer" && kind != "module") return std::nullopt;
  return libtorch::parse_layout(text);
}

std::vector<store::ArchivedTensor> tensors_of_module(const store::CheckpointReader& checkpoint,
                                                     const std::string& object,
                                                     const std::vector<LayoutEntry>& layout) {
  std::vector<store::ArchivedTensor> tensors;
  for (const LayoutEntry& entry : layout) {
    if (entry.kind != "parameter" && entry.kind != "buffer") continue;
    const auto origin = static_cast<std::size_t>(std::max(entry.origin, 0));
    if (origin >= layout.size()) throw Damaged("the recorded layout of a model is damaged");
    const LayoutEntry& held = entry.origin < 0 ? entry : layout[origin];
    const auto item = checkpoint.find(object + "/" + held.name);
    if (!item || checkpoint.items()[*item].type == store::ElementType::bytes) {
      throw UsageError(
          fmt::format("{} of {} is no dense tensor, which a .pt file needs: export to a "
                      ".safetensors file",
                      printable(entry.name), printable(object)));
    }
    tensors.push_back({.name = entry.name, .item = *item});
  }
  return tensors;
}

/// The tensors of all objects; or of one object, whose name is then left out of the tensors' names.
std::vector<store::ArchivedTensor> all_tensors(const store::CheckpointReader& checkpoint,
                                               std::string_view object) {
  std::vector<store::ArchivedTensor> tensors;
  for (std::size_t i = 0; i < checkpoint.items().size(); ++i) {
    const std::string& name = checkpoint.items()[i].name;
    if (store::is_internal(name)) continue;
    if (object.empty()) {
      tensors.push_back({.name = name, .item = i});
    } else if (object_of(name) == object) {
      const bool whole = name.size() == object.size();  // the object is itself a tensor
      tensors.push_back({.name = whole ? name : name.substr(object.size() + 1), .item = i});
    }
  }
  return tensors;
}

}  // namespace

StateDict state_dict_of(const store::CheckpointReader& checkpoint, std::string_view object) {
  const std::vector<std::string> objects = objects_in(checkpoint);
  if (!object.empty() && std::ranges::find(objects, object) == objects.end()) {
    throw NotFound(fmt::format("the checkpoint has no object '{}': it has {}", printable(object),
                               printable(fmt::format("{}", fmt::join(objects, ", ")))));
  }
  std::map<std::string, std::vector<LayoutEntry>> modules;
  for (const std::string& name : objects) {
    if (!object.empty() && name != object) continue;
    if (auto layout = module_layout(checkpoint, name)) modules.emplace(name, std::move(*layout));
  }
  if (modules.size() == 1) {
    const auto& [name, layout] = *modules.begin();
    return {.object = name, .modules = {}, .tensors = tensors_of_module(checkpoint, name, layout)};
  }
  StateDict all{
      .object = std::string(object), .modules = {}, .tensors = all_tensors(checkpoint, object)};
  for (const auto& [name, layout] : modules) all.modules.push_back(name);
  return all;
}

}  // namespace flor::cli
