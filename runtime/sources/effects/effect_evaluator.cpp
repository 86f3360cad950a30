#include "sources/effects/effect_evaluator.h"

#include <algorithm>

namespace flor::sources {
namespace {

constexpr int kNestingMax = 120;
constexpr std::size_t kWorkOfExpression = 50;  // so many references take as long as one expression

bool is_access(const Reader& reader, std::size_t k) {
  return reader.is(k, ".") || reader.is(k, "->");
}

/// Whether a statement header such as if (...) or for (...) begins here, inside a lambda.
bool is_header(const Reader& reader, std::size_t k) {
  const bool keyword = reader.is(k, "if") || reader.is(k, "for") || reader.is(k, "while") ||
                       reader.is(k, "switch") || reader.is(k, "catch");
  return keyword && (reader.is(k + 1, "(") || reader.is(k + 2, "("));
}

bool is_assembler(std::string_view word) {
  return word == "asm" || word == "__asm" || word == "__asm__" || word == "volatile";
}

}  // namespace

Evaluator::Evaluator(Effects& effects, int body)
    : effects_(effects),
      model_(effects.model_),
      body_(body),
      function_(effects.model_.bodies()[static_cast<std::size_t>(body)]),
      reader_(*function_.reader) {}

StepEffects Evaluator::evaluate(const Step& step) {
  if (step.range.end == function_.head.end && function_.self >= 0) {
    initializers(step.range);
    return std::move(out_);
  }
  Value value = expression(step.range);
  if (reader_.is(step.range.begin, "return") || reader_.is(step.range.begin, "co_return")) {
    out_.writes.add(function_.result, Extent::rebound);
    Value result;
    result.keys.add(function_.result, Extent::whole);
    const Kind kind = function_.result_type.kind;
    if (function_.result_type.reference || kind != Kind::number) refer(result, value);
  }
  const auto holds_object = [this](const Keys& keys) {
    return std::ranges::any_of(keys, [this](const auto& key) {
      const Type& type = model_.variable(key.first).type;
      return type.kind == Kind::own || type.kind == Kind::unknown || !type.element.empty();
    });
  };
  if (!out_.calls.empty() || holds_object(out_.reads) || holds_object(out_.writes) ||
      has_own_literal(step.range)) {
    out_.reads.add(effects_.implicit_reads_);
    out_.writes.add(effects_.implicit_writes_);
  }
  const auto elsewhere = [this](const Keys& keys) {
    return std::ranges::any_of(keys, [this](const auto& key) {
      return is_declared_elsewhere(key.first);
    });
  };
  if (elsewhere(out_.reads)) out_.reads.add(model_.outside(), Extent::whole);
  if (elsewhere(out_.writes)) out_.writes.add(model_.outside(), Extent::whole);
  return std::move(out_);
}

/// Whether there is a literal with a suffix like 2.0_km, whose operator may do anything. A string
/// with '_' counts, too.
bool Evaluator::has_own_literal(Range range) const {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (reader_.is_literal(k) && reader_.text(k).find('_') != std::string_view::npos) return true;
  }
  return false;
}

void Evaluator::join(Value& all, const Value& one) {
  all.keys.add(one.keys);
  all.taken = all.taken || one.taken;
}

