#include "instrument/fixed.h"

#include "sources/syntax/brackets.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::instrument {
namespace {

using sources::Extent;
using sources::one_of;

constexpr std::array<std::string_view, 17> kChanging = {"=",  "+=", "-=", "*=",  "/=",  "%=",
                                                        "&=", "|=", "^=", "<<=", ">>=", "++",
                                                        "--", "&",  ">>", "#",   "##"};
constexpr std::array<std::string_view, 8> kBinding = {
    "ref", "tie", "forward_as_tuple", "swap", "exchange", "addressof", "iter_swap", "swap_ranges"};
constexpr std::array<std::string_view, 2> kPassing = {"move", "forward"};
constexpr std::array<std::string_view, 4> kStoring = {"push_back", "emplace_back", "emplace",
                                                      "push"};

struct Argument {
  std::size_t open, index;
};

/// The call of which the name at `at` is an argument, itself: in parentheses, in a choice, or as
/// what std::move gives. A bracket in braces counts as one.
std::optional<Argument> argument_at(const Reader& reader, std::size_t at) {
  std::size_t first = at, last = at;
  for (auto open = reader.bracket_around(at); open; open = reader.bracket_around(*open)) {
    const auto begins = [&](std::string_view mark) { return reader.is(first - 1, mark); };
    const auto ends = [&](std::string_view mark) { return reader.is(last + 1, mark); };
    if (!(begins("(") || begins("{") || begins(",") || begins("?") || begins(":")) ||
        !(ends(")") || ends("}") || ends(",") || ends(":"))) {
      return std::nullopt;
    }
    const auto name = called_name(reader, *open);
    const bool passes = name && one_of(reader.text(*name), kPassing);
    if (reader.is(*open, "(") && (!name || passes)) {
      first = name.value_or(*open);
      while (first > 1 && reader.is(first - 1, "::")) first -= 2;
      while (first > 0 && !name && reader.is(first - 1, ">")) {  // static_cast<int&>(n)
        while (first > 0 && !reader.is(first, "<")) --first;
        --first;
      }
      last = reader.behind(*open) - 1;
      continue;
    }
    if (!name) return std::nullopt;
    const auto parts = reader.split({*open + 1, reader.behind(*open) - 1});
    const auto part = std::ranges::find_if(parts, [&](Range range) { return range.holds(first); });
    return Argument{*open, static_cast<std::size_t>(part - parts.begin())};
  }
  return std::nullopt;
}

/// The function that is called with an expression that begins with the name at `at`.
std::string_view function_around(const Reader& reader, std::size_t at) {
  for (auto open = reader.bracket_around(at); open && reader.is(*open, "(");
       open = reader.bracket_around(*open)) {
    if (const auto name = called_name(reader, *open)) return reader.text(*name);
  }
  return {};
}

}  // namespace

Fixed::Fixed(const Program& program, const StateTypes& types, const Carried& carried, Loop loop)
    : program_(program),
      types_(types),
      carried_(carried),
      loop_(loop),
      body_(program.body(loop.body)),
      reader_(*body_.reader),
      whole_(program.step(loop).whole),
      header_(program.step(loop).range) {
  find_macros();
}

void Fixed::find_macros() {
  for (const auto& file : program_.files()) {
    const auto& tokens = file->tokens.all;
    for (std::size_t k = 0; k + 2 < tokens.size(); ++k) {
      if (!tokens[k].starts_directive || sources::directive_name(tokens, k) != "define") continue;
      const std::size_t end = sources::directive_end(tokens, k);
      Macro macro;
      macro.name = tokens[k + 2].text;
      std::size_t at = k + 3;
      const auto joined = [&] {
        const sources::Token& name = tokens[k + 2];
        return tokens[at].line == name.line && tokens[at].column == name.column + name.text.size();
      };
      macro.function = at < end && tokens[at].is("(") && joined();
      std::set<std::string_view> parameters;
      if (macro.function) {
        while (at < end && !tokens[at].is(")")) parameters.insert(tokens[at++].text);
        ++at;
      }
      for (; at < end; ++at) {
        if (!parameters.contains(tokens[at].text)) macro.words.push_back(tokens[at].text);
      }
      macros_.push_back(std::move(macro));
    }
  }
}

