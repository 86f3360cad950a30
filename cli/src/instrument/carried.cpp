#include "instrument/carried.h"

#include "sources/syntax/libraries.h"

#include <algorithm>

namespace flor::instrument {
namespace {

using sources::Extent;
using sources::Keys;

bool holds(const Keys& keys, int variable) {
  return keys.holds(variable, Extent::whole) || keys.holds(variable, Extent::part) ||
         keys.holds(variable, Extent::rebound);
}

/// Whether checkpoints of a whole object say all: no reading order decides about it.
bool is_object(StateKind kind) {
  return kind == StateKind::module || kind == StateKind::script || kind == StateKind::optimizer ||
         kind == StateKind::scheduler || kind == StateKind::engine || kind == StateKind::saved ||
         kind == StateKind::other;
}

/// Whether an optimizer, or an object of the program, may change such an object that it refers to.
/// Numbers and texts that it was made of are its own copies.
bool may_be_held(StateKind kind) {
  return kind == StateKind::module || kind == StateKind::script || kind == StateKind::optimizer ||
         kind == StateKind::scheduler || kind == StateKind::tensor || kind == StateKind::engine ||
         kind == StateKind::saved;
}

}  // namespace

/// Everything that the statements of the loop may change, and what that refers to.
std::set<int> Carried::written(Loop loop) const {
  std::set<int> out, through;
  for (const int s : program_.steps_in(loop.body, program_.step(loop).whole)) {
    for (const auto& [variable, extent] : program_.effects().of(loop.body, s).writes) {
      out.insert(variable);
      if (extent != Extent::rebound) through.insert(variable);
    }
  }
  for (const int variable : through) {
    const StateKind kind = types_.of(variable).kind;
    const bool leads = kind == StateKind::optimizer || kind == StateKind::scheduler ||
                       kind == StateKind::saved || kind == StateKind::other ||
                       program_.variable(variable).type.pointer;
    if (!leads || variable == program_.model().outside()) continue;
    const bool all = program_.variable(variable).type.pointer;
    for (const int other : program_.effects().reachable(variable)) {
      if (all || may_be_held(types_.of(other).kind)) out.insert(other);
    }
  }
  return out;
}

bool Carried::is_visible(Loop loop, const Variable& variable) const {
  const Body& body = program_.body(loop.body);
  const Range whole = program_.step(loop).whole;
  if (variable.body >= 0) {
    return variable.body == loop.body && !variable.persistent && !whole.holds(variable.at) &&
           (variable.parameter >= 0 || variable.scope.holds(whole.begin));
  }
  if (body.piece->owner.empty()) return false;
  const auto& fields = program_.model().fields_of(body.piece->owner);
  return std::ranges::find(fields, variable.name) != fields.end();
}

/// Whether a function of these sources that changes its parameter gets the tensor.
bool Carried::is_given_away(Loop loop, int variable) const {
  for (const int s : program_.steps_in(loop.body, program_.step(loop).whole)) {
    for (const sources::Call& call : program_.effects().of(loop.body, s).calls) {
      for (const int callee : call.bodies) {
        for (const int parameter : program_.effects().summary(callee).writes) {
          const auto index = static_cast<std::size_t>(parameter);
          if (parameter < 0 || index >= call.arguments.size()) continue;
          if (!holds(call.arguments[index], variable)) continue;
          const int id = program_.body(callee).parameters[index];
          for (std::size_t t = 0; t < program_.body(callee).steps.size(); ++t) {
            const auto& effects = program_.effects().of(callee, static_cast<int>(t));
            const bool by_name =
                types_.of(id).kind != StateKind::tensor
                    ? holds(effects.writes, id)
                    : program_.variable(id).type.reference && holds(effects.assigned, id);
            if (by_name) return true;
          }
        }
      }
    }
  }
  return false;
}

bool Carried::is_tensor_changed(Loop loop, int variable) const {
  const Range whole = program_.step(loop).whole;
  const Reader& reader = *program_.body(loop.body).reader;
  for (const int s : program_.steps_in(loop.body, whole)) {
    if (holds(program_.effects().of(loop.body, s).assigned, variable)) return true;
  }
  for (std::size_t k = whole.begin; k < whole.end; ++k) {
    if (!reader.is_name(k) || program_.model().resolve(loop.body, reader.text(k), k) != variable) {
      continue;
    }
    if (k > 0 && reader.is(k - 1, "&") && !reader.operand_ends_before(k - 1)) return true;
    // A chain of members such as w.data().sub_(g), and w.grad().zero_().
    for (std::size_t i = k + 1; i + 1 < whole.end;) {
      if (reader.is(i, "(") || reader.is(i, "[")) {
        i = reader.behind(i);
      } else if (reader.is(i, ".") || reader.is(i, "->")) {
        const std::string_view name = reader.text(i + 1);
        if (sources::works_in_place(name) || name == "set_data" || name == "data_ptr" ||
            name == "mutable_grad" || name == "accessor") {
          return true;
        }
        i += 2;
      } else {
        break;
      }
    }
    // The first argument of torch::nn::init::xavier_uniform_(w).
    const auto around = reader.bracket_around(k);
    if (around && *around > 0 && reader.is(*around, "(") && k == *around + 1 &&
        reader.text(*around - 1).ends_with('_') &&
        !(*around > 1 && (reader.is(*around - 2, ".") || reader.is(*around - 2, "->")))) {
      return true;
    }
  }
  if (is_trained(loop, variable)) return true;
  return is_given_away(loop, variable);
}

/// Whether an optimizer that the loop uses was made of the tensor.
bool Carried::is_trained(Loop loop, int variable) const {
  for (const int other : program_.effects().reaching(variable)) {
    const Variable& holder = program_.variable(other);
    const bool untold = holder.body < 0 || holder.parameter >= 0;
    if (untold && other != variable && types_.of(other).kind == StateKind::optimizer) return true;
  }
  for (std::size_t v = 0; v < program_.model().variables().size(); ++v) {
    const auto other = static_cast<int>(v);
    if (program_.variable(other).body != loop.body || program_.variable(other).parameter >= 0)
      continue;
    if (types_.of(other).kind != StateKind::optimizer) continue;
    if (program_.mentions(loop.body, program_.step(loop).whole, other) &&
        is_made_of(other, variable, 0)) {
      return true;
    }
  }
  return false;
}

/// Whether the declaration of a local object mentions the variable, or containers made of it.
bool Carried::is_made_of(int object, int variable, int depth) const {
  constexpr int kDeepMax = 3;
  const Variable& one = program_.variable(object);
  const Range range = program_.declaration_of(object);
  if (program_.mentions(one.body, range, variable)) return true;
  if (depth >= kDeepMax) return false;
  const Reader& reader = *program_.body(one.body).reader;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_name(k)) continue;
    const int other = program_.model().resolve(one.body, reader.text(k), k);
    if (other < 0 || other == object || program_.variable(other).body != one.body) continue;
    if (types_.of(other).kind == StateKind::container && is_made_of(other, variable, depth + 1)) {
      return true;
    }
  }
  return false;
}

