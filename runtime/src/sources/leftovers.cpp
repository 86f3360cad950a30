#include "sources/leftovers.h"

#include "sources/words.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

/// Methods that change the object they are called on; of tensors those that end with '_' do.
constexpr std::array<std::string_view, 22> kChanging = {
    "push_back", "emplace_back", "push_front", "emplace_front", "emplace", "insert",
    "push",      "pop",          "pop_back",   "pop_front",     "erase",   "clear",
    "resize",    "assign",       "append",     "add",           "update",  "reset",
    "swap",      "fill",         "merge",      "observe"};
constexpr std::array<std::string_view, 9> kNoTypes = {
    "return", "else", "do", "throw", "case", "goto", "new", "delete", "co_return"};

/// The tokens of a source, read without a compiler.
class Reader {
 public:
  explicit Reader(const Source& source)
      : tokens_(source.tokens.all), brackets_(source.structure.brackets) {}

  bool is(std::size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].is(text);
  }
  bool is_word(std::size_t at) const {
    return at < tokens_.size() && tokens_[at].kind == TokenKind::identifier &&
           !tokens_[at].directive;
  }
  std::string_view text(std::size_t at) const { return tokens_[at].text; }
  bool is_member(std::size_t at) const {
    return at > 0 && (is(at - 1, ".") || is(at - 1, "->")) && !(at > 1 && is(at - 2, "this"));
  }
  bool is_variable(std::size_t at) const {
    return is_word(at) && !is_keyword(text(at)) && !is_member(at) && !is(at + 1, "::") &&
           !is(at + 1, "(");
  }
  bool assigns(std::size_t at) const {
    return at < tokens_.size() && tokens_[at].kind == TokenKind::punctuator &&
           one_of(text(at), kAssignments) && !(at > 0 && is(at - 1, "["));
  }
  std::size_t behind(std::size_t at) const {
    const std::size_t partner = brackets_.partner[at];
    return partner != Brackets::kNone && partner > at ? partner + 1 : at + 1;
  }
  std::size_t before(std::size_t at) const {
    const std::size_t partner = brackets_.partner[at];
    return partner != Brackets::kNone && partner < at ? partner : at;
  }

  /// The variable at the left of the expression that ends before `end`: of `a.b[i]` it is `a`.
  std::optional<std::size_t> root(std::size_t end, std::size_t begin) const {
    std::optional<std::size_t> found;
    for (std::size_t k = end; k > begin;) {
      --k;
      if (is(k, ")") || is(k, "]")) {
        k = before(k);
        continue;
      }
      if (!is_word(k)) break;
      if (!is(k, "this")) found = k;
      if (k == begin || !(is(k - 1, ".") || is(k - 1, "->"))) break;
      --k;
    }
    return found;
  }

  /// What the assignment at `at` changes.
  std::optional<std::size_t> target(std::size_t at, std::size_t begin) const {
    if ((is(at, "++") || is(at, "--")) && is_word(at + 1)) return at + 1;
    return root(at, begin);
  }

  /// A variable is declared at `at`: a type stands before it.
  bool declares(std::size_t at, std::size_t begin) const {
    if (!is_word(at) || at <= begin) return false;
    if (is_binding(at, begin)) return true;
    static constexpr std::array<std::string_view, 9> kBehind = {"=", ";", "(", "{",  ",",
                                                                ")", ":", "[", "..."};
    if (at + 1 >= tokens_.size() || !one_of(text(at + 1), kBehind)) return false;
    bool type = false;
    std::size_t k = at;
    while (k > begin) {
      --k;
      if (is(k, ">")) {
        k = behind_angles(k, begin);
        type = true;
      } else if (is_word(k) && !one_of(text(k), kNoTypes)) {
        type = true;
      } else if (!is(k, "&") && !is(k, "*") && !is(k, "&&") && !is(k, "::")) {
        return type && (is(k, ";") || is(k, "{") || is(k, "}") || is(k, "(") || is(k, ",") ||
                        is(k, ")") || is(k, ":"));
      }
    }
    return type;
  }

 private:
  bool is_binding(std::size_t at, std::size_t begin) const {
    std::size_t k = at;
    while (k > begin && (is_word(k) || is(k, ","))) --k;
    if (!is(k, "[") || k <= begin) return false;
    const std::size_t type = is(k - 1, "&") || is(k - 1, "&&") ? k - 2 : k - 1;
    return is(type, "auto");
  }
  std::size_t behind_angles(std::size_t at, std::size_t begin) const {
    int depth = 0;
    for (std::size_t k = at; k > begin; --k) {
      depth += is(k, ">") ? 1 : is(k, "<") ? -1 : 0;
      if (depth == 0) return k;
    }
    return begin;
  }

  const std::vector<Token>& tokens_;
  const Brackets& brackets_;
};