std::optional<std::vector<std::string_view>> Fixed::replacement(std::string_view name) const {
  std::optional<std::vector<std::string_view>> found;
  for (const Macro& macro : macros_) {
    if (macro.name != name) continue;
    if (found || macro.function) return std::vector<std::string_view>();
    found = macro.words;
  }
  return found;
}

bool Fixed::is_lambda(const sources::Inner& inner) const {
  return program_.model().lambda_at(reader_.source(), inner.range.begin) != nullptr;
}

/// All that statements of the loop may change, also through what refers to it.
std::set<int> Fixed::moved() const {
  std::set<int> out, through;
  for (const int s : program_.steps_in(loop_.body, whole_)) {
    for (const auto& [variable, extent] : program_.effects().of(loop_.body, s).writes) {
      out.insert(variable);
      const sources::Type& type = program_.variable(variable).type;
      if (extent != Extent::rebound && (type.reference || type.pointer)) through.insert(variable);
    }
  }
  for (const int variable : through) {
    if (variable == program_.model().outside()) continue;
    for (const int other : program_.effects().reachable(variable)) out.insert(other);
  }
  return out;
}

std::vector<std::size_t> Fixed::mentions(Range range, int variable) const {
  std::vector<std::size_t> found;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (program_.mentions(loop_.body, {k, k + 1}, variable)) found.push_back(k);
  }
  return found;
}

/// Whether the name at `at` initializes a reference, or an object that keeps one. `parts`: also
/// where a member of the variable does.
bool Fixed::is_reference_made_of(std::size_t at, bool parts) const {
  std::size_t next = at + 1;
  while (parts && is_access(reader_, next) && reader_.is_name(next + 1)) {
    next += 2;
  }
  const bool alone = reader_.is(next, ";") || reader_.is(next, ",") || reader_.is(next, ":") ||
                     reader_.is(next, ")") || reader_.is(next, "}") || reader_.is(next, "?") ||
                     reader_.is(next, "]");
  const bool first = reader_.is(at - 1, "=") || reader_.is(at - 1, "(") ||
                     reader_.is(at - 1, "{") || reader_.is(at - 1, "?") ||
                     reader_.is(at - 1, ":") || reader_.is(at - 1, ",") || reader_.is(at - 1, "->");
  if (!alone || !first) return false;
  const auto is_kept = [&](std::size_t name) {
    if (!reader_.is_name(name)) return false;
    const auto declared = reader_.declared(name, body_.block.begin);
    if (!declared) return false;
    for (std::size_t k = declared->type.begin; k < declared->type.end; ++k) {
      const std::string_view word = reader_.text(k);
      if (word == "&" || word == "&&" || word == "reference_wrapper" || word == "span") return true;
      if (!program_.model().is_class(word)) continue;
      for (const std::string_view field : program_.model().fields_of(word)) {
        const sources::Type& type = program_.variable(program_.model().resolve_shared(field)).type;
        if (type.reference || type.pointer) return true;
      }
    }
    return false;
  };
  for (std::size_t k = at; k-- > body_.block.begin;) {
    if (reader_.is(k, ")") || reader_.is(k, "]")) {
      k = reader_.opening(k);
    } else if (reader_.is(k, "=")) {
      if (reader_.is(k - 1, "]")) {  // auto& [a, b] = n
        const std::size_t open = reader_.opening(k - 1);
        return reader_.is(open - 1, "&") || reader_.is(open - 1, "&&");
      }
      const bool captured =
          reader_.is(k - 2, "&") && (reader_.is(k - 3, "[") || reader_.is(k - 3, ","));
      return captured || is_kept(k - 1);
    } else if (reader_.is(k, "(") || reader_.is(k, "{")) {
      if (reader_.is_name(k - 1)) return is_kept(k - 1);
      if (reader_.is(k, "{")) return false;
    } else if (reader_.is(k, ";") || reader_.is(k, "}") || reader_.is(k, "[")) {
      return false;
    }
  }
  return false;
}

