// Evaluates calls: of the program's functions by their summaries, and of library functions by
// lists.
#include "sources/effects/effect_evaluator.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

constexpr std::array<std::string_view, 8> kFlorLogs = {
    "log",       "log_tensor", "log_histogram", "log_image",
    "log_table", "replaying",  "range",         "endless"};
constexpr std::array<std::string_view, 7> kLoaders = {
    "make_data_loader", "DataLoader", "StatelessDataLoader", "StatefulDataLoader",
    "range",            "iota",       "endless"};

constexpr int kObjectsDeepMax = 6;  // objects that contain objects, so deep

/// Whether a copy of a value of this type refers to no other object.
bool is_plain(const Type& type) {
  return !type.reference && (type.kind == Kind::number || type.kind == Kind::setting ||
                             type.kind == Kind::container);
}

}  // namespace

std::vector<Evaluator::Value> Evaluator::arguments(Range range) {
  std::vector<Value> values;
  for (const Range part : reader_.split(range)) {
    values.push_back(expression(part));
    read(values.back());
  }
  return values;
}

bool Evaluator::may_be_kept(const Value& value, bool torch) {
  if (value.keys.empty() || (value.kind == Kind::setting && !value.taken)) return false;
  const bool plain = value.kind == Kind::number || value.kind == Kind::setting ||
                     value.kind == Kind::container;
  if (plain && torch && !value.taken) return false;
  if (value.constant && (value.kind == Kind::number || value.kind == Kind::setting)) return false;
  return value.taken || value.lvalue || !plain;
}

void Evaluator::hand_over(const std::vector<Value>& values, const Value* receiver, Keeper keeper) {
  const bool torch = keeper == Keeper::torch;
  for (const Value& value : values) {
    if (!may_be_kept(value, torch)) continue;
    if (value.kind != Kind::setting) mutate(value);
    if (keeper == Keeper::other) keep_outside(value);
    if (receiver) {
      refer(*receiver, value);
      if (!torch) refer(value, *receiver);
    }
    if (torch) continue;
    for (const Value& other : values) {
      if (&other != &value && may_be_kept(other, torch)) refer(value, other);
    }
  }
}

/// Whether it is a function of the standard library or of libtorch without state of its own.
bool Evaluator::is_of_library(const Name& name) const {
  if (name.qualifiers.empty() || !is_library_namespace(name.qualifiers.front())) return false;
  const std::string_view word = reader_.text(name.at);
  const bool torch = is_torch_namespace(name.qualifiers.front());
  const bool setting = torch && (word.starts_with("get_") || word.starts_with("set_"));
  return !setting && std::ranges::none_of(name.qualifiers, is_open_namespace);
}

Evaluator::Value Evaluator::call(const Name& name, Range parentheses) {
  const std::string_view word = reader_.text(name.at);
  const std::string_view space =
      name.qualifiers.empty() ? std::string_view() : name.qualifiers.front();
  const bool text_first = reader_.text(parentheses.begin).starts_with('"');
  if (space == "flor" || (space.empty() && text_first && one_of(word, kFlorLogs) &&
                          model_.functions(word).empty())) {
    return call_flor(word, parentheses);
  }
  const std::vector<Value> values = arguments(parentheses);
  if (is_elsewhere(name) && !is_library_namespace(space) && !is_stateless_namespace(space)) {
    leave_sources();  // it may still be ours, if a macro names the namespace
    Value value = call_library(name, values, parentheses);
    if (!model_.functions(word).empty())
      join(value, call_bodies(model_.functions(word), values, nullptr));
    return value;
  }
  if (model_.is_class(word) && model_.functions(word).empty()) return construct(word, values);
  const bool library = is_of_library(name);
  if (library && space != "std" && space != "torch" && space != "flor") {
    // The program may have a namespace with the same name.
    call_bodies(model_.functions(word), values, nullptr);
  }
  if (function_.self >= 0 && space.empty() && model_.functions(word).empty()) {
    // The name may be that of a method that the class inherits.
    if (model_.has_foreign_base(function_.piece->owner)) leave_sources();
    if (method_purity(word).number && values.empty()) return of_kind(Kind::number);
    if (word.starts_with("register_")) {
      Value part = self();
      mutate(part);
      part.kind = Kind::module;
      return part;
    }
  }
  if (!library && !model_.functions(word).empty()) {
    if (model_.is_class(word)) return construct(word, values);
    const Value object = self();
    return call_bodies(model_.functions(word), values, function_.self >= 0 ? &object : nullptr);
  }
  for (std::size_t k = name.at + 1; k < name.end; ++k) {  // make_unique<Trainer>(...)
    if (model_.is_class(reader_.text(k)) && !model_.functions(word).empty()) continue;
    if (model_.is_class(reader_.text(k))) return construct(reader_.text(k), values);
  }
  return call_library(name, values, parentheses);
}