bool Carried::is_changed(Loop loop, int variable, StateKind kind) const {
  const Variable& v = program_.variable(variable);
  switch (kind) {
    case StateKind::constant:
    case StateKind::loader:
      return false;
    case StateKind::tensor:
      return is_tensor_changed(loop, variable);
    case StateKind::container:
      if (v.type.tensors) return is_tensor_changed(loop, variable) || is_given_away(loop, variable);
      return !v.type.constant;
    case StateKind::number:
      return !v.type.constant;
    default:
      return true;
  }
}

/// Whether an object of the class has a member that changes, or a part that has one.
bool Carried::has_changing_member(std::string_view own, const std::set<int>& changing,
                                  int depth) const {
  constexpr int kDeepMax = 4;
  if (depth > kDeepMax || types_.is_module(own)) return false;
  return std::ranges::any_of(program_.model().fields_of(own), [&](std::string_view name) {
    const int field = program_.model().resolve_shared(name);
    if (changing.contains(field)) return true;
    const std::string_view part = types_.of(field).own;
    return !part.empty() && part != own && has_changing_member(part, changing, depth + 1);
  });
}

/// The objects outside of the loop whose members their methods change, and what optimizers train.
void Carried::add_owners(Loop loop, std::set<int>& changing) const {
  std::set<int> owners;
  for (std::size_t v = 0; v < program_.model().variables().size(); ++v) {
    const auto id = static_cast<int>(v);
    const Variable& variable = program_.variable(id);
    if (variable.body != loop.body || variable.name.empty() || !is_visible(loop, variable))
      continue;
    const StateType type = types_.of(id);
    const bool maybe = type.kind == StateKind::tensor || type.kind == StateKind::other;
    if (maybe && is_trained(loop, id)) owners.insert(id);
    if (type.own.empty() || !program_.mentions(loop.body, program_.step(loop).whole, id)) continue;
    if (has_changing_member(type.own, changing, 0)) owners.insert(id);
  }
  changing.insert(owners.begin(), owners.end());
}

std::vector<CarriedVariable> Carried::changed(Loop loop) const {
  std::vector<CarriedVariable> out;
  std::set<int> changing = written(loop);
  add_owners(loop, changing);
  for (const int id : changing) {
    const Variable& variable = program_.variable(id);
    if (variable.name.empty() || variable.name == "this" || variable.is_result) continue;
    if (!is_visible(loop, variable)) continue;
    if (program_.model().is_kept_by_owner(variable.name) && variable.body < 0) continue;
    StateType type = types_.of(id);
    if (variable.type.constant && !is_object(type.kind)) continue;
    if (variable.type.constant && type.kind == StateKind::other) continue;
    if (is_changed(loop, id, type.kind)) out.push_back({id, std::move(type)});
  }
  std::ranges::sort(out, {},
                    [&](const CarriedVariable& one) { return program_.variable(one.variable).at; });
  return out;
}