bool Fixed::is_bound(std::size_t at, bool parts) const {
  if (at > 0 && reader_.is(at - 1, "&") && !reader_.operand_ends_before(at - 1)) return true;
  return one_of(function_around(reader_, at), kBinding) || is_reference_made_of(at, parts);
}

/// Whether a lambda that outlives the iteration refers to what is named at `at`.
bool Fixed::is_in_stored_lambda(std::size_t at) const {
  return std::ranges::any_of(reader_.source().structure.inner, [&](const sources::Inner& inner) {
    const std::size_t open = inner.range.begin;
    if (!inner.range.holds(at) || !is_lambda(inner) || open == 0) return false;
    bool refers = false;
    for (std::size_t k = open; k < reader_.behind(open); ++k) {
      refers = refers || reader_.is(k, "&");
    }
    if (!refers) return false;
    if (reader_.is(open - 1, "=")) {
      return !reader_.declared(open - 2, body_.block.begin).has_value();
    }
    return reader_.is(open - 1, "(") && one_of(reader_.text(open - 2), kStoring);
  });
}

/// Whether the name at `at` is given to a macro that may change it.
bool Fixed::is_macro_changing(std::size_t at) const {
  for (auto around = reader_.bracket_around(at); around && *around > whole_.begin;
       around = reader_.bracket_around(*around)) {
    if (!reader_.is(*around, "(")) continue;
    for (const Macro& macro : macros_) {
      const bool changes = std::ranges::any_of(
          macro.words, [](std::string_view word) { return one_of(word, kChanging); });
      if (macro.name == reader_.text(*around - 1) && changes) return true;
    }
  }
  return false;
}

/// Whether the loop uses a macro that mentions the name, itself or by another macro.
bool Fixed::is_in_macro(std::string_view name) const {
  std::set<std::string_view> names = {name};
  for (bool more = true; more;) {
    more = false;
    for (const Macro& macro : macros_) {
      const bool mentions = std::ranges::any_of(
          macro.words, [&](std::string_view word) { return names.contains(word); });
      if (mentions) more = names.insert(macro.name).second || more;
    }
  }
  names.erase(name);
  for (std::size_t k = whole_.begin; k < whole_.end; ++k) {
    if (names.contains(reader_.text(k))) return true;
  }
  return false;
}

/// Whether the name at `at` is an argument of code that these sources do not show, whose parameter
/// refers to it.
bool Fixed::is_handed_over(int body, std::size_t at) const {
  const auto argument = argument_at(*program_.body(body).reader, at);
  return argument && refers_to_argument(body, argument->open, argument->index);
}

/// Whether what the bracket at `open` calls, or makes, may have a reference to its argument.
bool Fixed::refers_to_argument(int body, std::size_t open, std::size_t index) const {
  const Body& around = program_.body(body);
  const Reader& reader = *around.reader;
  const sources::Model& model = program_.model();
  std::size_t name = called_name(reader, open).value_or(0);
  if (name == 0) return false;
  if (reader.is(name, "invoke") && index > 0) {  // std::invoke(skip, n)
    name = reader.split({open + 1, reader.behind(open) - 1}).front().end - 1;
    --index;
  }
  const auto constructs = [&](std::string_view word) {
    return model.is_class(word) && is_declared_to_refer(word, index);
  };
  Range made{name, open};  // S(n), std::make_unique<S>(n)
  const auto declared = reader.declared(name, around.block.begin);
  if (declared) made = declared->type;  // S s(n)
  for (std::size_t k = made.begin; k < made.end; ++k) {
    if (constructs(reader.text(k))) return true;
  }
  if (declared || !reader.is(open, "(")) return false;
  const std::string_view word = reader.text(name);
  if (name > 0 && (is_access(reader, name - 1) || reader.is(name - 1, "::"))) {
    return is_declared_to_refer(word, index);
  }
  const int callee = model.functions(word).empty() ? model.resolve(body, word, name) : -1;
  if (callee < 0 || callee == model.outside() || program_.variable(callee).at == 0) {
    return is_declared_to_refer(word, index);
  }
  return is_object_referring(callee, index);
}

