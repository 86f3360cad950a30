#include "instrument/tensor_changes.h"

#include "sources/syntax/libraries.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::instrument {
namespace {

using sources::Extent;
using sources::Inner;
using sources::one_of;

constexpr std::array<std::string_view, 8> kWriters = {
    "set_data", "data_ptr", "mutable_data_ptr",  "mutable_grad",
    "accessor", "swap",     "packed_accessor32", "packed_accessor64"};
/// Functions of namespace std that leave tensors alone which they get, beside the known pure ones.
constexpr std::array<std::string_view, 13> kHarmless = {
    "make_tuple", "make_shared",      "make_unique",     "make_optional", "cref",
    "forward",    "as_const",         "tuple_size",      "shared_ptr",    "unique_ptr",
    "string",     "move_if_noexcept", "initializer_list"};
/// Functions that hand on what they get to the call around them.
constexpr std::array<std::string_view, 8> kPassing = {"ref", "cref",      "forward",  "move",
                                                      "tie", "addressof", "as_const", "get"};

/// Whether libtorch marks a function of that name as one that writes to its first argument.
bool writes_first(std::string_view name) { return name.ends_with('_') || name.ends_with("_out"); }

/// Whether the macro's text may change a variable that it names or gets.
bool macro_changes(const Source& source, const Inner& macro) {
  for (std::size_t k = macro.range.begin; k < macro.range.end; ++k) {
    const sources::Token& token = source.tokens.all[k];
    if (one_of(token.text, sources::kAssignments) || token.is("swap")) return true;
    if (token.kind == sources::TokenKind::identifier && writes_first(token.text)) return true;
  }
  return false;
}

}  // namespace

std::set<int> TensorChanges::running(int body, Range range) const {
  std::set<int> running = program_.called_in(body, range);
  for (const Range lambda : lambdas_used(body, range)) {
    running.merge(program_.called_in(body, lambda));
  }
  std::vector<int> open(running.begin(), running.end());
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (program_.body(id).is_constructor()) continue;
    for (const int callee : program_.called_in(id, program_.body(id).block)) {
      if (running.insert(callee).second) open.push_back(callee);
    }
  }
  return running;
}

bool TensorChanges::in_loop(Loop loop, int variable) const {
  Seen seen;
  const Range whole = program_.step(loop).whole;
  if (in(loop.body, whole, variable, seen)) return true;
  // The variable itself, if functions can name it, and members that refer to it.
  std::set<int> shared;
  for (const int other : program_.effects().reaching(variable)) {
    const Variable& v = program_.variable(other);
    if (v.body < 0 && !v.name.empty() && other != program_.model().outside()) shared.insert(other);
  }
  if (program_.variable(variable).body < 0) shared.insert(variable);
  if (shared.empty()) return false;
  for (const int callee : running(loop.body, whole)) {
    if (program_.body(callee).is_constructor()) continue;
    for (const int one : shared) {
      const StateKind kind = types_.of(one).kind;
      const bool tensors = kind == StateKind::tensor || types_.of(one).tensors;
      if (tensors && in(callee, program_.body(callee).block, one, seen)) return true;
    }
  }
  return false;
}

bool TensorChanges::in_function(int body, int variable) const {
  Seen seen;
  return in(body, program_.body(body).block, variable, seen);
}

bool TensorChanges::in(int body, Range range, int variable, Seen& seen) const {
  if (!seen.insert({body, {range.begin, variable}}).second) return false;
  std::vector<Range> places = lambdas_used(body, range);
  places.push_back(range);
  return std::ranges::any_of(places, [&](Range place) {
    return is_assigned(body, place, variable) || by_name(body, place, variable, seen) ||
           by_function(body, place, variable, seen);
  });
}

/// The lambdas of the function outside of `range` that code in it may call: by their names, or by
/// any other way if they have none.
std::vector<Range> TensorChanges::lambdas_used(int body, Range range) const {
  std::vector<Range> used;
  const Reader& reader = *program_.body(body).reader;
  const auto& inner = reader.source().structure.inner;
  const auto is_named_in = [&](std::string_view name, Range place) {
    for (std::size_t k = place.begin; k < place.end; ++k) {
      if (reader.is(k, name)) return true;
    }
    return false;
  };
  for (bool more = true; more;) {
    more = false;
    for (const Inner& one : inner) {
      if (!program_.model().lambda_at(reader.source(), one.range.begin) ||
          !program_.body(body).block.holds(one.range.begin) || is_within(range, one.range) ||
          is_within(one.range, range)) {
        continue;
      }
      const auto same = [&](Range other) { return other.begin == one.range.begin; };
      if (std::ranges::any_of(used, same)) continue;
      const bool runs =
          one.name.empty() || is_named_in(one.name, range) ||
          std::ranges::any_of(used, [&](Range other) { return is_named_in(one.name, other); });
      if (!runs) continue;
      used.push_back(one.range);
      more = true;
    }
  }
  return used;
}

