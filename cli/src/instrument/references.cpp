#include "instrument/references.h"

#include "sources/syntax/libraries.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::instrument {
namespace {

constexpr int kRootsDeepMax = 12;

constexpr std::array<std::string_view, 5> kTakers = {"ref", "addressof", "tie", "span",
                                                     "forward_as_tuple"};

constexpr std::array<std::string_view, 3> kViews = {"span", "reference_wrapper", "mdspan"};

/// Whether a method gives a new value, and no iterator or view.
bool is_fresh_method(std::string_view name) {
  return sources::method_purity(name).fresh && name != "find";
}

/// The position of the first `?`, or else of the first binary operator; the end if it has none.
std::size_t next_operator(const Reader& reader, Range range) {
  std::size_t first = range.end;
  for (std::size_t k = range.begin; k < range.end;) {
    const std::size_t angles = reader.behind_angles(k);
    if (angles > k) {
      k = angles;
    } else if (reader.is(k, "(") || reader.is(k, "[") || reader.is(k, "{")) {
      k = std::max(reader.behind(k), k + 1);
    } else {
      const std::string_view text = reader.text(k);
      const bool symbol = text == "+" || text == "-" || text == "*" || text == "/" || text == "%" ||
                          text == "<" || text == ">" || text == "?";
      if (symbol && k > range.begin && reader.operand_ends_before(k)) {
        if (text == "?") return k;
        first = std::min(first, k);
      }
      ++k;
    }
  }
  return first;
}

}  // namespace

std::optional<std::size_t> called_name(const Reader& reader, std::size_t open) {
  if (open == 0) return std::nullopt;
  std::size_t k = open - 1;
  if (reader.is(k, ">")) {
    int depth = 0;
    for (; k > 0; --k) {
      depth += reader.is(k, ">") ? 1 : reader.is(k, "<") ? -1 : 0;
      if (depth == 0) break;
      if (reader.is(k, ";") || reader.is(k, "{")) return std::nullopt;
    }
    if (k == 0) return std::nullopt;
    --k;
  }
  return reader.is_name(k) ? std::optional(k) : std::nullopt;
}

const References::Known& References::known(int variable) const {
  const auto found = known_.find(variable);
  if (found != known_.end()) return found->second;
  known_.emplace(variable, Known{});  // what it is made of may name it again
  return known_[variable] = find(variable);
}

bool References::is_lambda(int id) const {
  const Variable& v = program_.variable(id);
  if (v.body < 0 || v.at == 0 || v.parameter >= 0) return false;
  const Range value = initializer(id);
  return !value.empty() &&
         program_.model().lambda_at(program_.source_of(v.body), value.begin) != nullptr;
}

/// Whether a copy of the variable has nothing in common with what it was made of.
bool References::copies_content(int id) const {
  const Variable& v = program_.variable(id);
  if (v.type.pointer) return false;
  const StateType type = types_.of(id);
  if (v.type.view || type.name == kIterator ||
      sources::one_of(std::string_view(type.name), kViews)) {
    return false;
  }
  switch (type.kind) {
    case StateKind::number:
    case StateKind::engine:
    case StateKind::saved:
    case StateKind::loader:
      return true;
    case StateKind::container:
      return !type.tensors && !v.type.deduced;
    case StateKind::other:
      return !type.own.empty() || !v.type.deduced;
    default:
      return false;
  }
}

References::Known References::find(int id) const {
  Known out;
  const Variable& v = program_.variable(id);
  if (v.is_result || v.body < 0 || v.parameter >= 0 || v.at == 0) return out;
  const Range value = initializer(id);
  if (value.empty()) return out;
  const bool refers = v.type.reference;
  if (!refers && copies_content(id)) return out;
  std::set<int> all;
  std::set<int> found;
  for (const Range part : program_.body(v.body).reader->split(value)) {  // T x(a, b)
    found.merge(roots(v.body, part, !refers, 0));
  }
  for (const int root : found) {
    if (root == id || root == program_.model().outside()) continue;
    all.insert(root);
    const std::set<int>& further = refers ? targets(root) : shared(root);
    all.insert(further.begin(), further.end());
    if (!program_.variable(root).type.pointer) continue;
    for (const int other : program_.effects().reachable(root)) {
      const Variable& one = program_.variable(other);
      if (!one.is_result && !one.name.empty()) all.insert(other);
    }
  }
  all.erase(id);
  if (refers) {
    out.targets = all;
    out.unknown = all.empty() && !v.type.constant && value.end > value.begin;
  }
  out.shared = all;
  if (refers) {
    for (const int one : all) out.shared.insert(shared(one).begin(), shared(one).end());
    out.shared.erase(id);
  }
  return out;
}

/// The tokens that a local variable is initialized with, or that a range-for iterates over.
Range References::initializer(int id) const {
  const Variable& v = program_.variable(id);
  const Reader& reader = *program_.body(v.body).reader;
  const Range statement = program_.declaration_of(id);
  const std::size_t end = statement.empty() ? reader.size() : statement.end;
  std::size_t k = v.at + 1;
  if (v.binding) {
    while (k < end && !reader.is(k, "]")) ++k;
    ++k;
  } else if (reader.is(k, ")") && reader.is(k + 1, "[")) {
    for (++k; reader.is(k, "[");) k = reader.behind(k);  // double (&rows)[4]
  }
  while (reader.is(k, "[") && k < end) k = std::max(reader.behind(k), k + 1);  // Tensor all[]
  if (reader.is(k, "(") || reader.is(k, "{")) return {k + 1, reader.behind(k) - 1};
  if (!reader.is(k, "=") && !reader.is(k, ":")) return {};
  const std::size_t begin = ++k;
  while (k < end && !reader.is(k, ";") && !reader.is(k, ",") && !reader.is(k, ")")) {
    const std::size_t angles = reader.behind_angles(k);
    const bool open = reader.is(k, "(") || reader.is(k, "[") || reader.is(k, "{");
    k = std::max(open ? reader.behind(k) : angles, k + 1);
  }
  return {begin, std::min(k, end)};
}

