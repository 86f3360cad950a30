#include "instrument/carried.h"

#include "sources/syntax/libraries.h"

#include <algorithm>

namespace flor::instrument {
namespace {

using sources::Extent;
using sources::Keys;

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

/// Whether the preprocessor decides about the token: the program may be built without it.
bool is_in_conditional(const Body& one, std::size_t at) {
  const auto& all = one.reader->source().structure.brackets.conditionals;
  return std::ranges::any_of(all, [&](const sources::Conditional& conditional) {
    const std::size_t begin = conditional.branches.front();
    return begin > one.block.begin && begin < at && at < conditional.end;
  });
}

}  // namespace

/// Whether the variable and all that it leads to keep their values.
bool Carried::is_frozen(Loop loop, int id) const {
  if (!program_.variable(id).type.constant) return false;
  const auto leads = [&](int one) { return types_.leads(one); };
  return !leads(id) && std::ranges::none_of(references_.shared(id), leads) &&
         !tensors_.in_loop(loop, id);
}

/// Everything that the statements of the loop may change, and what that refers to.
std::set<int> Carried::written(Loop loop) const {
  std::set<int> out, through;
  for (const int s : program_.steps_in(loop.body, program_.step(loop).whole)) {
    for (const auto& [variable, extent] : program_.effects().of(loop.body, s).writes) {
      out.insert(variable);
      const Variable& v = program_.variable(variable);
      const bool declares = v.body == loop.body && program_.step({v.body, s}).range.holds(v.at);
      if (extent != Extent::rebound || (v.type.reference && !declares)) through.insert(variable);
    }
  }
  out.merge(drawn_from(loop));
  std::set<int> stood_for;
  for (const int variable : out) {
    if (!through.contains(variable) || is_frozen(loop, variable)) continue;
    const auto& all = references_.shared(variable);
    stood_for.insert(all.begin(), all.end());
    const Variable& v = program_.variable(variable);
    if (v.body >= 0 || v.at != 0 || variable == program_.model().outside()) continue;
    for (const int other : program_.effects().reachable(variable)) {  // [&sum = total]
      if (program_.variable(other).body == loop.body) stood_for.insert(other);
    }
  }
  out.insert(stood_for.begin(), stood_for.end());
  through.insert(stood_for.begin(), stood_for.end());
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

/// The random engines that the loop, or a function that it calls, names: libtorch takes its
/// generators by value, and they change all the same.
std::set<int> Carried::drawn_from(Loop loop) const {
  std::set<int> out;
  const Range whole = program_.step(loop).whole;
  for (std::size_t v = 0; v < program_.model().variables().size(); ++v) {
    const auto id = static_cast<int>(v);
    const Variable& variable = program_.variable(id);
    if (variable.name.empty() || (variable.body >= 0 && variable.body != loop.body)) continue;
    if (types_.of(id).kind != StateKind::engine) continue;
    bool named = program_.mentions(loop.body, whole, id);
    if (!named && variable.body < 0) {
      named = std::ranges::any_of(tensors_.running(loop.body, whole), [&](int callee) {
        return program_.mentions(callee, program_.body(callee).block, id);
      });
    }
    if (named) out.insert(id);
  }
  return out;
}

/// Whether one of the keys is the variable, or a reference to it or to a part of it.
bool Carried::names(const Keys& keys, int variable) const {
  return std::ranges::any_of(
      keys, [&](const auto& key) { return references_.is_it(key.first, variable); });
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

bool Carried::is_tensor_changed(Loop loop, int variable) const {
  return tensors_.in_loop(loop, variable) || is_trained(loop, variable);
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
      if (types_.of(variable).tensors) return is_tensor_changed(loop, variable);
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

/// Whether it is a reference to variables that the loop can name as well.
bool Carried::is_named_otherwise(Loop loop, int id) const {
  const auto& targets = references_.targets(id);
  return !targets.empty() && std::ranges::any_of(targets, [&](int target) {
    return is_visible(loop, program_.variable(target)) && references_.targets(target).empty();
  });
}

std::vector<CarriedVariable> Carried::changed(Loop loop) const {
  std::vector<CarriedVariable> out;
  std::set<int> changing = written(loop);
  add_owners(loop, changing);
  for (const int id : changing) {
    const Variable& variable = program_.variable(id);
    if (variable.name.empty() || variable.name == "this" || variable.is_result) continue;
    if (!is_visible(loop, variable) || is_named_otherwise(loop, id)) continue;
    if (program_.model().is_kept_by_owner(variable.name) && variable.body < 0) continue;
    if (references_.is_lambda(id)) continue;  // the questions ask of state that it keeps itself
    StateType type = types_.of(id);
    const bool handle = type.kind == StateKind::tensor || type.tensors;
    if (variable.type.constant && !is_object(type.kind) && !handle) continue;
    if (type.kind == StateKind::other && is_frozen(loop, id)) continue;
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
  for (const int id : written(loop)) {
    const Variable& v = program_.variable(id);
    const bool global = v.body < 0 && v.at != 0 && !program_.model().is_part(v.name);
    if (!global && !(v.body >= 0 && v.persistent)) continue;
    const StateKind kind = types_.of(id).kind;
    if (is_frozen(loop, id) || !is_changed(loop, id, kind)) continue;
    out.push_back(id);
  }
  return out;
}

/// References in what the loop runs to objects that these sources do not show, which it changes,
/// and variables that they do not declare.
std::vector<int> Carried::unknown(Loop loop) const {
  std::set<int> out;
  std::set<std::string_view> captured;  // [name = value]: state of the lambda
  for (const auto& file : program_.files()) {
    for (const sources::Inner& inner : file->structure.inner) {
      const auto& tokens = file->tokens.all;
      if (!program_.model().lambda_at(*file, inner.range.begin)) continue;
      const std::size_t close = file->structure.brackets.partner[inner.range.begin];
      for (std::size_t k = inner.range.begin; k < std::min(close, inner.range.end); ++k) {
        if (tokens[k + 1].is("=")) captured.insert(tokens[k].text);
      }
    }
  }
  const auto look = [&](int body, Range range) {
    for (const int s : program_.steps_in(body, range)) {
      const sources::StepEffects& effects = program_.effects().of(body, s);
      for (const auto& [id, extent] : effects.assigned) {
        const Variable& v = program_.variable(id);
        if (v.name.empty() || id == program_.model().outside() || v.is_result) continue;
        const bool undeclared =
            v.body < 0 && v.at == 0 && !v.external && !program_.model().is_field(v.name) &&
            !sources::has_hidden_state(v.name) && !captured.contains(v.name) && v.name != "errno";
        const bool leads = v.body == body && range.holds(v.at) && !v.type.constant &&
                           types_.of(id).kind != StateKind::loader && references_.is_unknown(id);
        if (undeclared || leads) out.insert(id);
      }
    }
  };
  look(loop.body, program_.step(loop).whole);
  for (const int callee : tensors_.running(loop.body, program_.step(loop).whole)) {
    look(callee, program_.body(callee).block);
  }
  return {out.begin(), out.end()};
}

std::vector<int> Carried::unsaved_members(Loop loop) const {
  std::vector<int> out;
  const std::string_view owner = program_.body(loop.body).piece->owner;
  const std::set<int> running = tensors_.running(loop.body, program_.step(loop).whole);
  for (const int id : written(loop)) {
    const Variable& v = program_.variable(id);
    if (v.body >= 0 || !program_.model().is_field(v.name) ||
        program_.model().is_kept_by_owner(v.name) || is_frozen(loop, id)) {
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
      const bool tensors = kind == StateKind::tensor || types_.of(id).tensors;
      bool changes = tensors && tensors_.in_function(b, id);
      for (std::size_t s = 0; s < body.steps.size() && !changes; ++s) {
        const sources::StepEffects& effects = program_.effects().of(b, static_cast<int>(s));
        changes = names(effects.assigned, id) || (!tensors && names(effects.writes, id));
      }
      if (changes && std::ranges::find(out, id) == out.end()) out.push_back(id);
    }
  }
  return out;
}

bool Carried::touches(int body, int step, int variable) const {
  const sources::StepEffects& effects = program_.effects().of(body, step);
  return names(effects.reads, variable) || names(effects.writes, variable);
}

/// Whether a macro's text names the variable, or calls a function that reads it. `seen`: the macros
/// that were looked at.
bool Carried::is_in_macro(std::string_view macro, int variable,
                          std::set<std::string_view>& seen) const {
  const sources::Inner* inner = program_.model().macro(macro);
  if (!inner || !seen.insert(macro).second) return false;
  const auto& tokens = program_.model().source_of_macro(macro)->tokens.all;
  for (std::size_t k = inner->range.begin + 3; k < inner->range.end; ++k) {
    const std::string_view word = tokens[k].text;
    if (tokens[k].is("##") || word == program_.variable(variable).name) return true;
    if (is_in_macro(word, variable, seen)) return true;
    if (reads_in_function(word, variable)) return true;
  }
  return false;
}

bool Carried::reads_in_function(std::string_view name, int variable) const {
  return std::ranges::any_of(program_.model().functions(name), [&](int id) {
    return names(program_.effects().summary(id).shared_reads, variable);
  });
}

/// Whether something else that the statement names may lead to the variable: a function or a macro
/// that reads it, a lambda that captures it, a pointer or a reference to it.
bool Carried::is_read_otherwise(int body, int step, int variable) const {
  const Reader& reader = *program_.body(body).reader;
  const Range range = program_.step({body, step}).range;
  std::set<int> others;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_name(k)) continue;
    const std::string_view word = reader.text(k);
    std::set<std::string_view> seen;
    if (is_in_macro(word, variable, seen) || reads_in_function(word, variable)) return true;
    const int other = program_.model().resolve(body, word, k);
    if (other < 0 || other == variable || other == program_.model().outside()) continue;
    if (references_.is_it(other, variable)) return true;
    others.insert(other);
  }
  for (const auto& [other, extent] : program_.effects().of(body, step).reads) {
    if (other != variable && program_.variable(other).body < 0) others.insert(other);
  }
  others.erase(program_.model().outside());
  const StateKind kind = types_.of(variable).kind;
  const auto& referring = program_.effects().reaching(variable);
  return std::ranges::any_of(referring, [&](int other) {
    // A layer that was once called with a tensor does not keep it.
    const StateKind by = types_.of(other).kind;
    const bool keeps = by == StateKind::other || kind == StateKind::number ||
                       program_.variable(other).type.pointer;
    return other != variable && keeps && others.contains(other);
  });
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
    if (is_member(reader, k)) continue;
    ++mentions;
    const bool cleared = reader.is(k + 1, ".") && k == range.begin &&
                         (reader.is(k + 2, "clear") || reader.is(k + 2, "assign"));
    const auto around = reader.bracket_around(k);
    const bool tied = around && *around > 0 && reader.is(*around - 1, "tie") &&
                      reader.is(reader.behind(*around), "=") && *around <= range.begin + 3;
    set = set || (k == range.begin && reader.is(k + 1, "=")) || cleared || tied;
  }
  return set && mentions == 1 && !is_in_conditional(program_.body(body), range.begin) &&
         !is_read_otherwise(body, step, variable);
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
    if (names(effects.assigned, variable)) return true;
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
    if (!reader.is_name(k)) continue;
    const bool same = reader.text(k) == program_.variable(variable).name;
    if (!same &&
        !references_.is_it(program_.model().resolve(loop.body, reader.text(k), k), variable))
      continue;
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
    const bool member = is_member(reader, k);
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
    if (id < 0) continue;
    std::set<int> meant = references_.targets(id);
    meant.insert(id);
    for (const int one : meant) {
      if (!moving.contains(one) || program_.variable(one).type.constant) continue;
      if (is_changed(loop, one, types_.of(one).kind)) return false;
    }
  }
  return true;
}

}  // namespace flor::instrument
