// Saves and loads optimizers. Those of libtorch are saved field by field, with group and index as
// keys. So equal optimizers have equal bytes in every process (libtorch uses addresses as keys),
// and a changed learning rate is restored (libtorch does not save it).
#include "libtorch/optimizer_fields.h"
#include "libtorch/tensor.h"
#include "protocol/module_layout.h"

#include <flor/torch.h>

#include <torch/serialize/archive.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor::libtorch {
namespace {

using torch::optim::Optimizer;
using torch::optim::OptimizerOptions;
using torch::optim::OptimizerParamGroup;
using torch::optim::OptimizerParamState;
using StateMap = std::remove_cvref_t<decltype(std::declval<Optimizer&>().state())>;

/// The key of a parameter in the optimizer's state. It is the parameter's address: as a pointer
/// since libtorch 2, as text before.
template <typename Key>
Key key_of(const at::Tensor& parameter) {
  if constexpr (std::same_as<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return std::move(text).str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}
StateMap::key_type state_key(const at::Tensor& parameter) {
  return key_of<StateMap::key_type>(parameter);
}

const OptimizerParamState* find_state(const Optimizer& optimizer, const at::Tensor& parameter) {
  const auto found = optimizer.state().find(state_key(parameter));
  return found == optimizer.state().end() ? nullptr : found->second.get();
}

// Writing and reading fields ----------------------------------------------------------------------

class FieldWriter {
 public:
  FieldWriter(const StateWriter& writer, at::Tensor like)
      : writer_(writer), like_(std::move(like)) {}

  template <typename T>
  void number(const std::string& name, const T& value) {
    writer_.number(name, value);
  }
  template <typename Optional>
  void optional_number(const std::string& name, const Optional& value) {
    if (value.has_value()) writer_.number(name, *value);
  }
  template <typename Optional>
  void text(const std::string& name, const Optional& value) {
    if (value.has_value()) writer_.bytes(name, *value);
  }
  void tensor(const std::string& name, const at::Tensor& value) {
    if (!value.defined()) return;
    if (value.device() != like_.device()) {
      writer_.bytes(name + ".device",
                    c10::DeviceTypeName(value.device().type(), /*lower_case=*/true));
    }
    place_tensor(writer_, name, value, Held::by_handle);
    write_tensor(writer_, name, value, Writers::program);
  }
  template <typename Sequence>
  void tensors(const std::string& name, const Sequence& values) {
    writer_.number(name + ".size", static_cast<std::uint64_t>(values.size()));
    std::size_t index = 0;
    for (const at::Tensor& value : values) tensor(name + "/" + std::to_string(index++), value);
  }
  template <typename Optional>
  void optional_tensors(const std::string& name, const Optional& values) {
    if (values.has_value()) tensors(name, *values);
  }

 private:
  StateWriter writer_;
  at::Tensor like_;
};

class FieldReader {
 public:
  /// `like` is the parameter to which the state belongs.
  FieldReader(const StateReader& reader, at::Tensor like)
      : reader_(reader), like_(std::move(like)) {}

  template <typename T>
  void number(const std::string& name, T& value) {
    reader_.number(name, value);
  }
  template <typename Optional>
  void optional_number(const std::string& name, Optional& value) {
    value.reset();
    if (!reader_.has(name)) return;
    value = typename Optional::value_type{};
    reader_.number(name, *value);
  }
  template <typename Optional>
  void text(const std::string& name, Optional& value) {
    value.reset();
    if (reader_.has(name)) value = reader_.bytes(name);
  }
  void tensor(const std::string& name, at::Tensor& value) {
    if (!reader_.has(name)) return value.reset();
    const store::Item& item = reader_.item(name);
    const bool moved = reader_.has(name + ".device");
    const at::Device device =
        moved ? current_device(reader_.bytes(name + ".device")) : like_.device();
    value = read_handle(reader_, name, value, fits(value, item) && value.device() == device,
                        [&] { return empty_as_recorded(item, like_, device); });
  }
  template <typename Sequence>
  void tensors(const std::string& name, Sequence& values) {
    std::uint64_t size = 0;
    reader_.number(name + ".size", size);
    values.clear();
    values.resize(size);
    std::size_t index = 0;
    for (at::Tensor& value : values) tensor(name + "/" + std::to_string(index++), value);
  }
  template <typename Optional>
  void optional_tensors(const std::string& name, Optional& values) {
    values.reset();
    if (!reader_.has(name + ".size")) return;
    values = typename Optional::value_type{};
    tensors(name, *values);
  }

 private:
  static bool fits(const at::Tensor& value, const store::Item& item) {
    return value.defined() && has_content(value) &&
           element_type(value.scalar_type()) == item.type &&
           value.sizes() == at::IntArrayRef(item.sizes);
  }

  StateReader reader_;
  at::Tensor like_;
};

// The outline of an optimizer ---------------------------------------------------------------------

/// Identifies the optimizer and the parameters to which a state belongs. Its text is a line with
/// the kind ("other" unless it is exactly one of libtorch's own optimizers), then for each group a
/// line with the shapes of its parameters.
struct Outline {
  std::string kind;
  std::vector<std::vector<std::string>> groups;
  bool operator==(const Outline&) const = default;
};

template <typename Options, typename State>
bool consists_of(const Optimizer& optimizer) {
  for (const OptimizerParamGroup& group : optimizer.param_groups()) {
    const OptimizerOptions& options = group.options();
    if (typeid(options) != typeid(Options)) return false;
  }
  for (const auto& entry : optimizer.state()) {
    if (!entry.second) continue;
    const OptimizerParamState& state = *entry.second;
    if (typeid(state) != typeid(State)) return false;
  }
  return true;
}

std::string kind_of(const Optimizer& optimizer) {
  std::string kind = "other";
  any_optimizer([&]<typename Options, typename State>(const char* name) {
    if (!consists_of<Options, State>(optimizer)) return false;
    kind = name;
    return true;
  });
  return kind;
}

Outline outline_of(const Optimizer& optimizer) {
  Outline outline{kind_of(optimizer), {}};
  for (const OptimizerParamGroup& group : optimizer.param_groups()) {
    std::vector<std::string>& shapes = outline.groups.emplace_back();
    for (const at::Tensor& parameter : group.params()) {
      shapes.push_back(parameter.defined() ? shape_text(parameter.sizes()) : "undefined");
    }
  }
  return outline;
}

std::string to_text(const Outline& outline) {
  std::string text = outline.kind + '\n';
  for (const std::vector<std::string>& shapes : outline.groups) {
    for (const std::string& shape : shapes) text.append(shape).append(" ");
    text += '\n';
  }
  return text;
}

Outline parse_outline(const std::string& text) {
  Outline outline;
  std::istringstream lines(text);
  std::getline(lines, outline.kind);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::vector<std::string>& shapes = outline.groups.emplace_back();
    for (std::string shape; in >> shape;) shapes.push_back(shape);
  }
  return outline;
}

std::string in_words(const Outline& outline) {
  std::string text = outline.kind == "other" ? "an optimizer" : outline.kind;
  text += " with " + std::to_string(outline.groups.size()) +
          (outline.groups.size() == 1 ? " group of " : " groups of ");
  for (std::size_t g = 0; g < outline.groups.size(); ++g) {
    if (g > 0) text += ", ";
    text += std::to_string(outline.groups[g].size());
  }
  return text + " parameters";
}

std::string group_name(std::size_t group) { return "group" + std::to_string(group); }
std::string state_name(std::size_t group, std::size_t index) {
  return group_name(group) + "/" + std::to_string(index);
}

void check(const Outline& here, const Outline& recorded, const StateReader& reader) {
  const std::string advice = " here: the recorded optimizer is needed";
  const std::string then = in_words(recorded);
  const std::string now = in_words(here);
  if (then != now) {
    throw Error("'" + reader.full_name("") + "' was recorded as " + then + ", but is " + now +
                advice);
  }
  for (std::size_t g = 0; g < here.groups.size(); ++g) {
    for (std::size_t p = 0; p < here.groups[g].size(); ++p) {
      if (here.groups[g][p] == recorded.groups[g][p]) continue;
      throw Error("the parameter of '" + reader.full_name(state_name(g, p)) +
                  "' was recorded with shape " + recorded.groups[g][p] + ", but has " +
                  here.groups[g][p] + advice);
    }
  }
}

/// An item for each parameter that has a state, since a state may consist of undefined tensors
/// only.
constexpr std::string_view kPresentItem = "present";

template <typename Options, typename State>
void save_fields(const Optimizer& optimizer, const StateWriter& writer) {
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    const OptimizerParamGroup& group = optimizer.param_groups()[g];
    FieldWriter options(writer.within(group_name(g)), {});
    visit(options, const_cast<Options&>(static_cast<const Options&>(group.options())));
    for (std::size_t p = 0; p < group.params().size(); ++p) {
      const OptimizerParamState* state = find_state(optimizer, group.params()[p]);
      if (!state) continue;
      const StateWriter part = writer.within(state_name(g, p));
      part.number(kPresentItem, true);
      FieldWriter fields(part, group.params()[p]);
      visit(fields, const_cast<State&>(static_cast<const State&>(*state)));
    }
  }
}