/// The variables whose objects the expression may refer to. `copied`: the value is copied, so that
/// only handles lead to them.
std::set<int> References::roots(int body, Range e, bool copied, int depth) const {
  std::set<int> out;
  if (depth > kRootsDeepMax || e.empty()) return out;
  const Reader& reader = *program_.body(body).reader;
  const sources::Model& model = program_.model();
  const auto add = [&](const std::set<int>& more) { out.insert(more.begin(), more.end()); };
  if (const std::size_t symbol = next_operator(reader, e); symbol < e.end) {
    if (!reader.is(symbol, "?")) return out;  // a new value
    std::size_t colon = symbol + 1;
    while (colon < e.end && !reader.is(colon, ":")) {
      const bool open = reader.is(colon, "(") || reader.is(colon, "[") || reader.is(colon, "{");
      colon = open ? std::max(reader.behind(colon), colon + 1) : colon + 1;
    }
    add(roots(body, {symbol + 1, colon}, copied, depth + 1));
    if (colon < e.end) add(roots(body, {colon + 1, e.end}, copied, depth + 1));
    return out;
  }
  std::size_t k = e.begin;
  bool taken = false;
  while (k < e.end && (reader.is(k, "*") || reader.is(k, "&"))) {
    taken = taken || reader.is(k, "&");
    ++k;
  }
  if (k >= e.end) return out;
  if (reader.is(k, "(") || reader.is(k, "{")) {
    const std::size_t behind = std::min(reader.behind(k), e.end);
    if (behind <= k + 1) return out;
    for (const Range part : reader.split({k + 1, behind - 1})) {
      add(roots(body, part, copied && !taken, depth + 1));
    }
    k = behind;
  } else {
    if (reader.is(k, "this") && is_access(reader, k + 1)) k += 2;
    if (!reader.is_name(k) && !reader.text(k).ends_with("_cast")) return out;
    for (bool more = true; more;) {  // std::get<0>, flor::named
      const std::size_t angles = std::max(reader.behind_angles(k + 1), k + 1);
      more = reader.is(angles, "::") && angles + 1 < e.end;
      if (more) k = angles + 1;
    }
    const std::size_t angles = std::max(reader.behind_angles(k + 1), k + 1);
    if ((reader.is(angles, "(") || reader.is(angles, "{")) && angles < e.end) {
      const std::size_t behind = reader.behind(angles);
      add(roots_of_call(body, k, {angles + 1, behind - 1}, copied && !taken, depth + 1));
      k = behind;
    } else {
      const int id = model.resolve(body, reader.text(k), k);
      const bool copy = copied && !taken && id >= 0 && types_.of(id).kind == StateKind::number;
      if (id >= 0 && !copy) out.insert(id);
      k = angles;
    }
  }
  while (k < e.end) {
    if (reader.is(k, "[")) {
      k = std::max(reader.behind(k), k + 1);
    } else if (is_access(reader, k)) {
      std::size_t name = k + 1;
      if (reader.is(name, "template")) ++name;
      const std::size_t angles = std::max(reader.behind_angles(name + 1), name + 1);
      const bool called = reader.is(angles, "(") && angles < e.end;
      if (called && copied && is_fresh_method(reader.text(name))) return {};
      if (!called && model.is_field(reader.text(name))) {
        out.insert(model.resolve_shared(reader.text(name)));
      }
      k = called ? std::max(reader.behind(angles), angles + 1) : angles;
    } else if (reader.is(k, "(")) {
      k = std::max(reader.behind(k), k + 1);
    } else {
      ++k;
    }
  }
  return out;
}

std::set<int> References::roots_of_call(int body, std::size_t name, Range inside, bool copied,
                                        int depth) const {
  std::set<int> out;
  const Reader& reader = *program_.body(body).reader;
  const sources::Model& model = program_.model();
  const std::string_view word = reader.text(name);
  const auto parts = reader.split(inside);
  const bool takes = sources::one_of(word, kTakers);
  const auto add_part = [&](std::size_t index) {
    if (index >= parts.size()) return;
    for (const int one : roots(body, parts[index], copied && !takes, depth + 1)) out.insert(one);
  };
  const int variable = model.resolve(body, word, name);
  if (variable >= 0 && program_.variable(variable).body == body) {
    const StateKind kind = types_.of(variable).kind;
    if (kind == StateKind::module || kind == StateKind::constant || kind == StateKind::script ||
        kind == StateKind::engine) {
      return out;  // a layer or a loss makes a new tensor
    }
    for (const int other : program_.effects().reachable(variable)) {
      if (other != variable && other != model.outside()) out.insert(other);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) add_part(i);
    return out;
  }
  if (const auto& functions = model.functions(word); !functions.empty()) {
    for (const int callee : functions) {
      if (model.is_class(word)) continue;
      for (const auto& [id, extent] : program_.effects().summary(callee).returned) {
        const Variable& v = program_.variable(id);
        if (v.persistent) {
          out.insert(id);
        } else if (v.parameter >= 0) {
          add_part(static_cast<std::size_t>(v.parameter));
        }
      }
    }
    return out;
  }
  if (copied && (sources::function_purity(word).fresh || sources::is_number_type(word))) return out;
  for (std::size_t i = 0; i < parts.size(); ++i) add_part(i);
  return out;
}

}  // namespace flor::instrument