/// Whether a call of the variable may have a reference to its argument.
bool Fixed::is_object_referring(int id, std::size_t index) const {
  const StateType type = types_.of(id);
  if (type.kind != StateKind::other) return false;
  if (!type.own.empty()) return is_declared_to_refer("operator", index);
  const Variable& v = program_.variable(id);
  if (v.body < 0) return is_declared_to_refer(v.name, index);
  const Reader& reader = *program_.body(v.body).reader;
  if (carried_.references().is_lambda(id)) return false;  // its statements show what it does
  const auto type_of = reader.declared(v.at, program_.body(v.body).piece->range.begin);
  for (std::size_t k = type_of ? type_of->type.begin : v.at; k < v.at; ++k) {
    // std::function<void(int&)> f
    if (reader.is(k, "(") && !reader.is(k + 1, "*")) {
      return refers(reader, {k + 1, reader.behind(k) - 1}, index);
    }
  }
  if (reader.is(v.at + 1, ")") && reader.is(v.at + 2, "(")) {  // void (*f)(int&)
    return refers(reader, {v.at + 3, reader.behind(v.at + 2) - 1}, index);
  }
  return true;
}

/// Whether the parameter of that number refers to what it gets, and is not constant.
bool Fixed::refers(const Reader& reader, Range parameters, std::size_t index) const {
  const std::vector<Range> parts = reader.split(parameters);
  if (parts.empty()) return false;
  const auto has = [&](Range part, std::string_view word) {
    for (std::size_t k = part.begin; k < part.end; ++k) {
      if (reader.is(k, word)) return true;
    }
    return false;
  };
  const bool pack = has(parts.back(), "...");
  if (index >= parts.size() && !pack) return false;
  const Range part = parts[std::min(index, parts.size() - 1)];
  const bool reference = has(part, "&") || has(part, "&&") ||
                         program_.model().type_of(reader, part).reference;  // an alias
  return reference && !has(part, "const");
}

/// Whether a declaration of a function, or of a constructor or a pointer to a function, has such a
/// parameter.
bool Fixed::is_declared_to_refer(std::string_view name, std::size_t index) const {
  static constexpr std::array<std::string_view, 4> kBefore = {"{", "}", ";", ":"};
  const bool constructs = program_.model().is_class(name);
  for (const auto& file : program_.files()) {
    const Reader reader(*file);
    for (std::size_t k = 1; k + 1 < reader.size(); ++k) {
      if (!reader.is(k, name)) continue;
      std::size_t open = k + 1;
      if (name == "operator" && reader.is(open, "(")) open = k + 3;  // operator()(int& n)
      if (reader.is(open, ")") && reader.is(k - 1, "*")) ++open;     // void (*skip)(int& n)
      // A type stands before the name that is declared, and no operand.
      const bool typed = reader.is_name(k - 1) || reader.is(k - 1, ">") || reader.is(k - 1, "&") ||
                         reader.is(k - 1, "*") || sources::is_keyword(reader.text(k - 1));
      const bool declares = typed || (constructs && one_of(reader.text(k - 1), kBefore));
      if (!declares || !reader.is(open, "(") || reader.is(k - 1, "return")) continue;
      if (refers(reader, {open + 1, reader.behind(open) - 1}, index)) return true;
    }
  }
  return false;
}