std::vector<CarriedVariable> Carried::of_main(Loop loop) const {
  std::vector<CarriedVariable> out;
  const Body& body = program_.body(loop.body);
  for (CarriedVariable& one : changed(loop)) {
    const Variable& variable = program_.variable(one.variable);
    const bool shared = variable.body < 0 || (variable.parameter >= 0 &&
                                              (variable.type.reference || variable.type.pointer));
    if (is_object(one.type.kind) || shared || touches(loop.body, loop.step, one.variable) ||
        first_use(loop.body, loop.step, one.variable) == Use::read ||
        is_read_after(loop, one.variable, body.block)) {
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<int> Carried::hidden(Loop loop) const {
  std::vector<int> out;
  for (const int s : program_.steps_in(loop.body, program_.step(loop).whole)) {
    for (const auto& [id, extent] : program_.effects().of(loop.body, s).writes) {
      const Variable& v = program_.variable(id);
      const bool global = v.body < 0 && v.at != 0 && !program_.model().is_field(v.name);
      if (!global && !(v.body >= 0 && v.persistent)) continue;
      const StateKind kind = types_.of(id).kind;
      if (v.type.constant || !is_changed(loop, id, kind)) continue;
      if (std::ranges::find(out, id) == out.end()) out.push_back(id);
    }
  }
  return out;
}

std::vector<int> Carried::unsaved_members(Loop loop) const {
  std::vector<int> out;
  const std::string_view owner = program_.body(loop.body).piece->owner;
  std::set<int> running = program_.called_in(loop.body, program_.step(loop).whole);
  std::vector<int> open(running.begin(), running.end());
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (program_.body(id).is_constructor()) continue;
    for (const int callee : program_.called_in(id, program_.body(id).block)) {
      if (running.insert(callee).second) open.push_back(callee);
    }
  }
  for (const int id : written(loop)) {
    const Variable& v = program_.variable(id);
    if (v.body >= 0 || !program_.model().is_field(v.name) ||
        program_.model().is_kept_by_owner(v.name) || v.type.constant) {
      continue;
    }
    const StateKind kind = types_.of(id).kind;
    if (kind == StateKind::constant || kind == StateKind::module || kind == StateKind::loader)
      continue;
    for (const int b : running) {
      const Body& body = program_.body(b);
      const std::string_view one = body.piece->owner;
      if (one.empty() || one == owner || !types_.is_module(one) || body.is_constructor()) continue;
      const auto& fields = program_.model().fields_of(one);
      if (std::ranges::find(fields, v.name) == fields.end()) continue;
      for (std::size_t s = 0; s < body.steps.size(); ++s) {
        if (!holds(program_.effects().of(b, static_cast<int>(s)).assigned, id)) continue;
        if (std::ranges::find(out, id) == out.end()) out.push_back(id);
      }
    }
  }
  return out;
}

bool Carried::touches(int body, int step, int variable) const {
  const sources::StepEffects& effects = program_.effects().of(body, step);
  return holds(effects.reads, variable) || holds(effects.writes, variable);
}

/// Whether the statement sets the variable without reading its present value.
bool Carried::sets(int body, int step, int variable) const {
  const Reader& reader = *program_.body(body).reader;
  const Range range = program_.body(body).steps[static_cast<std::size_t>(step)].range;
  std::size_t mentions = 0;
  bool set = false;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_name(k) || program_.model().resolve(body, reader.text(k), k) != variable)
      continue;
    if (k > 0 && (reader.is(k - 1, ".") || reader.is(k - 1, "->"))) continue;
    ++mentions;
    const bool cleared = reader.is(k + 1, ".") && k == range.begin &&
                         (reader.is(k + 2, "clear") || reader.is(k + 2, "assign"));
    const auto around = reader.bracket_around(k);
    const bool tied = around && *around > 0 && reader.is(*around - 1, "tie") &&
                      reader.is(reader.behind(*around), "=") && *around <= range.begin + 3;
    set = set || (k == range.begin && reader.is(k + 1, "=")) || cleared || tied;
  }
  return set && mentions == 1;
}

Carried::Use Carried::first_use(int id, int header, int variable) const {
  const Body& body = program_.body(id);
  for (std::size_t s = 0; s < body.steps.size(); ++s) {
    if (body.steps[s].parent != header || body.steps[s].function != body.block) continue;
    if (sets(id, static_cast<int>(s), variable)) return Use::set;
    if (touches(id, static_cast<int>(s), variable)) return Use::read;
    // A variable that only some iterations set may be read as it was.
    if (is_used_below(id, static_cast<int>(s), variable)) return Use::read;
  }
  return Use::none;
}