Evaluator::Value Evaluator::call_flor(std::string_view name, Range parentheses) {
  const std::vector<Range> parts = reader_.split(parentheses);
  if (name == "checkpoints" || name == "with") {
    Value all;
    for (const Range part : parts) join(all, expression(part));
    (name == "with" ? out_.attached : out_.registered).add(all.keys);
    return {};
  }
  std::vector<Value> values;
  for (const Range part : parts) values.push_back(expression(part));
  if (name == "load") {
    for (std::size_t i = 1; i < values.size(); ++i) mutate(values[i]);
    if (values.size() < 2) leave_sources();  // into all registered objects
    return {};
  }
  if (name == "loop") {
    if (values.size() == 1 || (values.size() > 1 && values.front().kind != Kind::setting)) {
      values.front().lvalue = false;
      return values.front();
    }
    return values.size() > 1 ? values[1] : Value{};
  }
  const bool named = values.size() > 1 && (name == "named" || name == "log" || name == "arg");
  Value value = named ? values[1] : Value{};
  if (name == "arg") value.keys = {};
  if (name != "named") value.lvalue = false;
  if (value.kind == Kind::unknown && name == "arg") value.kind = Kind::number;
  return value;
}

Evaluator::Value Evaluator::call_library(const Name& name, const std::vector<Value>& values,
                                         Range parentheses) {
  const std::string_view word = reader_.text(name.at);
  const std::string_view space =
      name.qualifiers.empty() ? std::string_view() : name.qualifiers.front();
  const bool library_call = is_of_library(name);
  const bool torch = is_torch_namespace(space) && library_call;
  Value result;
  const auto among = [&](std::string_view wanted) {
    return std::ranges::find(name.qualifiers, wanted) != name.qualifiers.end();
  };
  for (const Value& value : values) join(result, value);
  const bool fills = word == "iota" && values.size() == 3;
  if (one_of(word, kLoaders) && !fills) {
    result.kind = Kind::loader;
    result.lvalue = false;
    if (torch) {
      result.keys = {};
      for (const Value& value : values) {
        if (may_be_kept(value, torch)) result.keys.add(value.keys);
      }
    }
    return result;
  }
  bool in_place = false;
  for (std::size_t k = parentheses.begin; k < parentheses.end; ++k) {
    in_place = in_place || reader_.is(k, "inplace");
  }
  const Purity purity = function_purity(word);
  if (torch && has_hidden_state(word)) {
    const int state = model_.shared(word);
    out_.reads.add(state, Extent::whole);
    out_.writes.add(state, Extent::whole);
  }
  const bool makes = word.starts_with("make_") && is_of_other_library({name.at + 1, name.end});
  if (makes) leave_sources();
  const bool leaves = !library_call && !is_stateless_namespace(space) && !is_print(word) &&
                      (!space.empty() || !purity.pure || model_.prototype(word) ||
                       model_.is_foreign_name(word) || model_.uses_other_namespace());
  if (leaves || (has_hidden_state(word) && !torch)) {
    leave_sources();
    result.keys.add(model_.outside(), Extent::whole);  // it may refer to that state
  }
  if (!leaves && purity.pure && !has_hidden_state(word) &&
      !(in_place || (among("functional") && model_.mentions_inplace()))) {
    for (const Value& value : values) {  // algorithms call functions among their arguments
      if (value.taken || value.lambda >= 0) mutate(value);
    }
    if (purity.fresh) result.keys = {};
    result.kind = purity.number ? Kind::number : torch ? Kind::tensor : Kind::unknown;
    if (!torch && purity.fresh) {
      const bool numbers = std::ranges::all_of(
          values, [](const Value& value) { return value.kind == Kind::number; });
      result.kind = numbers ? Kind::number : Kind::unknown;
    } else if (!torch && std::ranges::all_of(values, [](const Value& value) {
                 return value.kind == Kind::number;
               })) {
      result.kind = Kind::number;
    }
    result.lvalue = !purity.fresh;
    return result;
  }
  if (is_setting_type(word) || model_.is_loss(reader_, name.at)) {
    result = {};
    result.kind = Kind::setting;
    return result;
  }
  hand_over(values, nullptr,
            torch                                               ? Keeper::torch
            : library_call && !makes && !has_hidden_state(word) ? Keeper::standard
                                                                : Keeper::other);
  if (torch) {
    result.keys = {};
    for (const Value& value : values) {
      if (may_be_kept(value, torch)) result.keys.add(value.keys);
    }
    const bool layer = among("nn") && !among("functional") && !among("utils") && !word.empty() &&
                       word.front() >= 'A' && word.front() <= 'Z';
    result.kind = layer ? Kind::module : Kind::library;
    result.torch = true;
  } else if (space == "std" && is_container_type(word)) {
    result.kind = model_.type_of(reader_, {name.at, name.end}).kind;
  }
  result.lvalue = !torch;
  if (const Type* type = model_.prototype(word); type && !library_call) {
    result.kind = type->kind;
    if (is_plain(*type) && !type->reference) result.keys = {};
  }
  return result;
}

