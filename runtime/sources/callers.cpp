#include "sources/callers.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace flor::sources {
namespace {

const std::vector<std::string_view> kNoNames;

/// Whether `token` may be the end of a type, so that a name after it may be declared there.
bool may_end_type(const Token& token) {
  static constexpr std::array<std::string_view, 20> kNoTypes = {
      "return",   "else", "do",     "throw", "case",   "co_return", "co_yield",
      "co_await", "new",  "delete", "goto",  "sizeof", "and",       "or",
      "not",      "xor",  "bitand", "bitor", "compl",  "typeid"};
  return token.kind == TokenKind::identifier &&
         std::ranges::find(kNoTypes, token.text) == kNoTypes.end();
}

bool is_one_of(const Token& token, std::initializer_list<std::string_view> texts) {
  return std::ranges::any_of(texts, [&](std::string_view text) { return token.is(text); });
}

}  // namespace

Callers::Callers(const std::vector<const Source*>& sources) : sources_(sources) {
  for (const Source* source : sources_) {
    for (const ClassFacts& facts : source->structure.classes) {
      if (facts.derived) derived_.insert(facts.name);
    }
    for (const Token& token : source->tokens.all) {
      if (token.kind == TokenKind::identifier) ++uses_[token.text];
    }
    entry_is_mentioned_ = entry_is_mentioned_ || mentions_entry(*source);
  }
  for (const Source* source : sources_) collect(*source);
  for (const Callable& callable : callables_) {
    if (callable.function) functions_.insert(callable.names.begin(), callable.names.end());
  }
  for (const Source* source : sources_) find_escapes(*source);
}

void Callers::collect(const Source& source) {
  for (const Piece& piece : source.structure.pieces) {
    const bool function = piece.kind == PieceKind::function;
    for (const std::string_view name : piece.names) --uses_[name];
    // No code calls the program's `main`, so any other use of that name means something else.
    const std::vector<std::string_view> names = piece.entry ? kNoNames : piece.names;
    const bool anywhere = piece.entry ? entry_is_mentioned_ : piece.anywhere;
    if (names.empty() && !anywhere) continue;
    add({&source, piece.range, names, function,
         anywhere || (function && derived_.contains(piece.owner))});
  }
  for (const Inner& inner : source.structure.inner) {
    const bool macro = source.tokens.all[inner.range.begin].starts_directive;
    std::vector<std::string_view> names;
    if (!inner.name.empty()) {
      names.push_back(inner.name);
      lambdas_.insert(inner.name);
      --uses_[inner.name];
    }
    add({&source, inner.range, std::move(names), !macro, inner.anywhere});
  }
}

void Callers::add(Callable callable) {
  const auto index = static_cast<std::uint32_t>(callables_.size());
  for (std::size_t i = callable.range.begin; i < callable.range.end; ++i) {
    const Token& token = callable.source->tokens.all[i];
    if (token.kind != TokenKind::identifier) continue;
    std::vector<std::uint32_t>& by = mentions_[token.text];
    if (by.empty() || by.back() != index) by.push_back(index);
  }
  callables_.push_back(std::move(callable));
}

void Callers::find_escapes(const Source& source) {
  const auto& tokens = source.tokens.all;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::identifier && functions_.contains(tokens[i].text) &&
        escapes(source, i)) {
      escaped_.insert(tokens[i].text);
    }
  }
}

/// Whether the name at `at` may mean a variable or parameter of the function around it.
bool Callers::is_variable(const Source& source, std::size_t at, Beginning beginning) const {
  // The variable holds a lambda that is called.
  if (lambdas_.contains(source.tokens.all[at].text)) return false;
  const auto& pieces = source.structure.pieces;
  const auto& tokens = source.tokens.all;
  auto piece =
      std::ranges::upper_bound(pieces, at, {}, [](const Piece& p) { return p.range.begin; });
  if (piece == pieces.begin() || (--piece)->kind != PieceKind::function) return false;
  bool in_body = false;
  for (std::size_t k = piece->range.begin + 1; k + 1 < piece->range.end; ++k) {
    in_body = in_body || tokens[k].is("{");
    if (k == at || tokens[k].text != tokens[at].text) continue;
    const Token& before = tokens[k - 1];
    const Token& behind = tokens[k + 1];
    const bool type = before.is(">") || before.is("&") || before.is("*") || before.is("&&") ||
                      (before.kind == TokenKind::identifier && !before.is("return"));
    const bool ends = behind.is("=") || behind.is("{") || behind.is(";") || behind.is(",") ||
                      behind.is(")") || behind.is(":") ||
                      (in_body && behind.is("(") && beginning == Beginning::any);
    if (type && ends) return true;
  }
  return false;
}

/// Whether a function is named without being called there: passed on, stored or returned.
bool Callers::escapes(const Source& source, std::size_t at) const {
  const auto& tokens = source.tokens.all;
  const Token& behind = tokens[at + 1];
  if (!behind.is(",") && !behind.is(")") && !behind.is(";") && !behind.is("}")) return false;
  std::size_t first = at;  // beginning of a qualified name
  while (first >= 2 && tokens[first - 1].is("::") &&
         tokens[first - 2].kind == TokenKind::identifier) {
    first -= 2;
  }
  if (first == 0) return false;
  const Token& before = tokens[first - 1];
  if (before.is("(") || before.is(",") || before.is("=") || before.is("{") || before.is("return") ||
      before.is("?") || before.is(":")) {
    return !is_variable(source, at, Beginning::any);
  }
  if (!before.is("&") || first < 2) return false;
  // "T& name" is a declaration, but "(&name" takes an address.
  const Token& earlier = tokens[first - 2];
  return earlier.kind == TokenKind::punctuator && !earlier.is(">") && !earlier.is(")");
}