/// Whether a statement that the header controls does something else with it than to set it.
bool Carried::is_used_below(int id, int header, int variable) const {
  const Body& body = program_.body(id);
  for (std::size_t s = 0; s < body.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    if (body.steps[s].parent != header || body.steps[s].function != body.block) continue;
    if (touches(id, step, variable) && !sets(id, step, variable)) return true;
    if (is_used_below(id, step, variable)) return true;
  }
  return false;
}

bool Carried::is_read_after(Loop loop, int variable, Range region) const {
  const Body& body = program_.body(loop.body);
  const Range whole = program_.step(loop).whole;
  bool repeated = false;  // by a loop around this one
  for (int parent = program_.step(loop).parent; parent >= 0;) {
    const Step& header = body.steps[static_cast<std::size_t>(parent)];
    repeated = repeated || (header.is_loop && is_within(region, header.whole));
    parent = header.parent;
  }
  for (std::size_t s = 0; s < body.steps.size(); ++s) {
    const Step& one = body.steps[s];
    const int step = static_cast<int>(s);
    if (!is_within(region, one.range) || is_within(whole, one.range)) continue;
    if (!repeated && one.range.begin < whole.end) continue;
    if (program_.variable(variable).scope.holds(one.range.begin) == false &&
        program_.variable(variable).body >= 0) {
      continue;
    }
    const bool always = one.parent == program_.step(loop).parent;
    if (!repeated && always && sets(loop.body, step, variable)) return false;
    if (touches(loop.body, step, variable)) return true;
  }
  return false;
}

bool Carried::assigns(Loop loop, int variable) const {
  const Range whole = program_.step(loop).whole;
  const Reader& reader = *program_.body(loop.body).reader;
  for (const int s : program_.steps_in(loop.body, whole)) {
    if (s == loop.step) continue;
    const sources::StepEffects& effects = program_.effects().of(loop.body, s);
    if (holds(effects.assigned, variable)) return true;
    for (const sources::Call& call : effects.calls) {
      for (const int callee : call.bodies) {
        for (std::size_t i = 0; i < call.arguments.size(); ++i) {
          if (!call.arguments[i].holds(variable, Extent::whole)) continue;
          const auto& parameters = program_.body(callee).parameters;
          if (i >= parameters.size()) return true;
          const sources::Type& type = program_.variable(parameters[i]).type;
          if ((type.reference || type.pointer) && !type.constant) return true;
        }
      }
    }
  }
  for (std::size_t k = whole.begin; k < whole.end; ++k) {
    if (!reader.is_name(k) || reader.text(k) != program_.variable(variable).name) continue;
    const bool taken = reader.is(k - 1, "&") && !reader.operand_ends_before(k - 1);
    const bool shifted = k > 1 && reader.is(k - 1, ">") && reader.is(k - 2, ">");
    const auto around = reader.bracket_around(k);
    const bool swapped = around && *around > 0 && reader.is(*around - 1, "swap");
    if (taken || shifted || swapped) return true;
  }
  return false;
}

bool Carried::is_invariant(Loop loop, Range expression) const {
  const Reader& reader = *program_.body(loop.body).reader;
  std::set<int> moving = written(loop);
  for (std::size_t k = expression.begin; k < expression.end; ++k) {
    if (reader.is(k, "++") || reader.is(k, "--") || reader.is_assignment(k) ||
        reader.is_directive(k) || reader.is(k, "[")) {
      return false;
    }
    if (!reader.is_name(k)) continue;
    const std::string_view name = reader.text(k);
    const bool member = k > 0 && (reader.is(k - 1, ".") || reader.is(k - 1, "->"));
    const std::size_t behind = std::max(reader.behind_angles(k + 1), k + 1);
    if (reader.is(behind, "(")) {
      const bool known = member ? sources::method_purity(name).pure || name == "parameters"
                                : sources::function_purity(name).pure;
      const bool changes = std::ranges::any_of(program_.model().functions(name), [&](int id) {
        const sources::Summary& summary = program_.effects().summary(id);
        return !summary.writes.empty() || !summary.shared_writes.empty();
      });
      if (!known || changes) return false;
      continue;
    }
    if (reader.is(k + 1, "::")) continue;
    const int id = program_.model().resolve(loop.body, name, k);
    if (id < 0 || !moving.contains(id)) continue;
    const Variable& v = program_.variable(id);
    const StateKind kind = types_.of(id).kind;
    if (!v.type.constant && is_changed(loop, id, kind)) return false;
  }
  return true;
}

}  // namespace flor::instrument
