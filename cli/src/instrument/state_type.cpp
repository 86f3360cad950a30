#include "instrument/state_type.h"

#include "sources/syntax/libraries.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::instrument {
namespace {

using sources::Kind;
using sources::one_of;

constexpr int kDepthMax = 8;  // types in types, and functions that return what functions return

constexpr std::array<std::string_view, 7> kOptimizers = {"Adam",    "AdamW", "SGD",      "RMSprop",
                                                         "Adagrad", "LBFGS", "Optimizer"};
constexpr std::array<std::string_view, 3> kSchedulers = {"StepLR", "LRScheduler",
                                                         "ReduceLROnPlateauScheduler"};
constexpr std::array<std::string_view, 11> kEngines = {
    "mt19937",       "mt19937_64",   "default_random_engine",
    "minstd_rand",   "minstd_rand0", "ranlux24",
    "ranlux24_base", "ranlux48",     "ranlux48_base",
    "knuth_b",       "Generator"};
constexpr std::array<std::string_view, 4> kPointers = {"unique_ptr", "shared_ptr", "make_unique",
                                                       "make_shared"};

/// The kind of a container of such elements.
StateKind kind_of_container(StateKind element) {
  switch (element) {
    case StateKind::constant:
    case StateKind::loader:
    case StateKind::other:
    case StateKind::script:
      return StateKind::other;
    default:
      return StateKind::container;
  }
}

}  // namespace

StateTypes::StateTypes(const Program& program) : program_(program) {
  find_modules();
  find_data();
}

StateType StateTypes::of(int id) const {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  StateType type = of(id, 0);
  if (type.kind == StateKind::other && data_.contains(id)) type.kind = StateKind::loader;
  type.tensors = type.kind == StateKind::container && has_tensors(id);
  return known_.emplace(id, std::move(type)).first->second;
}

/// Whether the type of a container says that it has tensors, or what a deduced one is made of.
bool StateTypes::has_tensors(int id) const {
  const Variable& variable = program_.variable(id);
  if (variable.type.tensors || !variable.type.deduced || variable.body < 0) {
    return variable.type.tensors;
  }
  const Reader& reader = *program_.body(variable.body).reader;
  const Range range = program_.declaration_of(id);
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (reader.is(k, "Tensor")) return true;
  }
  return false;
}

bool StateTypes::is_constant(int id) const {
  const Place place = declaration_of(id);
  const auto declared = place.reader ? place.reader->declared(place.at, place.begin) : std::nullopt;
  if (!declared || declared->binding) return false;
  bool constant = false;
  for (std::size_t k = declared->type.begin; k < declared->type.end;) {
    if (place.reader->is(k, "*")) constant = false;  // what it points to was
    constant = constant || place.reader->is(k, "const");
    k = std::max(place.reader->behind_angles(k), k + 1);
  }
  return constant;
}

bool StateTypes::leads(int id, int depth) const {
  const sources::Type& declared = program_.variable(id).type;
  const StateType type = of(id);
  return type.tensors || type.kind == StateKind::tensor || type.kind == StateKind::module ||
         type.kind == StateKind::script || type.kind == StateKind::optimizer ||
         type.kind == StateKind::scheduler || declared.pointer || is_pointer(type) ||
         has_leading_member(type.own, depth) || has_leading_member(declared.own, depth) ||
         has_leading_member(declared.element, depth);
}

bool StateTypes::has_leading_member(std::string_view own, int depth) const {
  if (own.empty() || depth > kDepthMax) return false;
  return std::ranges::any_of(program_.model().fields_of(own), [&](std::string_view name) {
    const int field = program_.model().resolve_shared(name);
    return program_.variable(field).type.reference || is_mutable(field) || leads(field, depth + 1);
  });
}

bool StateTypes::is_mutable(int field) const {
  const Place place = declaration_of(field);
  for (std::size_t k = place.at; place.reader && k-- > place.begin;) {
    if (place.reader->is(k, "mutable")) return true;
    if (place.reader->is(k, ";") || place.reader->is(k, "{") || place.reader->is(k, "}")) break;
  }
  return false;
}

/// Finds the data sets that loaders are made of: questions about them are asked of the loaders.
void StateTypes::find_data() {
  const auto& variables = program_.model().variables();
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const auto id = static_cast<int>(v);
    const int body = variables[v].body;
    if (body < 0 || variables[v].at == 0 || of(id, 0).kind != StateKind::loader) continue;
    const Range range = program_.declaration_of(id);
    const Reader& reader = *program_.body(body).reader;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      if (!reader.is_name(k) || reader.text(k) == variables[v].name) continue;
      const int other = program_.model().resolve(body, reader.text(k), k);
      if (other >= 0 && variables[static_cast<std::size_t>(other)].body == body)
        data_.insert(other);
    }
  }
}