template <typename Options, typename State>
void load_fields(Optimizer& optimizer, const StateReader& reader) {
  StateMap restored;
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    OptimizerParamGroup& group = optimizer.param_groups()[g];
    FieldReader options(reader.within(group_name(g)), {});
    visit(options, static_cast<Options&>(group.options()));
    for (std::size_t p = 0; p < group.params().size(); ++p) {
      const StateReader part = reader.within(state_name(g, p));
      if (!part.has(kPresentItem)) continue;
      const at::Tensor& parameter = group.params()[p];
      std::unique_ptr<OptimizerParamState>& state = restored[state_key(parameter)];
      const auto found = optimizer.state().find(state_key(parameter));
      if (found != optimizer.state().end()) state = std::move(found->second);
      if (!state) state = std::make_unique<State>();
      FieldReader fields(part, parameter);
      visit(fields, static_cast<State&>(*state));
    }
  }
  optimizer.state() = std::move(restored);
}

// Optimizers of the user's ------------------------------------------------------------------------

/// A key for libtorch's archive format that is the same in every process. It has only digits, since
/// libtorch 2 reads it as a number.
std::string archive_key(std::size_t group, std::size_t index) {
  return std::to_string((static_cast<std::uint64_t>(group) << 32U) + index + 1);
}

void write_archive(const Optimizer& optimizer, torch::serialize::OutputArchive& archive) {
  using torch::serialize::OutputArchive;
  const auto unit = archive.compilation_unit();
  OutputArchive states(unit);
  OutputArchive groups(unit);
  const auto count = [](std::size_t value) {
    return at::scalar_tensor(static_cast<std::int64_t>(value), at::kLong);
  };
  groups.write("param_groups/size", count(optimizer.param_groups().size()));
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    const OptimizerParamGroup& group = optimizer.param_groups()[g];
    OutputArchive group_archive(unit);
    group_archive.write("params/size", count(group.params().size()));
    for (std::size_t p = 0; p < group.params().size(); ++p) {
      group_archive.write("params/" + std::to_string(p), c10::IValue(archive_key(g, p)));
      if (const OptimizerParamState* state = find_state(optimizer, group.params()[p])) {
        OutputArchive state_archive(unit);
        state->serialize(state_archive);
        states.write(archive_key(g, p), state_archive);
      }
    }
    OutputArchive options(unit);
    group.options().serialize(options);
    group_archive.write("options", options);
    groups.write("param_groups/" + std::to_string(g), group_archive);
  }
  archive.write("pytorch_version", c10::IValue("1.5.0"));  // version of the format
  archive.write("state", states);
  archive.write("param_groups", groups);
}