/// The functions with that name that the object may have.
std::vector<int> Evaluator::methods(const Value& receiver, std::string_view name) const {
  const std::vector<int>& all = model_.functions(name);
  if (receiver.kind != Kind::own) return all;
  std::vector<int> exact;
  bool derived = false;
  for (const int id : all) {
    const Body& body = model_.bodies()[static_cast<std::size_t>(id)];
    const std::string_view owner = body.piece->owner;
    const bool implementation = owner.ends_with("Impl") && owner.size() == receiver.own.size() + 4 &&
                                owner.starts_with(receiver.own);
    if (owner == receiver.own || implementation) {
      exact.push_back(id);
    } else {
      derived = derived || body.piece->anywhere;
    }
  }
  return exact.empty() || derived ? all : exact;
}

Evaluator::Value Evaluator::call_method(Value receiver, std::string_view name, Range parentheses) {
  const std::vector<Value> values = arguments(parentheses);
  out_.reads.add(receiver.keys);
  const Kind kind = receiver.kind;
  if (kind == Kind::setting && !is_setting_method(name)) leave_sources();
  if (kind == Kind::setting || kind == Kind::number) {
    return of_kind(kind);
  }
  const Purity purity = method_purity(name);
  if (receiver.tensors && (name == "at" || name == "front" || name == "back")) {
    receiver.kind = Kind::tensor;
    receiver.tensors = false;
    receiver.lvalue = receiver.through = true;
    return receiver;
  }
  const bool known = kind == Kind::tensor || kind == Kind::container || receiver.torch;
  if (known && purity.pure) {
    Value result;
    if (!purity.fresh) result = receiver;
    result.kind = purity.number ? Kind::number : kind == Kind::tensor ? kind : Kind::unknown;
    if (purity.fresh && kind == Kind::container) result.kind = Kind::unknown;
    if (purity.number) result.kind = Kind::number;
    result.lvalue = !purity.fresh;
    result.torch = receiver.torch;
    for (const Value& value : values) {
      if (value.taken) mutate(value);
    }
    return result;
  }
  if (kind == Kind::tensor && works_in_place(name)) {
    mutate(receiver);
    for (const Value& value : values) {
      if (value.taken) mutate(value);
    }
    return receiver;
  }
  const std::vector<int> bodies = methods(receiver, name);
  if (kind == Kind::own && !bodies.empty()) return call_bodies(bodies, values, &receiver);
  if (kind == Kind::module && (name == "forward" || name == "eval" || name == "train")) {
    mutate(receiver);
    if (model_.mentions_inplace()) hand_over(values, nullptr, Keeper::standard);
    Value result;
    for (const Value& value : values) join(result, value);
    result.kind = Kind::tensor;
    result.lvalue = true;
    return result;
  }
  if (purity.number) {  // e.g. x.size() or x.item<double>(), of unknown objects, too
    if (!bodies.empty()) call_bodies(bodies, values, &receiver);
    if (bodies.empty()) ask(receiver);
    return of_kind(Kind::number);
  }
  Value result = receiver;
  if (!bodies.empty()) join(result, call_bodies(bodies, values, &receiver));
  if (bodies.empty()) ask(receiver);
  mutate(receiver);
  hand_over(values, &receiver, keeper_of(receiver));
  for (const Value& value : values) {
    if (may_be_kept(value, receiver.torch)) join(result, value);
  }
  result.kind = Kind::unknown;
  result.torch = false;
  result.own = {};
  result.constant = false;
  result.lvalue = true;
  return result;
}