Evaluator::Value Evaluator::of_kind(Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

/// Evaluates every token of `range`, which is an expression or several statements.
Evaluator::Value Evaluator::expression(Range range) {
  Value all, last, shifted;
  bool first = true, combined = false, shifts = false, next_changes = false, next_taken = false;
  bool through = false, chooses = false;
  if (++depth_ > kNestingMax) range.end = range.begin;
  effects_.work_ += kWorkOfExpression;
  std::size_t start = range.begin;  // start of a statement, where a token has no left operand
  const auto is_binary = [&](std::size_t k) { return k != start && reader_.operand_ends_before(k); };
  for (std::size_t k = range.begin; k < range.end;) {
    if (reader_.is_directive(k)) {
      ++k;
    } else if (k > 0 && reader_.is(k, ".") && (reader_.is(k - 1, "{") || reader_.is(k - 1, ",")) &&
               reader_.is_name(k + 1)) {
      k += reader_.is(k + 2, "=") ? 3 : 2;  // a designated initializer, e.g. {.seed = 1}
    } else if (is_header(reader_, k)) {
      const std::size_t open = reader_.is(k + 1, "(") ? k + 1 : k + 2;
      join(all, expression({open + 1, reader_.behind(open) - 1}));
      k = start = reader_.behind(open);
      last = {};
    } else if (reader_.is(k, "?")) {
      all = last = {};
      first = true;
      combined = shifts = false;
      chooses = true;
      ++k;
    } else if (reader_.is(k, ";") || reader_.is(k, ",") || reader_.is(k, ":")) {
      shifts = false;
      last = {};
      ++k;
    } else if (reader_.is_assignment(k)) {
      const Range rest{k + 1, reader_.next_comma({k + 1, range.end})};
      const Value value = expression(rest);
      const bool compound = !reader_.is(k, "=");
      if (value.kind == Kind::own && k > 0 && reader_.is(k - 1, "]")) know_parts(k - 1, value.own);
      Value computed = value;  // `tensor += x` keeps no reference to x
      if (compound && last.kind == Kind::tensor) computed.keys = {};
      assign(last, computed, through || (compound && last.kind != Kind::number));
      join(all, value);
      k = rest.end;
      through = false;
    } else if (reader_.is(k, "++") || reader_.is(k, "--")) {
      if (is_binary(k)) {
        assign(last, {}, through || last.kind != Kind::number);
      } else {
        next_changes = true;
      }
      ++k;
    } else if (reader_.is(k, "<<") || reader_.is_right_shift(k)) {
      const bool right = !reader_.is(k, "<<");
      if (!shifts && last.kind != Kind::number) mutate(last);
      shifts = true;
      combined = true;
      next_changes = right && last.kind != Kind::number;
      k += right ? 2 : 1;
    } else if (reader_.is(k, "delete")) {
      next_changes = true;
      ++k;
    } else if ((is_assembler(reader_.text(k)) || reader_.is(k, "new")) && reader_.is(k + 1, "(")) {
      const std::size_t open = k + 1;  // inline assembler and placement new write to their operands
      Value given;
      for (std::size_t i = open + 1; i < reader_.behind(open); ++i) {
        const int id = reader_.is_name(i) ? model_.resolve(body_, reader_.text(i), i) : -1;
        if (id >= 0) given.keys.add(id, Extent::whole);
      }
      read(given);
      mutate(given);
      join(all, given);
      k = reader_.behind(open);
    } else if ((reader_.is(k, "&") || reader_.is(k, "*")) && !is_binary(k)) {
      next_taken = next_taken || reader_.is(k, "&");
      through = through || reader_.is(k, "*");
      ++k;
    } else if (const std::size_t before = k;
               reader_.is_name(k) || reader_.is_literal(k) || reader_.is(k, "(") ||
               reader_.is(k, "[") || reader_.is(k, "{") || reader_.is(k, "this") ||
               reader_.text(k).ends_with("_cast") || is_number_type(reader_.text(k))) {
      Value value = operand(k, range.end);
      if (k <= before) k = before + 1;
      value.through = value.through || through;
      if (next_taken) value.taken = true;
      if (next_changes) assign(value, {}, true);
      if (first) {
        all.kind = value.kind, all.own = value.own, all.lvalue = value.lvalue;
        all.constant = value.constant, all.lambda = value.lambda, all.literal = value.literal;
        all.torch = value.torch, all.through = value.through;
        all.restarts = value.restarts, all.tensors = value.tensors && !combined;
      } else {
        all.through = all.through || value.through;
        const bool plain = (all.kind == Kind::number || all.kind == Kind::tensor) &&
                           (value.kind == Kind::number || value.kind == Kind::tensor);
        if (combined && plain && value.kind == Kind::tensor) all.kind = Kind::tensor;
        if (!plain) all.kind = Kind::unknown;
        all.lvalue = !combined && (all.lvalue || value.lvalue);
        all.constant = all.constant && value.constant;
      }
      first = false;
      join(all, value);
      last = value;
      next_changes = next_taken = false;
      if (!reader_.is_assignment(k) && !reader_.is(k, "++") && !reader_.is(k, "--")) through = false;
    } else {
      if (is_binary(k) && !reader_.is(k, ")") && !reader_.is(k, "}")) {
        combined = true;
        if (is_own_operator(reader_.text(k))) {
          mutate(last);
          next_changes = true;
        }
      } else if (!reader_.is(k, ")") && !reader_.is(k, "}")) {
        next_changes = next_changes || is_own_operator(reader_.text(k));
      }
      ++k;
    }
  }
  --depth_;
  const bool fresh = combined && !chooses && (all.kind == Kind::number || all.kind == Kind::tensor);
  if (fresh && !all.taken) all.keys = {};
  if (combined || chooses) all.lvalue = chooses;
  return all;
}

/// Whether the program defines this operator so that it changes its operands.
bool Evaluator::is_own_operator(std::string_view symbol) {
  for (const int id : model_.functions("operator")) {
    const Body& body = model_.bodies()[static_cast<std::size_t>(id)];
    const Summary& summary = summary_of(id);
    if (summary.writes.empty()) continue;
    for (std::size_t k = body.head.begin; k + 1 < body.head.end; ++k) {
      if (body.reader->is(k, "operator") && body.reader->is(k + 1, symbol)) return true;
    }
  }
  return false;
}

Evaluator::Value Evaluator::operand(std::size_t& k, std::size_t end) {
  if (reader_.is_literal(k)) {
    Value value;
    const bool text = reader_.text(k).find('"') != std::string_view::npos;
    value.kind = text ? Kind::setting : Kind::number;
    value.constant = value.literal = true;
    ++k;
    return postfix(value, k, end);
  }
  if (reader_.is(k, "[")) {
    if (const Inner* inner = model_.lambda_at(reader_.source(), k)) {
      Value value = lambda(*inner);
      k = inner->range.end;
      if (reader_.is(k, "(") && k < end) {
        hand_over(arguments({k + 1, reader_.behind(k) - 1}), nullptr, Keeper::standard);
        k = reader_.behind(k);
      }
      return value;
    }
  }
  if (reader_.is(k, "(") || reader_.is(k, "[") || reader_.is(k, "{")) return group(k, end);
  if (reader_.is(k, "this")) {
    ++k;
    if (is_access(reader_, k) && reader_.is_name(k + 1) && !reader_.is(k + 2, "(")) {
      ++k;
      return named(k, end);
    }
    return postfix(self(), k, end);
  }
  if (reader_.text(k).ends_with("_cast") || is_number_type(reader_.text(k))) return cast(k, end);
  return named(k, end);
}

Evaluator::Value Evaluator::self() const {
  Value value;
  if (function_.self < 0) return value;
  value.keys.add(function_.self, Extent::whole);
  value.kind = Kind::own;
  value.own = function_.piece->owner;
  value.lvalue = true;
  return value;
}

Evaluator::Value Evaluator::group(std::size_t& k, std::size_t end) {
  const std::size_t behind = std::min(reader_.behind(k), end);
  Value value = expression({k + 1, behind > k ? behind - 1 : k + 1});
  if (!reader_.is(k, "(")) value.lvalue = false;
  k = behind;
  return postfix(value, k, end);
}

/// Evaluates static_cast<T>(x), double(x) and double{x}. A `double` without brackets begins a
/// declaration.
Evaluator::Value Evaluator::cast(std::size_t& k, std::size_t end) {
  const bool plain = is_number_type(reader_.text(k));
  bool number = plain;
  std::size_t open = k + 1;
  if (!plain) {
    const std::size_t angles = reader_.behind_angles(open);
    for (std::size_t i = open; i < angles; ++i) {
      number = number || is_number_type(reader_.text(i));
    }
    for (std::size_t i = open; i < angles; ++i) {
      if (reader_.is(i, "&") || reader_.is(i, "*")) number = false;
    }
    open = angles;
  }
  if (open >= end || !(reader_.is(open, "(") || reader_.is(open, "{"))) {
    ++k;
    return {};
  }
  const std::size_t behind = reader_.behind(open);
  if (plain && behind > open + 2 && reader_.is_name(behind - 2)) {
    const int id = model_.declared_at(body_, reader_.text(behind - 2), behind - 2);
    if (id >= 0) {
      k = behind - 2;
      return declaration(id, k, end);
    }
  }
  Value value = expression({open + 1, behind - 1});
  k = behind;
  if (number) {
    value = {};
    value.kind = Kind::number;
  } else {
    value.kind = Kind::unknown;
  }
  return postfix(value, k, end);
}

/// Evaluates a lambda. Everything that it mentions may be captured by reference.
Evaluator::Value Evaluator::lambda(const Inner& inner) {
  StepEffects outside = std::exchange(out_, {});
  std::size_t open = reader_.opening(inner.range.end - 1);
  const std::size_t captures = reader_.behind(inner.range.begin);
  for (const Range part : reader_.split({inner.range.begin + 1, captures - 1})) {
    for (std::size_t k = part.begin; k < part.end; ++k) {
      if (!reader_.is(k, "=") || k == part.begin) continue;
      const Value value = expression({k + 1, part.end});
      Value target;
      target.keys.add(model_.shared(reader_.text(k - 1)), Extent::whole);
      refer(target, value);
      break;
    }
  }
  expression({open + 1, inner.range.end - 1});
  Value value;
  value.taken = true;
  for (const Keys* keys : {&out_.reads, &out_.writes}) {
    for (const auto& [variable, extent] : *keys) {
      const Variable& v = model_.variable(variable);
      const bool own = v.body == body_ && inner.range.holds(v.at) && !v.persistent;
      if (!own) value.keys.add(variable, Extent::whole);
    }
  }
  std::swap(outside, out_);
  out_.reads.add(outside.reads);
  out_.writes.add(outside.writes);
  out_.registered.add(outside.registered);
  out_.handed_on.insert(outside.handed_on.begin(), outside.handed_on.end());
  out_.calls.insert(out_.calls.end(), outside.calls.begin(), outside.calls.end());
  if (!inner.name.empty()) {
    const int id = model_.resolve(body_, inner.name, inner.range.begin);
    if (id >= 0) effects_.know_lambda(id, std::move(outside));
  }
  return value;
}

Evaluator::Value Evaluator::postfix(Value value, std::size_t& k, std::size_t end) {
  while (k < end) {
    if (is_access(reader_, k) && (reader_.is_name(k + 1) || reader_.is(k + 1, "template"))) {
      value = member(value, k, end);
    } else if (reader_.is(k, ".*") || reader_.is(k, "->*")) {
      ++k;
      join(value, operand(k, end));
      value.kind = Kind::unknown;
      value.lvalue = value.through = true;
    } else if (reader_.is(k, "(")) {
      const Range inside{k + 1, reader_.behind(k) - 1};
      k = reader_.behind(k);
      value = call_variable(value, inside);
      value.through = true;
    } else if (reader_.is(k, "[")) {
      const Value index = expression({k + 1, reader_.behind(k) - 1});
      read(index);
      read(value);
      k = reader_.behind(k);
      // Indexing may insert, as in a map. A container indexed by a number, such as a vector, does
      // not insert.
      const bool inserts = value.kind == Kind::container && index.kind != Kind::number;
      const bool unknown = value.kind == Kind::unknown && index.kind != Kind::number;
      if ((inserts || unknown) && !value.constant) mutate(value);
      if (value.kind != Kind::tensor) value.kind = value.tensors ? Kind::tensor : Kind::unknown;
      value.taken = value.tensors = false;
      value.lvalue = value.through = true;
    } else {
      break;
    }
  }
  read(value);
  return value;
}

/// Whether the member with that name may hold a function object or a pointer to a function.
bool Evaluator::is_callable_member(const Value& value, std::string_view name) const {
  if (!model_.is_field(name) || !model_.functions(name).empty() || model_.is_kept_by_owner(name)) {
    return false;
  }
  if (value.kind == Kind::own) {
    const auto& fields = model_.fields_of(value.own);
    return std::ranges::find(fields, name) != fields.end();
  }
  if (value.kind != Kind::unknown) return false;
  const int field = model_.resolve_shared(name);
  const Type& type = model_.variable(field).type;
  if (type.kind == Kind::own) return !model_.functions("operator").empty();
  return type.kind == Kind::unknown || type.kind == Kind::library;
}

Evaluator::Value Evaluator::member(Value value, std::size_t& k, std::size_t end) {
  std::size_t at = k + 1;
  if (reader_.is(at, "template")) ++at;
  const std::string_view name = reader_.text(at);
  const std::size_t angles = reader_.behind_angles(at + 1);
  const std::size_t behind = reader_.is(angles, "(") ? angles : at + 1;
  if (reader_.is(behind, "(") && behind < end) {
    k = reader_.behind(behind);
    if (is_callable_member(value, name)) {  // a function held in a member
      value.keys.add(model_.shared(name), Extent::whole);
      value = call_variable(value, {behind + 1, k - 1});
    } else {
      value = call_method(value, name, {behind + 1, k - 1});
    }
    value.through = true;
    return value;
  }
  k = at + 1;
  if (value.kind == Kind::own && model_.has_foreign_base(value.own) &&
      std::ranges::find(model_.fields_of(value.own), name) == model_.fields_of(value.own).end()) {
    value.keys.add(model_.outside(), Extent::whole);  // it may be an inherited member
  }
  if (!model_.is_field(name) || model_.is_kept_by_owner(name)) {
    value.through = true;
    if (value.kind == Kind::library && value.torch && (name == "data" || name == "target")) {
      value.kind = Kind::tensor;  // the tensors of a batch
    } else if (value.kind != Kind::own) {
      value.kind = Kind::unknown;
    } else if (model_.is_kept_by_owner(name)) {
      const Variable& field = model_.variable(model_.shared(name));
      value.kind = field.type.kind;
      value.own = field.type.own;
    }
    return value;
  }
  Value field = variable_value(model_.shared(name), at);
  for (const auto& [variable, extent] : value.keys) {
    field.keys.add(variable, extent == Extent::whole ? Extent::part : extent);
  }
  field.constant = field.constant || (value.constant && field.kind == Kind::number);
  return field;
}

Evaluator::Name Evaluator::name_at(std::size_t k, std::size_t end) const {
  Name name;
  while (k + 1 < end) {
    const std::size_t angles = reader_.behind_angles(k + 1);
    if (reader_.is(k + 1, "::")) {
      name.qualifiers.push_back(reader_.text(k));
      k += 2;
    } else if (angles > k + 1 && reader_.is(angles, "::")) {
      name.qualifiers.push_back(reader_.text(k));
      k = angles + 1;
    } else {
      break;
    }
  }
  name.at = k;
  name.end = k + 1;
  const std::size_t angles = reader_.behind_angles(k + 1);
  if (reader_.is(angles, "(") || reader_.is(angles, "{")) name.end = angles;
  return name;
}

/// Whether code outside these sources may use the variable: they do not declare it, or any code can
/// name it.
bool Evaluator::is_declared_elsewhere(int id) const {
  const Variable& variable = model_.variable(id);
  if (!variable.is_open() || id == model_.outside()) return false;
  if (variable.c_linkage || variable.external) return true;
  return !is_constant_name(variable.name) && !model_.is_field(variable.name) &&
         !has_hidden_state(variable.name);
}

/// Whether the word looks like the name of a macro, a constant or an enumerator.
bool Evaluator::is_constant_name(std::string_view word) const {
  const bool capitals = std::ranges::none_of(word, [](char c) { return 'a' <= c && c <= 'z'; });
  const bool k = word.size() > 1 && word[0] == 'k' && 'A' <= word[1] && word[1] <= 'Z';
  static const std::set<std::string_view> known = {"npos", "nullopt", "value", "type", "cout",
                                                   "cerr", "clog", "stdout", "stderr", "endl"};
  return capitals || k || known.contains(word);
}

/// Whether the name at `k` is not a known variable, and stands where a type stands.
bool Evaluator::is_type_here(std::size_t k) const {
  const std::size_t behind = std::max(reader_.behind_angles(k + 1), k + 1);
  if (behind > k + 1 || reader_.is_name(behind) || reader_.is(behind, "{")) return true;
  if (k > 0 && (reader_.is(k - 1, "<") || reader_.is(k - 1, "new") || reader_.is(k - 1, "struct") ||
                reader_.is(k - 1, "typename") || reader_.is(k - 1, "const"))) {
    return true;
  }
  if (reader_.is(behind, ">") || reader_.is(behind, "[")) return reader_.is(behind, ">");
  const bool reference =
      reader_.is(behind, "&") || reader_.is(behind, "*") || reader_.is(behind, "&&");
  return reference && (reader_.is(behind + 1, "[") || reader_.is(behind + 1, ">") ||
                       model_.declared_at(body_, reader_.text(behind + 1), behind + 1) >= 0);
}

Evaluator::Value Evaluator::named(std::size_t& k, std::size_t end) {
  if (k >= end || !reader_.is_name(k)) {
    ++k;
    return {};
  }
  if (const int id = model_.declared_at(body_, reader_.text(k), k); id >= 0) {
    return declaration(id, k, end);
  }
  const Name name = name_at(k, end);
  const std::string_view word = reader_.text(name.at);
  const bool called = reader_.is(name.end, "(") && name.end < end;
  k = name.end;
  if (!reader_.is_name(name.at)) return {};
  if (name.qualifiers.empty() && model_.macro(word)) {
    std::set<std::string_view> seen;
    Value value = expand(word, name.at, seen);
    if (called) {
      hand_over(arguments({k + 1, reader_.behind(k) - 1}), nullptr, Keeper::standard);
      k = reader_.behind(k);
    }
    return postfix(value, k, end);
  }
  const bool elsewhere = is_elsewhere(name);
  const int id = name.qualifiers.empty()                ? model_.resolve(body_, word, name.at)
                 : model_.is_shared(word) && !elsewhere ? model_.shared(word)
                                                        : -1;
  if (id >= 0 && reader_.is(k, "{") && function_.piece->kind == PieceKind::declaration &&
      std::ranges::find(function_.piece->names, word) != function_.piece->names.end()) {
    out_.writes.add(id, Extent::rebound);  // a member such as lib::Device device{level};
    make(id, arguments({k + 1, reader_.behind(k) - 1}));
    k = reader_.behind(k);
    return variable_value(id, name.at);
  }
  const bool local = id >= 0 && model_.variable(id).body == body_;
  const bool function = !model_.functions(word).empty();
  if (id >= 0 && (local || !function)) {
    if (called && !local && model_.variable(id).type.kind == Kind::unknown &&
        !model_.is_field(word)) {
      // it may be a prototype
    } else {
      return postfix(variable_value(id, name.at), k, end);
    }
  }
  if (called || (reader_.is(k, "{") && model_.is_class(word))) {
    const Range inside{k + 1, reader_.behind(k) - 1};
    k = reader_.behind(k);
    Value value = call(name, inside);
    value.through = true;
    return postfix(value, k, end);
  }
  if (model_.is_class(word)) {
    construct(word, {});
    return {};
  }
  if (function) {
    for (const int other : model_.functions(word)) out_.handed_on.insert(other);
    Value value;
    value.taken = true;
    for (const int other : model_.functions(word)) {
      value.keys.add(summary_of(other).shared_reads);
      value.keys.add(summary_of(other).shared_writes);
    }
    return value;
  }
  if (is_type_here(name.at)) {
    const bool made = reader_.is(k, "{") ||
                      (name.at > 0 && reader_.is(name.at - name.qualifiers.size() * 2 - 1, "new"));
    if (made && (has_hidden_state(word) ||
                 is_of_other_library({name.at - name.qualifiers.size() * 2, name.end}))) {
      leave_sources();
    }
    return {};
  }
  if (!name.qualifiers.empty()) {
    const std::string_view first = name.qualifiers.front();
    if (first.empty() || is_library_namespace(first) || is_constant_name(word) ||
        model_.is_class(name.qualifiers.back())) {
      return {};
    }
  }
  if (elsewhere) {
    Value value;
    value.keys.add(model_.outside(), Extent::whole);
    value.lvalue = value.through = true;
    if (model_.is_shared(word)) value.keys.add(model_.shared(word), Extent::whole);
    return postfix(value, k, end);
  }
  return postfix(variable_value(model_.shared(word), name.at), k, end);
}

/// Whether its qualifier says that the name belongs to code outside these sources.
bool Evaluator::is_elsewhere(const Name& name) const {
  if (name.qualifiers.empty()) return model_.is_foreign_name(reader_.text(name.at));
  return !name.qualifiers.back().empty() && !model_.is_scope(name.qualifiers.back());
}

Evaluator::Value Evaluator::variable_value(int id, std::size_t) {
  const Variable& variable = model_.variable(id);
  Value value;
  if (variable.body < 0 && function_.self >= 0 && model_.is_kept_by_owner(variable.name)) {
    value = self();  // a part of the object itself
    value.through = true;
    value.kind = variable.type.kind;
    value.own = variable.type.own;
    return value;
  }
  value.keys.add(id, Extent::whole);
  value.kind = variable.type.kind;
  value.own = variable.type.own;
  value.lvalue = true;
  value.constant = variable.type.constant;
  value.torch = variable.type.torch;
  value.restarts = variable.type.restarts;
  value.tensors = variable.type.tensors && !variable.array;
  value.taken = variable.array;
  for (const std::string_view other : model_.in_union_with(variable.name)) {
    value.keys.add(model_.shared(other), Extent::whole);
    value.through = true;
  }
  if (effects_.lambdas_.contains(id)) value.lambda = id;
  return value;
}

/// `through`: the object that the target refers to changes, not only the variable.
void Evaluator::assign(const Value& target, const Value& value, bool through) {
  for (const auto& [variable, extent] : target.keys) {
    const Type& type = model_.variable(variable).type;
    // Proxies pass assigned values on to other variables: std::tie(a, b), bits[3].
    const bool proxy =
        type.kind == Kind::unknown && !type.pointer && (type.deduced || type.standard);
    const bool rebinds = !through && !target.through && !type.reference && !proxy &&
                         target.lvalue && extent == Extent::whole;
    const Extent how = rebinds ? Extent::rebound : extent;
    out_.writes.add(variable, how);
    out_.assigned.add(variable, how);
  }
  const bool copy = !value.taken && (value.kind == Kind::number || value.kind == Kind::setting ||
                                     (value.kind == Kind::container && target.kind == value.kind));
  if (!copy) refer(target, value);
}

void Evaluator::iterate(const Value& range) {
  if (range.kind == Kind::loader || range.kind == Kind::container || range.kind == Kind::number ||
      range.kind == Kind::tensor || range.kind == Kind::own || range.constant ||
      range.restarts) {
    return;
  }
  for (const auto& [variable, extent] : range.keys) {
    if (model_.variable(variable).parameter >= 0) {
      out_.iterated.insert(variable);
    } else {
      out_.writes.add(variable, extent);
    }
  }
}

void Evaluator::read(const Value& value) {
  out_.reads.add(value.keys);
  if (value.kind == Kind::own) use(value.own, 0);
}

void Evaluator::mutate(const Value& value) {
  const bool plain = value.kind == Kind::number || value.kind == Kind::setting ||
                     (value.kind == Kind::container && !value.tensors);
  if (value.constant && plain) return;
  for (const auto& [variable, extent] : value.keys) {
    const bool setting = model_.variable(variable).type.kind == Kind::setting && !value.taken;
    if (!setting) out_.writes.add(variable, extent);
  }
}

void Evaluator::refer(const Value& from, const Value& to) {
  for (const auto& [variable, extent] : from.keys) {
    if (extent == Extent::part || variable == model_.outside()) continue;
    for (const auto& [other, other_extent] : to.keys) {
      const bool setting = model_.variable(other).type.kind == Kind::setting && !to.taken;
      if (other_extent == Extent::rebound || setting) continue;
      effects_.link(variable, other);
    }
  }
}

}  // namespace flor::sources