void read_archive(Optimizer& optimizer, torch::serialize::InputArchive& archive) {
  using torch::serialize::InputArchive;
  optimizer.state().clear();
  optimizer.load(archive);
  InputArchive groups;
  archive.read("param_groups", groups);
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    InputArchive group;
    InputArchive options;
    groups.read("param_groups/" + std::to_string(g), group);
    group.read("options", options);
    optimizer.param_groups()[g].options().serialize(options);
  }
  // Reading has made an empty entry for parameters without a recorded state.
  for (OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      const auto found = optimizer.state().find(state_key(parameter));
      if (found != optimizer.state().end() && !found->second) optimizer.state().erase(found);
    }
  }
}

}  // namespace

void save(const Optimizer& optimizer, const StateWriter& writer) {
  const Outline outline = outline_of(optimizer);
  writer.bytes(kLayoutItem, to_text(outline));
  const bool known = any_optimizer([&]<typename Options, typename State>(const char* name) {
    if (outline.kind != name) return false;
    save_fields<Options, State>(optimizer, writer);
    return true;
  });
  if (known) return;
  translated("'" + writer.full_name("") + "', an optimizer that is not of libtorch", [&] {
    writer.bytes("archive", archived([&](auto& out) { write_archive(optimizer, out); }));
  });
}

void load(Optimizer& optimizer, const StateReader& reader) {
  const Outline outline = outline_of(optimizer);
  check(outline, parse_outline(reader.bytes(kLayoutItem)), reader);
  const bool known = any_optimizer([&]<typename Options, typename State>(const char* name) {
    if (outline.kind != name) return false;
    load_fields<Options, State>(optimizer, reader);
    return true;
  });
  if (known) return;
  translated("'" + reader.full_name("") + "', an optimizer that is not of libtorch", [&] {
    unarchive(reader.bytes("archive"), [&](auto& in) { read_archive(optimizer, in); });
  });
}

std::string archived(const std::function<void(torch::serialize::OutputArchive&)>& write) {
  torch::serialize::OutputArchive archive;
  write(archive);
  std::string content;
  archive.save_to([&](const void* data, std::size_t size) {
    content.append(static_cast<const char*>(data), size);
    return size;
  });
  return content;
}

void unarchive(const std::string& content,
               const std::function<void(torch::serialize::InputArchive&)>& read) {
  torch::serialize::InputArchive archive;
  archive.load_from(content.data(), content.size());
  read(archive);
}

}  // namespace flor::libtorch