/// The body of a change, and of a log in it all that it logs.
Range with_logged_values(const Reader& reader, Range range) {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (reader.is(k, "(") && k > range.begin && reader.is_word(k - 1)) {
      range.end = std::max(range.end, reader.behind(k));
    }
  }
  return range;
}

bool holds(Range outer, Range inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

Leftovers::Leftovers(const std::vector<const Source*>& sources) {
  for (const Source* source : sources) {
    const Reader reader(*source);
    const auto keep = [&](Range range) {
      for (std::size_t k = range.begin; k < range.end; ++k) {
        if (reader.is_word(k)) kept_.insert(reader.text(k));
      }
    };
    for (std::size_t k = 0; k < source->tokens.all.size(); ++k) {
      if (reader.is(k, "checkpoints") && reader.is(k + 1, "(")) keep({k + 2, reader.behind(k + 1)});
    }
    for (const Piece& piece : source->structure.pieces) {
      if (piece.kind != PieceKind::function) continue;
      // What an object saves itself.
      if (std::ranges::find(piece.names, "save") != piece.names.end()) keep(piece.range);
      Function function{source, &piece, {}};
      for (std::size_t k = piece.range.begin; k < piece.range.end; ++k) {
        if (reader.declares(k, piece.range.begin)) function.declared.insert(reader.text(k));
      }
      functions_.push_back(std::move(function));
    }
  }
}

const Leftovers::Function* Leftovers::function_at(const Source& source, std::size_t at) const {
  for (const Function& function : functions_) {
    if (function.source == &source && function.piece->range.holds(at)) return &function;
  }
  return nullptr;
}

/// Names in the headers of the loop and of those around it: attached, or made by the loop.
Leftovers::Names Leftovers::kept_by_header(const Source& source, Range loop) const {
  Names names;
  const Reader reader(source);
  for (const ForLoop& other : source.structure.loops) {
    if (!holds(other.range, loop)) continue;
    for (std::size_t k = other.header.begin; k < other.header.end; ++k) {
      if (reader.declares(k, other.header.begin)) names.insert(reader.text(k));
      if (!reader.is(k, "with") || !reader.is(k + 1, "(")) continue;
      for (std::size_t i = k + 2; i < reader.behind(k + 1); ++i) {
        if (reader.is_word(i)) names.insert(reader.text(i));
      }
    }
  }
  return names;
}

/// What the statement of the loop changes and does not declare itself.
Leftovers::Names Leftovers::changed_by(const Source& source, Range loop) const {
  Names changed, own;
  const Reader reader(source);
  for (std::size_t k = loop.begin; k < loop.end; ++k) {
    if (reader.declares(k, loop.begin)) own.insert(reader.text(k));
    std::optional<std::size_t> target;
    if (reader.assigns(k)) {
      target = reader.target(k, loop.begin);
    } else if (reader.is_member(k) && reader.is_word(k) && reader.is(k + 1, "(") &&
               (one_of(reader.text(k), kChanging) || reader.text(k).ends_with('_'))) {
      target = reader.root(k - 1, loop.begin);
    }
    if (target && !is_keyword(reader.text(*target))) changed.insert(reader.text(*target));
  }
  std::erase_if(changed, [&](std::string_view name) { return own.contains(name); });
  return changed;
}

bool Leftovers::add(Taint& taint, const Function& function, std::string_view name) const {
  if (kept_.contains(name)) return false;
  return function.declared.contains(name) ? taint.locals[function.piece].insert(name).second
                                          : taint.shared.insert(name).second;
}

std::string_view Leftovers::tainted_word(const Taint& taint, const Function& function,
                                         Range range) const {
  const Reader reader(*function.source);
  const auto locals = taint.locals.find(function.piece);
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_word(k)) continue;
    const std::string_view word = reader.text(k);
    if (reader.is(k + 1, "(") && taint.functions.contains(word)) return word;
    if (!reader.is_variable(k)) continue;
    if (locals != taint.locals.end() && locals->second.contains(word)) return word;
    if (taint.shared.contains(word) && !function.declared.contains(word)) return word;
  }
  return {};
}