void StateTypes::find_modules() {
  for (bool more = true; more;) {
    more = false;
    for (const auto& file : program_.files()) {
      const auto& tokens = file->tokens.all;
      for (const sources::ClassFacts& facts : file->structure.classes) {
        for (std::size_t k = facts.bases.begin; k < facts.bases.end; ++k) {
          const std::string_view word = tokens[k].text;
          const bool layer = k >= 2 && tokens[k - 1].is("::") && tokens[k - 2].is("nn");
          if (word == "Module" || word == "Cloneable" || word == "ModuleHolder" ||
              (layer && word.ends_with("Impl")) || modules_.contains(word)) {
            more = modules_.insert(facts.name).second || more;
          }
          if (word == "ModuleHolder") holders_.insert(facts.name);
          if (word == "Optimizer" || optimizers_.contains(word)) optimizers_.insert(facts.name);
        }
      }
      for (std::size_t k = 0; k + 2 < tokens.size(); ++k) {
        if (tokens[k].text.starts_with("TORCH_MODULE") && tokens[k + 1].is("(")) {
          modules_.insert(tokens[k + 2].text);
          holders_.insert(tokens[k + 2].text);
        }
      }
    }
  }
}

/// Whether the class has functions save and load, defined in these sources or only declared.
bool StateTypes::saves_itself(std::string_view own) const {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(program_.files(), [&](const auto& file) {
      return std::ranges::any_of(file->structure.pieces, [&](const sources::Piece& piece) {
        return piece.owner == own && std::ranges::find(piece.names, name) != piece.names.end();
      });
    });
  };
  return has("save") && has("load");
}

StateTypes::Place StateTypes::declaration_of(int id) const {
  const Variable& variable = program_.variable(id);
  if (variable.body >= 0) {
    const Body& body = program_.body(variable.body);
    return {body.reader, variable.at, body.piece->range.begin};
  }
  for (const Body& body : program_.model().bodies()) {  // members and variables of namespaces
    if (body.piece->kind != sources::PieceKind::declaration) continue;
    for (std::size_t k = body.piece->range.begin; k < body.piece->range.end; ++k) {
      if (body.reader->text(k) == variable.name &&
          body.reader->declared(k, body.piece->range.begin)) {
        return {body.reader, k, body.piece->range.begin};
      }
    }
  }
  return {};
}

StateType StateTypes::of(int id, int depth) const {
  const Variable& variable = program_.variable(id);
  const Place place = declaration_of(id);
  if (!place.reader || depth > kDepthMax) return {};
  const auto declared = place.reader->declared(place.at, place.begin);
  if (!declared || declared->binding) return {};
  if (declared->type.end > declared->type.begin &&
      place.reader->text(declared->type.end - 1).ends_with("iterator")) {
    return {StateKind::other, kIterator};
  }
  StateType type = of_tokens(*place.reader, declared->type, depth);
  bool deduced = false, pointer = false;
  for (std::size_t k = declared->type.begin; k < declared->type.end; ++k) {
    deduced = deduced || place.reader->is(k, "auto");
    pointer = pointer || place.reader->is(k, "*");
  }
  pointer = pointer || (place.reader->is(place.at + 1, "=") && place.reader->is(place.at + 2, "&"));
  if (deduced && pointer) return {StateKind::other, "a pointer"};
  if (deduced && place.reader->is(place.at + 1, "=")) {
    std::size_t end = place.at + 2;
    while (end < place.reader->size() && !place.reader->is(end, ";") &&
           !place.reader->is(end, ",")) {
      const bool open = place.reader->is(end, "(") || place.reader->is(end, "{") ||
                        place.reader->is(end, "[") || place.reader->is(end, "<");
      end = place.reader->is(end, "<") ? std::max(place.reader->behind_angles(end), end + 1)
            : open                     ? place.reader->behind(end)
                                       : end + 1;
    }
    type = of_initializer(*place.reader, {place.at + 2, end}, depth);
  }
  if (type.kind != StateKind::other) return type;
  if (variable.parameter >= 0 && variable.body >= 0) {
    if (const StateType given = of_argument(id, depth + 1); given.kind != StateKind::other) {
      return given;
    }
  }
  if (!type.own.empty()) return type;
  switch (variable.type.kind) {
    case Kind::number:
      return {StateKind::number, "number"};
    case Kind::tensor:
      return {StateKind::tensor, "Tensor"};
    case Kind::setting:
      return {StateKind::constant, ""};
    case Kind::module:
      return {StateKind::module, ""};
    case Kind::container:
      return {StateKind::container, ""};
    case Kind::loader:
      return {StateKind::loader, ""};
    case Kind::own:
      type.own = variable.type.own;
      if (is_module(type.own)) return {StateKind::module, std::string(type.own), type.own};
      if (type.name.empty()) type.name = type.own;
      return type;
    default:
      return type;
  }
}