/// Whether an assignment changes it, and not only a copy of the handle.
bool TensorChanges::is_assigned(int body, Range range, int variable) const {
  const Variable& v = program_.variable(variable);
  const bool own_handle = v.parameter >= 0 && !v.type.reference;
  for (const int s : program_.steps_in(body, range)) {
    for (const auto& [named, extent] : program_.effects().of(body, s).assigned) {
      if (references_.is_it(named, variable)) {
        if (named != variable || extent != Extent::rebound || !own_handle) return true;
      } else if (extent != Extent::rebound && references_.reaches(named, variable)) {
        return true;
      }
    }
  }
  return false;
}

/// Whether a chain of members, such as w.data().sub_(g) and w.grad().zero_(), changes it.
bool TensorChanges::by_chain(const Reader& reader, std::size_t k, std::size_t end,
                             bool container) const {
  for (std::size_t i = k + 1; i + 1 < end;) {
    if (reader.is(i, "(") || reader.is(i, "[")) {
      container = false;
      i = std::max(reader.behind(i), i + 1);
    } else if (is_access(reader, i)) {
      const std::string_view name = reader.text(i + 1);
      if (sources::works_in_place(name) || one_of(name, kWriters)) return true;
      const std::size_t angles = std::max(reader.behind_angles(i + 2), i + 2);
      const bool called = reader.is(angles, "(");
      if (container && called && !sources::method_purity(name).pure && name != "reserve")
        return true;
      if (sources::method_purity(name).fresh) return false;
      container = container && !called;
      i = called ? std::max(reader.behind(angles), angles + 1) : i + 2;
    } else {
      break;
    }
  }
  return false;
}

bool TensorChanges::by_name(int body, Range range, int variable, Seen& seen) const {
  const Reader& reader = *program_.body(body).reader;
  const sources::Model& model = program_.model();
  const std::string_view own_name = program_.variable(variable).name;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_name(k)) continue;
    const std::string_view word = reader.text(k);
    if (const Inner* macro = model.macro(word)) {
      const Source& source = *model.source_of_macro(word);
      for (std::size_t i = macro->range.begin + 3; i < macro->range.end; ++i) {
        if (source.tokens.all[i].is(own_name) && macro_changes(source, *macro)) return true;
      }
    }
    const bool member = is_member(reader, k) && !reader.is(k - 2, "this");
    if (member && !model.is_field(word)) continue;
    const int named = member ? model.resolve_shared(word) : model.resolve(body, word, k);
    if (!references_.reaches(named, variable)) continue;
    if (k > 0 && reader.is(k - 1, "&") && !reader.operand_ends_before(k - 1) &&
        !reader.is(k - 2, "auto")) {
      const bool declares = model.declared_at(body, word, k) >= 0;
      if (!declares) return true;
    }
    const bool container = types_.of(named).kind == StateKind::container;
    if (by_chain(reader, k, range.end, container)) return true;
    auto around = reader.bracket_around(k);
    while (around && reader.is(*around, "{")) around = reader.bracket_around(*around);
    for (std::size_t at = k; around && *around > range.begin && reader.is(*around, "(");) {
      if (by_call(body, *around, at, variable, seen)) return true;
      const auto name = called_name(reader, *around);
      const std::size_t close = reader.behind(*around) - 1;
      if (name && !one_of(reader.text(*name), kPassing)) break;
      const bool whole = !name || !reader.is(*name, "get");
      if (by_chain(reader, close, range.end, container && whole) &&
          references_.reaches(body, {*around + 1, close}, variable)) {
        return true;
      }
      at = name.value_or(close);
      around = reader.bracket_around(*around);
    }
  }
  return false;
}