/// One round through a function; true if there is more than before.
bool Leftovers::spread(Taint& taint, const Function& function) const {
  const Reader reader(*function.source);
  const Range piece = function.piece->range;
  const auto& brackets = function.source->structure.brackets;
  bool more = false;
  for (std::size_t k = piece.begin; k < piece.end; ++k) {
    const bool returns = reader.is(k, "return");
    if (returns || reader.assigns(k)) {
      const std::size_t end =
          std::min(statement_end(function.source->tokens.all, brackets, k + 1), piece.end);
      if (tainted_word(taint, function, {k + 1, end}).empty()) continue;
      if (returns) {
        for (const std::string_view name : function.piece->names) {
          more = taint.functions.insert(name).second || more;
        }
      } else if (const auto target = reader.target(k, piece.begin)) {
        more = add(taint, function, reader.text(*target)) || more;
      }
    } else if (reader.is_word(k) && reader.is(k + 1, "(") &&
               taint.references.contains(reader.text(k))) {
      for (std::size_t i = k + 2; i < reader.behind(k + 1); ++i) {
        if (reader.is_variable(i)) more = add(taint, function, reader.text(i)) || more;
      }
    }
  }
  return more;
}

std::optional<Leftovers::Shown> Leftovers::find(const Source& source, Range loop,
                                                const std::vector<Change>& changes,
                                                bool main) const {
  const Function* home = function_at(source, loop.begin);
  if (!home) return std::nullopt;
  const Names kept = kept_by_header(source, loop);
  const Reader reader(source);
  Taint taint;
  for (const std::string_view name : changed_by(source, loop)) {
    if (kept.contains(name)) continue;
    add(taint, *home, name);
    for (std::size_t k = home->piece->range.begin + 1; k < loop.begin; ++k) {  // double& sum
      if (reader.is(k, name) && reader.is(k - 1, "&") &&
          (reader.is(k + 1, ",") || reader.is(k + 1, ")"))) {
        taint.references.insert(home->piece->names.begin(), home->piece->names.end());
      }
    }
  }
  if (taint.locals.empty() && taint.shared.empty()) return std::nullopt;
  constexpr int kRounds = 16;
  bool more = true;
  for (int round = 0; more && round < kRounds; ++round) {
    more = false;
    for (const Function& function : functions_) more = spread(taint, function) || more;
  }
  for (const Change& change : changes) {
    if (!change.source || change.now.empty()) continue;
    if (!main && change.source == &source && holds(loop, change.now)) continue;
    const Function* function = function_at(*change.source, change.now.begin);
    if (!function) continue;
    const std::string_view word =
        tainted_word(taint, *function, with_logged_values(Reader(*change.source), change.now));
    if (!word.empty()) return Shown{&change, std::string(word)};
  }
  return std::nullopt;
}

std::optional<Leftovers::Shown> Leftovers::of_nested(const Source& source, Range loop,
                                                     const std::vector<Change>& changes) const {
  return find(source, loop, changes, false);
}

std::optional<Leftovers::Shown> Leftovers::of_main(const Source& source, Range loop,
                                                   const std::vector<Change>& changes) const {
  return find(source, loop, changes, true);
}

}  // namespace flor::sources