bool Fixed::is_assigned_in_lambda(int variable) const {
  for (const sources::Inner& inner : reader_.source().structure.inner) {
    if (!is_lambda(inner) || !is_within(body_.block, inner.range)) continue;
    for (const int s : program_.steps_in(loop_.body, inner.range)) {
      const sources::StepEffects& effects = program_.effects().of(loop_.body, s);
      if (effects.writes.holds(variable, Extent::whole) ||
          effects.writes.holds(variable, Extent::rebound)) {
        return true;
      }
    }
  }
  return false;
}

bool Fixed::is_counter_changed(int variable) const {
  if (carried_.assigns(loop_, variable) || is_in_macro(program_.variable(variable).name)) {
    return true;
  }
  const std::vector<std::size_t> all = mentions({header_.end, whole_.end}, variable);
  return std::ranges::any_of(all, [&](std::size_t at) {
    return is_bound(at, false) || is_in_stored_lambda(at) || is_macro_changing(at) ||
           is_handed_over(loop_.body, at);
  });
}

/// Whether the variable that is named at `at` may change although no statement of the loop assigns
/// to it by its name.
bool Fixed::may_move(int variable, std::size_t at, const std::set<int>& moving) const {
  const Variable& v = program_.variable(variable);
  const sources::Type& type = v.type;
  if (types_.of(variable).name.starts_with("atomic")) return true;
  const Range declaration = program_.declaration_of(variable);
  for (std::size_t k = declaration.begin; k < declaration.end; ++k) {
    if (reader_.is(k, "volatile")) return true;
  }
  if (type.constant && !type.reference && !type.pointer) return false;
  if (is_in_macro(v.name)) return true;
  const bool local = v.body == loop_.body;
  const bool alone = !is_access(reader_, at + 1);
  if (local && type.reference && alone && (v.parameter < 0 || !type.constant)) return true;
  if (moving.contains(variable) && !type.constant) return true;
  if (local && type.reference && v.parameter < 0) {
    const auto refers = program_.effects().reachable(variable);
    if (std::ranges::any_of(refers, [&](int other) {
          return other != program_.model().outside() && moving.contains(other);
        })) {
      return true;
    }
  }
  if (type.constant) return false;
  if (local && is_assigned_in_lambda(variable)) return true;
  const std::vector<std::size_t> all = mentions(body_.block, variable);
  return std::ranges::any_of(all, [&](std::size_t one) {
    return is_bound(one, true) || (whole_.holds(one) && is_macro_changing(one));
  });
}

bool Fixed::is_rebound(int variable) const {
  std::set<std::pair<int, int>> seen;
  if (is_rebound(loop_.body, whole_, variable, seen)) return true;
  for (const sources::Inner& inner : reader_.source().structure.inner) {
    if (is_lambda(inner) && is_within(body_.block, inner.range) &&
        is_rebound(loop_.body, inner.range, variable, seen)) {
      return true;
    }
  }
  if (types_.of(variable).objects) {
    for (std::size_t v = 0; v < program_.model().variables().size(); ++v) {
      const auto other = static_cast<int>(v);
      const Variable& one = program_.variable(other);
      const bool element = other != variable && one.body == loop_.body && one.type.reference &&
                           !one.type.constant && carried_.references().is_it(other, variable);
      if (element && is_rebound(loop_.body, body_.block, other, seen)) return true;
    }
    return false;
  }
  const std::vector<std::size_t> all = mentions(body_.block, variable);
  return program_.variable(variable).body == loop_.body &&
         std::ranges::any_of(all, [&](std::size_t at) { return is_bound(at, false); });
}