/// Evaluates a call of a lambda, of an object with operator(), or through a pointer to a function.
Evaluator::Value Evaluator::call_variable(const Value& callee, Range parentheses) {
  const std::vector<Value> values = arguments(parentheses);
  read(callee);
  Value result;
  for (const Value& value : values) join(result, value);
  result.lvalue = true;
  if (callee.kind == Kind::setting) {  // a loss function
    result.keys = {};
    result.kind = Kind::tensor;
    return result;
  }
  if (callee.kind == Kind::module) {
    mutate(callee);
    if (model_.mentions_inplace()) hand_over(values, nullptr, Keeper::standard);
    result.kind = Kind::tensor;
    return result;
  }
  if (callee.kind == Kind::own) {
    std::vector<int> bodies = methods(callee, "operator");
    for (const int id : methods(callee, "forward")) {
      const std::string_view owner = model_.bodies()[static_cast<std::size_t>(id)].piece->owner;
      if (owner.starts_with(callee.own)) bodies.push_back(id);
    }
    if (!bodies.empty()) return call_bodies(bodies, values, &callee);
  }
  join(result, callee);
  if (callee.lambda >= 0) {
    const StepEffects& inside = effects_.lambdas_[callee.lambda];
    out_.reads.add(inside.reads);
    out_.asked.add(inside.asked);
    out_.writes.add(inside.writes);
    out_.registered.add(inside.registered);
    out_.handed_on.insert(inside.handed_on.begin(), inside.handed_on.end());
  } else {
    mutate(callee);
    ask(callee);
  }
  hand_over(values, &callee, keeper_of(callee));
  return result;
}

Evaluator::Keeper Evaluator::keeper_of(const Value& object) const {
  if (object.torch) return Keeper::torch;
  const bool standard = std::ranges::all_of(object.keys, [this](const auto& key) {
    const Type& type = model_.variable(key.first).type;
    return type.standard || type.kind == Kind::container;
  });
  return standard && !object.keys.empty() ? Keeper::standard : Keeper::other;
}

/// Notes that code outside these sources may keep a reference, and change the object in any later
/// call.
void Evaluator::keep_outside(const Value& value) {
  for (const auto& [variable, extent] : value.keys) {
    if (variable != model_.outside()) effects_.link(model_.outside(), variable);
  }
}

/// Whether a type is named there that neither these sources nor the known libraries have.
bool Evaluator::is_of_other_library(Range types) const {
  for (std::size_t k = types.begin; k < types.end; ++k) {
    const std::string_view word = reader_.text(k);
    if (!reader_.is_name(k) || reader_.is(k + 1, "::") || is_number_type(word)) continue;
    if (is_library_namespace(word) || model_.is_class(word) || is_container_type(word)) continue;
    if (k > types.begin + 1 && reader_.is(k - 1, "::") &&
        is_library_namespace(reader_.text(k - 2))) {
      continue;
    }
    return true;
  }
  return false;
}

/// Notes a call of code outside these sources: it may use everything that such code keeps.
void Evaluator::leave_sources() {
  out_.reads.add(model_.outside(), Extent::whole);
  out_.writes.add(model_.outside(), Extent::whole);
}

/// Notes a call of a method. The object may be of a type declared elsewhere; registered objects
/// keep everything in themselves.
void Evaluator::ask(const Value& object) {
  const bool inherits = object.kind == Kind::own && model_.has_foreign_base(object.own);
  if ((object.kind != Kind::unknown && !inherits) || object.torch || object.restarts) return;
  for (const auto& [variable, extent] : object.keys) {
    const Type& type = model_.variable(variable).type;
    if (!inherits && (type.kind != Kind::unknown || type.torch || type.standard || type.deduced)) {
      continue;
    }
    out_.asked.add(variable, extent);
    out_.writes.add(model_.outside(), Extent::whole);
  }
}

/// An object named as a whole may be copied, compared, iterated over or converted: counts all its
/// fields as read, and its class's operators as called, although the source names none of them.
void Evaluator::use(std::string_view own, int depth) {
  if (depth > kObjectsDeepMax) return;
  for (const std::string_view name : model_.fields_of(own)) {
    const int field = model_.shared(name);
    const Type& type = model_.variable(field).type;
    // References lead to objects that do not belong to this one.
    if (model_.is_kept_by_owner(name) || type.reference || type.pointer) continue;
    out_.reads.add(field, Extent::whole);
    if (type.kind == Kind::own && type.own != own) use(type.own, depth + 1);
  }
  for (const int id : model_.functions("operator")) {
    const Body& body = model_.bodies()[static_cast<std::size_t>(id)];
    if (!body.piece->owner.empty() && body.piece->owner != own) continue;
    const Summary& summary = summary_of(id);
    // Writes count only for const operators: calls of other operators are visible in the source.
    const bool constant = body.reader->is(body.head.end - 1, "const");
    for (const auto& [variable, extent] : summary.shared_reads) {
      const bool kept = model_.is_kept_by_owner(model_.variable(variable).name);
      if (!kept) out_.reads.add(variable, extent);
    }
    if (constant) out_.writes.add(summary.shared_writes);
  }
}