/// Whether the call whose parenthesis is at `open` may change the argument that `at` begins.
bool TensorChanges::by_call(int body, std::size_t open, std::size_t at, int variable,
                            Seen& seen) const {
  const Reader& reader = *program_.body(body).reader;
  const sources::Model& model = program_.model();
  const std::size_t name = called_name(reader, open).value_or(0);
  if (name == 0) return false;
  const std::string_view word = reader.text(name);
  const auto parts = reader.split({open + 1, reader.behind(open) - 1});
  std::size_t index = 0;
  while (index < parts.size() && !parts[index].holds(at)) ++index;
  if (index >= parts.size()) return false;
  // The words before it, as its namespace, and those behind it: a view of it, or a new value.
  std::size_t k = at + 1;
  bool fresh = false;
  while (k < parts[index].end) {
    if (reader.is(k, "(") || reader.is(k, "[")) {
      k = std::max(reader.behind(k), k + 1);
    } else if (is_access(reader, k)) {
      fresh = fresh || sources::method_purity(reader.text(k + 1)).fresh;
      k += 2;
    } else if (reader.is(k, "}") || reader.is(k, ",")) {
      break;
    } else {
      return false;
    }
  }
  if (fresh || model.declared_at(body, word, name) >= 0) return false;
  if (is_access(reader, name - 1)) {
    if (word == "swap") return true;
    if (!model.functions(word).empty() || name < 2 || !reader.is_name(name - 2)) return false;
    const int receiver = model.resolve(body, reader.text(name - 2), name - 2);
    if (receiver < 0) return false;
    const Variable& v = program_.variable(receiver);
    return types_.of(receiver).kind == StateKind::other && types_.of(receiver).own.empty() &&
           v.type.named && !v.type.torch && !v.type.standard;
  }
  std::string_view space;
  for (std::size_t i = name; i >= 2 && reader.is(i - 1, "::"); i -= 2) space = reader.text(i - 2);
  if (space.empty() && model.macro(word)) {
    return macro_changes(*model.source_of_macro(word), *model.macro(word));
  }
  if (sources::is_torch_namespace(space)) {
    if (space == "flor") return false;
    return word == "load" || word.ends_with("_outf") || (index == 0 && writes_first(word));
  }
  const bool known = sources::function_purity(word).pure || sources::is_container_type(word) ||
                     one_of(word, kHarmless) || sources::is_print(word);
  if (space == "std") return !known && !one_of(word, kPassing);
  if (space.empty()) {
    const int callee = model.resolve(body, word, name);
    if (callee >= 0 && program_.variable(callee).body == body) {
      for (const Inner& inner : reader.source().structure.inner) {
        if (inner.name == word && model.lambda_at(reader.source(), inner.range.begin) &&
            program_.body(body).block.holds(inner.range.begin)) {
          return by_lambda(body, inner, index, seen);
        }
      }
      const auto& parts_of = references_.targets(callee);
      const bool layer = !parts_of.empty() && std::ranges::all_of(parts_of, [&](int one) {
        return types_.of(one).objects;  // for (auto& net : nets) net(x)
      });
      return !layer && types_.of(callee).kind == StateKind::other && types_.of(callee).own.empty();
    }
  }
  if (!model.functions(word).empty() || model.is_class(word)) return false;  // by_function
  if (writes_first(word)) return index == 0;
  if (known || word == "Tensor" || sources::is_stateless_namespace(space)) return false;
  if (space.empty() && variable >= 0) {
    const auto& tokens = reader.source().tokens.all;
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      if (tokens[i].is("using") && tokens[i + 1].is("namespace") &&
          sources::is_torch_namespace(tokens[i + 2].text)) {
        return false;  // a function of libtorch
      }
    }
  }
  return true;
}

/// Whether the lambda changes its parameter of that number.
bool TensorChanges::by_lambda(int body, const Inner& lambda, std::size_t index, Seen& seen) const {
  const Reader& reader = *program_.body(body).reader;
  const std::size_t open = reader.behind(lambda.range.begin);
  if (!reader.is(open, "(")) return false;
  const auto parts = reader.split({open + 1, reader.behind(open) - 1});
  if (index >= parts.size()) return true;
  for (std::size_t k = parts[index].begin; k < parts[index].end; ++k) {
    const int parameter =
        reader.is_name(k) ? program_.model().declared_at(body, reader.text(k), k) : -1;
    if (parameter < 0) continue;
    const Range block{reader.opening(lambda.range.end - 1), lambda.range.end};
    if (!seen.insert({body, {block.begin, parameter}}).second) return false;
    if (by_name(body, block, parameter, seen) || by_function(body, block, parameter, seen))
      return true;
    const Variable& v = program_.variable(parameter);
    for (const int s : program_.steps_in(body, block)) {
      for (const auto& [named, extent] : program_.effects().of(body, s).assigned) {
        const bool handle = !v.type.reference && extent == Extent::rebound;
        if (references_.is_it(named, parameter) && !handle) return true;
      }
    }
    return false;
  }
  return false;
}

/// Whether a function of these sources that the code calls changes the parameter that gets it.
bool TensorChanges::by_function(int body, Range range, int variable, Seen& seen) const {
  for (const int s : program_.steps_in(body, range)) {
    for (const sources::Call& call : program_.effects().of(body, s).calls) {
      for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const bool given = std::ranges::any_of(call.arguments[i], [&](const auto& key) {
          return references_.reaches(key.first, variable);
        });
        if (!given) continue;
        for (const int callee : call.bodies) {
          const Body& other = program_.body(callee);
          if (i >= other.parameters.size()) return true;  // a parameter pack
          const int parameter = other.parameters[i];
          if (types_.of(parameter).kind != StateKind::tensor) {
            for (std::size_t t = 0; t < other.steps.size(); ++t) {
              const auto& writes = program_.effects().of(callee, static_cast<int>(t)).writes;
              if (std::ranges::any_of(writes, [&](const auto& key) {
                    return key.first == parameter && key.second != Extent::rebound;
                  })) {
                return true;
              }
            }
          }
          if (in(callee, other.block, parameter, seen)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace flor::instrument