/// The type that all callers pass for a parameter whose own type says nothing, as that of a
/// template.
StateType StateTypes::of_argument(int id, int depth) const {
  const Variable& variable = program_.variable(id);
  StateType found;
  for (const auto& caller : program_.callers(variable.body)) {
    const auto index = static_cast<std::size_t>(variable.parameter);
    if (index >= caller.call->arguments.size()) return {};
    for (const auto& [given, extent] : caller.call->arguments[index]) {
      if (extent != sources::Extent::whole || given == id) continue;
      const StateType type = of(given, depth + 1);
      if (type.kind == StateKind::other) return {};
      if (found.kind != StateKind::other && found.kind != type.kind) return {};
      found = type;
    }
  }
  return found;
}

StateType StateTypes::of_word(std::string_view word,
                              const std::set<std::string_view>& around) const {
  const std::string name(word);
  const bool torch = around.contains("torch") || around.contains("optim") ||
                     around.contains("nn") || around.contains("at") || around.contains("c10");
  if (around.contains("jit") && word == "Module") return {StateKind::script, name};
  if (around.contains("jit") && word == "load") return {StateKind::script, "Module"};
  if (sources::is_number_type(word)) return {StateKind::number, name};
  if (program_.model().is_class(word)) {
    if (is_module(word)) return {StateKind::module, name, word};
    if (optimizers_.contains(word)) return {StateKind::optimizer, name, word};
    if (saves_itself(word)) return {StateKind::saved, name, word};
    return {StateKind::other, name, word};
  }
  if (word == "Tensor") return {StateKind::tensor, name};
  if (one_of(word, kEngines) || word.ends_with("_distribution")) return {StateKind::engine, name};
  if (one_of(word, kOptimizers) && (torch || program_.uses_torch())) {
    return {StateKind::optimizer, name};
  }
  if (one_of(word, kSchedulers) && around.size() > 0 && torch) return {StateKind::scheduler, name};
  if (word.ends_with("DataLoader") || word == "make_data_loader") return {StateKind::loader, name};
  if (sources::is_setting_type(word) || word == "Device" ||
      ((torch || (around.empty() && program_.model().is_torch_name(word))) &&
       (word.ends_with("Options") || sources::is_loss_name(word)))) {
    return {StateKind::constant, name};
  }
  if (word == "string" || word == "bitset") return {StateKind::container, name};
  const bool layer = around.contains("nn") && !around.contains("functional") &&
                     !around.contains("utils") && !around.contains("init");
  if (layer && !word.empty() && 'A' <= word[0] && word[0] <= 'Z') return {StateKind::module, name};
  return {StateKind::other, name};
}

StateType StateTypes::of_tokens(const Reader& reader, Range type, int depth) const {
  if (depth > kDepthMax) return {};
  std::set<std::string_view> around;
  bool pointer = false;
  StateType found;
  for (std::size_t k = type.begin; k < type.end; ++k) {
    pointer = pointer || reader.is(k, "*");
    if (!found.name.empty()) continue;
    const std::string_view word = reader.text(k);
    if (reader.is(k + 1, "::")) {
      around.insert(word);
      continue;
    }
    const bool number = sources::is_number_type(word);
    if ((!reader.is_name(k) && !number) || word == "std") continue;
    const std::size_t angles = reader.is(k + 1, "<") ? reader.behind_angles(k + 1) : k + 1;
    const bool arguments = angles > k + 2;
    if (one_of(word, kPointers) && arguments) {
      found = of_tokens(reader, {k + 2, angles - 1}, depth + 1);
      if (found.kind == StateKind::constant || found.kind == StateKind::number)
        found.kind = StateKind::other;
      found.name = std::string(word) + "<" + found.name + ">";
    } else if (sources::is_container_type(word) && word != "string" && arguments) {
      found = {StateKind::container, std::string(word)};
      for (const Range part : reader.split({k + 2, angles - 1})) {
        if (reader.is_literal(part.begin)) continue;
        const StateType element = of_tokens(reader, part, depth + 1);
        const bool size = word == "array" && part.begin > k + 2;
        if (!size && kind_of_container(element.kind) == StateKind::other)
          found.kind = StateKind::other;
        found.objects = found.objects || element.objects || is_pointer(element) ||
                        element.kind == StateKind::module || element.kind == StateKind::optimizer ||
                        element.kind == StateKind::scheduler;
      }
    } else {
      found = of_word(word, around);
    }
    k = std::max(angles, k + 1) - 1;
  }
  if (pointer) return {StateKind::other, found.name.empty() ? "a pointer" : found.name + "*"};
  return found;
}