Evaluator::Value Evaluator::call_bodies(const std::vector<int>& bodies,
                                        const std::vector<Value>& values, const Value* receiver) {
  Value result;
  Call call;
  call.bodies = bodies;
  for (const Value& value : values) call.arguments.push_back(value.keys);
  if (receiver) call.receiver = receiver->keys;
  out_.calls.push_back(std::move(call));
  bool numbers = true;
  for (const int id : bodies) {
    apply(id, values, receiver);
    const Body& body = model_.bodies()[static_cast<std::size_t>(id)];
    const Type& type = body.result_type;
    numbers = numbers && type.kind == Kind::number && !type.reference;
    const bool plain = is_plain(type);
    out_.reads.add(body.result, Extent::whole);
    if (bodies.size() == 1) {
      result.kind = type.kind;
      result.own = type.own;
      result.torch = type.torch;
    }
    if (plain) continue;
    for (const auto& [variable, extent] : summary_of(id).returned) {
      const Variable& v = model_.variable(variable);
      if (v.persistent) {
        result.keys.add(variable, extent);
      } else if (variable == body.self) {
        if (receiver) result.keys.add(receiver->keys);
      } else if (static_cast<std::size_t>(v.parameter) < values.size()) {
        result.keys.add(values[static_cast<std::size_t>(v.parameter)].keys);
      }
    }
  }
  if (numbers && !bodies.empty()) result.kind = Kind::number;
  result.lvalue = true;
  return result;
}

void Evaluator::apply(int id, const std::vector<Value>& values, const Value* receiver) {
  const Summary& summary = summary_of(id);
  const Body& body = model_.bodies()[static_cast<std::size_t>(id)];
  const auto given = [&](int parameter) -> const Value* {
    if (parameter < 0) return receiver;
    const auto index = static_cast<std::size_t>(parameter);
    return index < values.size() ? &values[index] : nullptr;
  };
  const auto copied = [&](int parameter) {
    if (parameter < 0) return false;
    return is_plain(model_.variable(body.parameters[static_cast<std::size_t>(parameter)]).type);
  };
  out_.reads.add(summary.shared_reads);
  out_.writes.add(summary.shared_writes);
  for (const int parameter : summary.writes) {
    const Value* value = given(parameter);
    if (value && !copied(parameter)) mutate(*value);
  }
  for (const int parameter : summary.iterates) {
    if (const Value* value = given(parameter)) iterate(*value);
  }
  for (const auto& [holder, parameter] : summary.stores) {
    const Value* value = given(parameter);
    if (!value || copied(parameter)) continue;
    if (holder == model_.outside()) {
      keep_outside(*value);
    } else if (holder >= 0) {
      Value shared;
      shared.keys.add(holder, Extent::whole);
      refer(shared, *value);
    } else if (const Value* keeper = given(~holder - 1)) {
      refer(*keeper, *value);
    }
  }
  // More arguments than known parameters: a parameter pack.
  for (std::size_t i = body.parameters.size(); i < values.size(); ++i) mutate(values[i]);
}

/// Evaluates an object of a class of the program: its constructors run, and its members may keep
/// their arguments.
Evaluator::Value Evaluator::construct(std::string_view own, const std::vector<Value>& values,
                                      const Value* place) {
  Value object;
  object.kind = Kind::own;
  object.own = own;
  object.lvalue = true;
  bool written_here = false;
  if (model_.has_foreign_base(own)) leave_sources();
  for (const int id : model_.functions(own)) {
    if (model_.bodies()[static_cast<std::size_t>(id)].piece->owner != own) continue;
    apply(id, values, place);
    written_here = true;
  }
  if (model_.is_plain_class(own)) return object;
  for (const Value& value : values) {
    if (!may_be_kept(value, false)) continue;
    if (value.kind == Kind::own && model_.is_plain_class(value.own) && !value.taken &&
        written_here) {
      continue;  // its constructors show what they keep
    }
    for (const std::string_view field : model_.fields_of(own)) {
      if (written_here) break;
      if (is_plain(model_.variable(model_.shared(field)).type)) continue;
      Value member;
      member.keys.add(model_.shared(field), Extent::whole);
      refer(member, value);
    }
    const bool known = !model_.fields_of(own).empty();
    if (value.kind != Kind::number || value.taken || !known) object.keys.add(value.keys);
  }
  return object;
}

}  // namespace flor::sources