/// Whether the variable that is named at `at`, or an element of it, gets another object there.
bool Fixed::is_rebound_at(int body, std::size_t at) const {
  static constexpr std::array<std::string_view, 17> kMethods = {
      "reset",        "swap",     "emplace",          "release",    "push_back",
      "emplace_back", "insert",   "insert_or_assign", "erase",      "clear",
      "resize",       "pop_back", "assign",           "push_front", "pop_front",
      "try_emplace",  "extract"};
  static constexpr std::array<std::string_view, 8> kMoving = {
      "move", "sort", "stable_sort", "shuffle", "reverse", "rotate", "partition", "remove_if"};
  const Reader& reader = *program_.body(body).reader;
  std::size_t k = at + 1;
  while (reader.is(k, "[") || reader.is(k, ".") || reader.is(k, "(")) {  // all.at(1), all[0]
    if (reader.is(k, ".") && one_of(reader.text(k + 1), kMethods)) return true;
    k = reader.is(k, ".") ? k + 2 : std::max(reader.behind(k), k + 1);
  }
  if (reader.is(k, "=") && !reader.is(at - 1, "*")) return true;
  const std::string_view function = function_around(reader, at);
  const bool shown = !program_.model().functions(function).empty();  // its statements say it
  return one_of(function, kBinding) || one_of(function, kMoving) ||
         (!shown && is_handed_over(body, at));
}

bool Fixed::is_rebound(int body, Range range, int variable,
                       std::set<std::pair<int, int>>& seen) const {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (program_.mentions(body, {k, k + 1}, variable) && is_rebound_at(body, k)) return true;
  }
  const bool shared = program_.variable(variable).body < 0;
  for (const int s : program_.steps_in(body, range)) {
    for (const sources::Call& call : program_.effects().of(body, s).calls) {
      for (const int callee : call.bodies) {
        const Body& other = program_.body(callee);
        const auto look = [&](int id) {
          return seen.insert({callee, id}).second && is_rebound(callee, other.block, id, seen);
        };
        if (shared && !other.is_constructor() && look(variable)) return true;
        for (std::size_t i = 0; i < call.arguments.size() && i < other.parameters.size(); ++i) {
          const int parameter = other.parameters[i];
          if (call.arguments[i].holds(variable, Extent::whole) &&
              program_.variable(parameter).type.reference && look(parameter)) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

bool Fixed::is_maybe_null(int variable) const {
  const Variable& v = program_.variable(variable);
  if (v.body != loop_.body || v.parameter >= 0) return false;
  const std::size_t k = v.at;
  const bool nothing = reader_.is(k + 1, ";") || reader_.is(k + 1, ",") ||
                       (reader_.is(k + 1, "{") && reader_.is(k + 2, "}")) ||
                       reader_.is(k + 2, "nullptr") || reader_.is(k + 2, "nullopt");
  if (!nothing) return false;
  // Set in any case, by a statement that nothing but the loop's own surroundings control.
  for (const Step& step : body_.steps) {
    if (step.range.begin <= k || step.range.begin >= whole_.begin) continue;
    const bool sets =
        program_.mentions(loop_.body, {step.range.begin, step.range.begin + 1}, variable) &&
        (reader_.is(step.range.begin + 1, "=") ||
         (reader_.is(step.range.begin + 1, ".") && reader_.is(step.range.begin + 2, "reset") &&
          !reader_.is(step.range.begin + 4, ")")));
    const bool always = step.parent < 0 || step.parent == program_.step(loop_).parent;
    if (sets && always && !reader_.is(step.range.begin + 2, "nullptr")) return false;
  }
  return true;
}

bool Fixed::is_fixed(Range expression) const {
  if (!carried_.is_invariant(loop_, expression)) return false;
  const std::set<int> moving = moved();
  for (std::size_t k = expression.begin; k < expression.end; ++k) {
    if (!reader_.is_name(k) || reader_.is(k + 1, "::")) continue;
    const std::string_view name = reader_.text(k);
    if (reader_.is(std::max(reader_.behind_angles(k + 1), k + 1), "(")) {
      const bool reads = std::ranges::any_of(program_.model().functions(name), [&](int id) {
        return std::ranges::any_of(program_.effects().summary(id).shared_reads, [&](auto& key) {
          return moving.contains(key.first) && !program_.variable(key.first).type.constant;
        });
      });
      if (reads) return false;
      continue;
    }
    const int id = program_.model().resolve(loop_.body, name, k);
    if (id >= 0 && may_move(id, k, moving)) return false;
  }
  return true;
}

}  // namespace flor::instrument
