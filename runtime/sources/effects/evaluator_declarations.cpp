// Evaluates declarations: which objects a new variable refers to from the beginning.
#include "sources/effects/effect_evaluator.h"

#include <algorithm>

namespace flor::sources {

/// Evaluates a variable with its initializer, beginning with its name.
Evaluator::Value Evaluator::declaration(int id, std::size_t& k, std::size_t end) {
  ++k;
  Value target = variable_value(id, k);
  out_.writes.add(id, Extent::rebound);
  if (model_.variable(id).binding) {
    std::size_t close = k;
    while (close < end && !reader_.is(close, "]")) ++close;
    std::size_t i = close + 1;
    if (reader_.is(i, "=") || reader_.is(i, ":")) {
      const bool loop = reader_.is(i, ":");
      const Value value = expression({i + 1, reader_.next_comma({i + 1, end})});
      if (loop) iterate(value);
      refer(target, value);
      read(value);
    }
    return target;
  }
  if (const Type& type = model_.variable(id).type;
      type.file ||
      (type.kind == Kind::unknown && type.named && !type.standard && !type.reference)) {
    leave_sources();  // its constructor and its destructor are called
  }
  if (reader_.is(k, ")") && k < end) ++k;                       // double (&rows)[4]
  while (reader_.is(k, "[") && k < end) k = reader_.behind(k);  // an array
  if (reader_.is(k - 1, ")") && reader_.is(k, "(") && k < end) k = reader_.behind(k);
  if (k >= end) return target;
  if (reader_.is(k, "=")) {
    const Range rest{k + 1, reader_.next_comma({k + 1, end})};
    initialize(id, expression(rest));
    k = rest.end;
  } else if (reader_.is(k, ":")) {
    const Value value = expression({k + 1, end});
    iterate(value);
    Type& type = model_.variable(id).type;
    if (type.deduced && type.kind == Kind::unknown && value.tensors) {
      type.kind = Kind::tensor;
      type.torch = true;
      effects_.changed_type(model_.variable(id));
    }
    if (type.deduced && type.kind == Kind::unknown && value.kind == Kind::loader) {
      type.kind = Kind::library;  // the variable is a batch
      type.torch = true;
      effects_.changed_type(model_.variable(id));
    }
    if (type.kind != Kind::number || type.reference) refer(target, value);
    k = end;
  } else if (reader_.is(k, "(") || reader_.is(k, "{")) {
    make(id, arguments({k + 1, reader_.behind(k) - 1}));
    k = reader_.behind(k);
  } else if (model_.variable(id).type.kind == Kind::own) {
    construct(model_.variable(id).type.own, {}, &target);
  }
  return target;
}

/// Notes the types of the members that `auto [a, b]` gives these names. `close` is the bracket
/// after the names.
void Evaluator::know_parts(std::size_t close, std::string_view own) {
  const auto names = reader_.split({reader_.opening(close) + 1, close});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t at = names[i].begin;
    const int id = model_.declared_at(body_, reader_.text(at), at);
    if (id < 0 || !model_.variable(id).binding) continue;
    Type& type = model_.variable(id).type;
    const Type part = model_.part_of(own, i, names.size());
    if (type.kind != Kind::unknown || part.kind == Kind::unknown) continue;
    type.kind = part.kind;
    type.own = part.own;
    type.torch = part.torch;
    type.restarts = part.restarts;
    effects_.changed_type(model_.variable(id));
  }
}

/// Initializes a variable with values in parentheses or braces.
void Evaluator::make(int id, const std::vector<Value>& values) {
  const Type type = model_.variable(id).type;
  Value target;
  target.keys.add(id, Extent::whole);
  if (type.kind == Kind::own && !type.reference) {
    refer(target, construct(type.own, values, &target));
  } else if (type.kind == Kind::library || type.kind == Kind::module) {
    hand_over(values, &target, type.torch ? Keeper::torch : Keeper::other);
  } else if (type.kind == Kind::unknown && !type.deduced && !type.reference) {
    hand_over(values, &target, type.standard ? Keeper::standard : Keeper::other);
  } else {
    Value all;
    for (const Value& value : values) join(all, value);
    if (values.size() == 1) all = values.front();
    initialize(id, all);
  }
}

/// Evaluates the initializer list of a constructor.
void Evaluator::initializers(Range list) {
  for (const Range part : reader_.split(list)) {
    const Name name = name_at(part.begin, part.end);
    if (!reader_.is(name.end, "(") && !reader_.is(name.end, "{")) {
      expression(part);
      continue;
    }
    const std::vector<Value> values = arguments({name.end + 1, reader_.behind(name.end) - 1});
    const std::string_view word = reader_.text(name.at);
    if (model_.is_class(word)) {
      construct(word, values);
    } else if (model_.is_kept_by_owner(word)) {
      out_.writes.add(function_.self, Extent::whole);
    } else {
      out_.writes.add(model_.shared(word), Extent::rebound);
      make(model_.shared(word), values);
    }
  }
}

void Evaluator::initialize(int id, const Value& value) {
  Variable& variable = model_.variable(id);
  if (variable.type.deduced && variable.type.kind == Kind::unknown) {
    if (value.kind != Kind::unknown) {
      variable.type.kind = value.kind;
      variable.type.own = value.own;
      variable.type.torch = variable.type.torch || value.torch;
      effects_.changed_type(variable);
    }
  }
  Value target;
  target.keys.add(id, Extent::whole);
  const Kind kind = variable.type.kind;
  const bool copy = !variable.type.reference && !value.taken &&
                    (kind == Kind::number || kind == Kind::setting || kind == Kind::container ||
                     (kind == Kind::own && model_.is_plain_class(variable.type.own)));
  const Type& type = variable.type;
  if (copy) {
    if (type.view && value.keys.holds(model_.outside(), Extent::whole)) {
      effects_.link(id, model_.outside());
    }
    return;
  }
  // A variable of an unknown type that is no reference or pointer is taken for an object of its
  // own, whose content these sources do not show.
  const bool own =
      kind == Kind::unknown && !type.reference && !type.pointer && (type.named || type.deduced);
  refer(target, own ? without_outside(value) : value);
}

Evaluator::Value Evaluator::without_outside(const Value& value) const {
  Value out = value;
  out.keys = {};
  for (const auto& [variable, extent] : value.keys) {
    if (variable != model_.outside()) out.keys.add(variable, extent);
  }
  return out;
}

}  // namespace flor::sources