bool Callers::called_from_anywhere(const Callable& callable) const {
  if (callable.anywhere) return true;
  if (!callable.function) return false;
  return std::ranges::any_of(callable.names, [&](std::string_view name) {
    const auto uses = uses_.find(name);
    if (escaped_.contains(name)) return true;
    // No caller in these sources: an outside caller is assumed, unless the function is new.
    return !added_.contains(name) && (uses == uses_.end() || uses->second <= 0);
  });
}

/// Whether the word `main` at `at` may mean the program's entry function. The language forbids to
/// call that function, but compilers accept it, so the answer is yes unless the word is known to
/// mean something else.
bool Callers::may_mean_entry(const Source& source, std::size_t at) const {
  const std::vector<Token>& tokens = source.tokens.all;
  const Token& before = tokens[at - 1];
  const Token& behind = tokens[at + 1];
  if (tokens[at].directive) return !behind.is(".");     // a macro, unless it is a file
  if (before.is(".") || before.is("->")) return false;  // a member
  if (before.is("::") && at >= 2 && may_end_type(tokens[at - 2])) return false;  // of a namespace
  const bool ends = is_one_of(behind, {";", ",", ")", "=", "{", ":", "["});
  if (may_end_type(before) && (ends || behind.is("("))) return false;  // declared or defined here
  const bool pointer = before.is("&") || before.is("*") || before.is("&&");
  const bool of_type =
      pointer && at >= 2 && (may_end_type(tokens[at - 2]) || tokens[at - 2].is(">"));
  if (ends && (before.is(">") || of_type)) return false;
  // An object or a number: these operators make no sense for the entry function, or do not call it.
  if (is_one_of(behind, {".", "->", "+", "-", "/", "%", "==", "!=", "&&", "||"})) return false;
  return !is_variable(source, at, Beginning::not_parenthesis);
}

bool Callers::mentions_entry(const Source& source) const {
  const std::vector<Token>& tokens = source.tokens.all;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].is("main") && (i + 1 == tokens.size() || may_mean_entry(source, i))) return true;
  }
  return false;
}

void Callers::taint(std::string_view name, std::size_t change) {
  if (tainted_.emplace(name, change).second) open_.push_back(name);
}

void Callers::taint_anywhere(const Callable& callable, std::size_t change) {
  if (!anywhere_ && called_from_anywhere(callable)) anywhere_ = change;
}

void Callers::follow(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (change.added) added_.insert(change.names.begin(), change.names.end());
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const std::vector<std::string_view> names = change.entry ? kNoNames : change.names;
    const bool anywhere = change.entry ? entry_is_mentioned_ : change.anywhere;
    for (const std::string_view name : names) taint(name, i);
    const Callable whole{change.source, change.now, names, change.function,
                         anywhere || (change.function && derived_.contains(change.owner))};
    if (!names.empty() || anywhere) taint_anywhere(whole, i);
    if (!change.source) continue;
    for (const Inner& inner : change.source->structure.inner) {
      const bool inside =
          change.now.empty()
              ? inner.range.begin < change.now.begin && change.now.begin < inner.range.end
              : change.now.begin < inner.range.end && inner.range.begin < change.now.end;
      if (!inside) continue;
      const bool macro = change.source->tokens.all[inner.range.begin].starts_directive;
      if (inner.anywhere && !anywhere_) anywhere_ = i;
      if (inner.name.empty()) continue;
      taint(inner.name, i);
      taint_anywhere({change.source, inner.range, {inner.name}, !macro, inner.anywhere}, i);
    }
  }
  while (!open_.empty()) {
    const std::string_view name = open_.back();
    open_.pop_back();
    const auto found = mentions_.find(name);
    if (found == mentions_.end()) continue;
    const std::size_t change = tainted_.at(name);
    for (const std::uint32_t index : found->second) {
      const Callable& callable = callables_[index];
      taint_anywhere(callable, change);
      for (const std::string_view own : callable.names) taint(own, change);
    }
  }
}

std::optional<std::size_t> Callers::reached_from(const Source& source, Range range) const {
  if (tainted_.empty()) return std::nullopt;
  for (std::size_t i = range.begin; i < std::min(range.end, source.tokens.all.size()); ++i) {
    const Token& token = source.tokens.all[i];
    if (token.kind != TokenKind::identifier) continue;
    if (const auto found = tainted_.find(token.text); found != tainted_.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

bool Callers::uses(const Source& root, const std::vector<std::string_view>& names) {
  if (root_ != &root) {
    root_ = &root;
    used_.clear();
    std::unordered_map<std::string_view, std::vector<const Callable*>> by_name;
    std::vector<std::pair<const Source*, Range>> open{{&root, {0, root.tokens.all.size()}}};
    for (const Callable& callable : callables_) {
      for (const std::string_view name : callable.names) by_name[name].push_back(&callable);
      if (callable.anywhere) open.emplace_back(callable.source, callable.range);
    }
    while (!open.empty()) {
      const auto [source, range] = open.back();
      open.pop_back();
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const Token& token = source->tokens.all[i];
        if (token.kind != TokenKind::identifier || !used_.insert(token.text).second) continue;
        const auto found = by_name.find(token.text);
        if (found == by_name.end()) continue;
        for (const Callable* callable : found->second) {
          open.emplace_back(callable->source, callable->range);
        }
      }
    }
  }
  return names.empty() ||
         std::ranges::any_of(names, [&](std::string_view name) { return used_.contains(name); });
}

}  // namespace flor::sources