/// Whether it is a tensor, or a function of libtorch that makes one, with methods that give
/// tensors: torch::zeros({2}).set_requires_grad(true). `k` is the last name before its parentheses.
bool StateTypes::is_tensor_chain(const Reader& reader, Range value, std::size_t k,
                                 int depth) const {
  static constexpr std::array<std::string_view, 11> kOthers = {
      "item",  "size",     "sizes",    "numel",  "dim",    "options",
      "dtype", "data_ptr", "accessor", "device", "defined"};
  const bool made = k >= value.begin + 2 && reader.is(value.begin, "torch") &&
                    'a' <= reader.text(k)[0] && reader.text(k)[0] <= 'z' && reader.is(k + 1, "(");
  bool tensor = made;
  if (k == value.begin && is_access(reader, k + 1)) {
    for (std::size_t b = 0; b < program_.model().bodies().size(); ++b) {
      const auto id = static_cast<int>(b);
      const Body& body = program_.body(id);
      if (body.reader != &reader || !body.piece->range.holds(k)) continue;
      const int variable = program_.model().resolve(id, reader.text(k), k);
      tensor = variable >= 0 && of(variable, depth + 1).kind == StateKind::tensor;
      break;
    }
  }
  for (std::size_t i = made ? reader.behind(k + 1) : k + 1; tensor && i < value.end;) {
    if (!reader.is(i, ".") || !reader.is(i + 2, "(")) return false;
    if (one_of(reader.text(i + 1), kOthers)) return false;
    i = reader.behind(i + 2);
  }
  return tensor;
}

StateType StateTypes::of_initializer(const Reader& reader, Range value, int depth) const {
  if (depth > kDepthMax || value.empty()) return {};
  std::size_t k = value.begin;
  std::set<std::string_view> around;
  while (reader.is(k + 1, "::") && k + 2 < value.end) {
    around.insert(reader.text(k));
    k += 2;
  }
  if (!reader.is_name(k)) return {};
  for (std::size_t i = value.begin; i < value.end; ++i) {
    // torch::make_generator, at::detail::createCPUGenerator, context.defaultGenerator
    if (reader.is(i + 1, "(") || reader.is(i + 1, "<")) {
      const std::string_view word = reader.text(i);
      if (word == "make_generator" || word.ends_with("Generator"))
        return {StateKind::engine, "Generator"};
    } else if (reader.is(i, "(")) {
      i = std::max(reader.behind(i), i + 1) - 1;
    }
  }
  const std::size_t angles = std::max(reader.behind_angles(k + 1), k + 1);
  const bool calls = reader.is(angles, "(") || reader.is(angles, "{");
  if (!calls || reader.behind(angles) < value.end) {
    // A method of something, or a longer expression: the model may know what that is.
    if (reader.text(k) == "make_data_loader") return {StateKind::loader, ""};
    const bool handles = reader.is(value.end - 1, ")") && reader.is(value.end - 3, "parameters");
    if (handles) return {StateKind::constant, ""};
    return is_tensor_chain(reader, value, k, depth) ? StateType{StateKind::tensor, "Tensor"}
                                                    : StateType{};
  }
  StateType type = of_tokens(reader, {value.begin, angles}, depth + 1);
  if (type.kind != StateKind::other || !type.own.empty()) return type;
  for (const int id : program_.model().functions(reader.text(k))) {
    const Body& body = program_.body(id);
    std::size_t name = body.head.begin;
    while (name < body.head.end && !body.reader->is(name, reader.text(k))) ++name;
    Range result{body.head.begin, name};
    for (std::size_t i = name; i < body.head.end; ++i) {
      if (body.reader->is(i, "->")) result = {i + 1, body.head.end};
    }
    return of_tokens(*body.reader, result, depth + 1);
  }
  if (around.contains("torch") && 'a' <= reader.text(k)[0] && reader.text(k)[0] <= 'z') {
    return {StateKind::tensor, "Tensor"};  // most functions of libtorch return one
  }
  return {};
}

}  // namespace flor::instrument
