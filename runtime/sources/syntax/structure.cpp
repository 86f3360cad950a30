#include "sources/syntax/structure.h"

#include "sources/syntax/statements.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

/// Words before a '(' that does not begin a list of parameters.
constexpr std::array<std::string_view, 14> kNoCallee = {
    "alignas", "decltype",   "noexcept", "requires", "explicit", "throw",  "__attribute__",
    "typeof",  "__declspec", "sizeof",   "if",       "while",    "return", "static_assert"};

/// Free functions that the language and libraries call although the program does not mention them.
constexpr std::array<std::string_view, 10> kFoundByLookup = {
    "begin", "end",     "rbegin",    "rend",       "swap",
    "get",   "to_json", "from_json", "hash_value", "format_as"};
/// Members that libraries call in the same way, even of classes that derive from nothing.
constexpr std::array<std::string_view, 19> kCalledByOthers = {
    "begin",     "end",  "size",  "get",    "next",        "reset",       "forward",
    "backward",  "call", "apply", "parse",  "apply_batch", "await_ready", "await_suspend",
    "get_batch", "load", "save",  "format", "await_resume"};

/// Words that may follow the parameters of a function.
constexpr std::array<std::string_view, 9> kAfterParameters = {
    "const", "volatile", "noexcept", "override", "final", "mutable", "try", "constexpr", "static"};

bool is_class_key(const Token& token) {
  return token.is("class") || token.is("struct") || token.is("union");
}

/// The meaning of the tokens before a '{', at the level of namespaces and classes.
struct Head {
  bool is_namespace = false, is_class = false, is_enum = false;
  bool assigned = false, special = false, derived = false;
  std::size_t bases = 0;  ///< position of the list of base classes
  bool has_parameters = false, has_initializers = false;
  std::string_view class_name, owner;
  std::vector<std::string_view> names;  ///< names of the function
};

class Scanner {
 public:
  Scanner(const std::vector<Token>& tokens, Structure& out) : tokens_(tokens), out_(out) {}

  void run() {
    scope({0, tokens_.size()}, {.path = {}, .class_name = {}, .top = true}, 0);
    add_local_classes();
  }

 private:
  struct Scope {
    std::string path;             // "a::B::"
    std::string_view class_name;  // empty in a namespace
    bool derived = false;
    bool local = false;  // inside a function: members become `inner`
    bool top = false;    // in no namespace or class, with or without a name
  };
  static constexpr int kDepthMax = 200;

  std::size_t behind(std::size_t at) const {
    const std::size_t partner = out_.brackets.partner[at];
    return partner != Brackets::kNone && partner > at ? partner + 1 : at + 1;
  }

  void scope(Range range, const Scope& in, int depth) {
    std::size_t start = range.begin;
    for (std::size_t i = range.begin; i < range.end;) {
      const Token& token = tokens_[i];
      if (token.starts_directive && i == start) {
        i = std::min(directive_end(tokens_, i), range.end);
        directive({start, i}, in);
        start = i;
      } else if (token.directive) {
        ++i;
      } else if (token.is(";")) {
        declaration({start, i + 1}, in);
        start = ++i;
      } else if (token.is(":") && i == start + 1 && is_access(start)) {
        declaration({start, i + 1}, in);
        start = ++i;
      } else if (token.is("{")) {
        i = std::min(brace(Range{start, i}, in, depth), range.end);
        if (ended_) start = i;
      } else {
        i = token.is("(") || token.is("[") ? std::min(behind(i), range.end) : i + 1;
      }
    }
    if (start < range.end) declaration({start, range.end}, in);
  }

  bool is_access(std::size_t at) const {
    return tokens_[at].is("public") || tokens_[at].is("private") || tokens_[at].is("protected");
  }

  /// Handles the braces after `head`. Returns the position at which to continue; `ended_` says
  /// whether the piece ended there.
  std::size_t brace(Range head, const Scope& in, int depth) {
    const std::size_t open = head.end, close = behind(open);
    const Head facts = examine(head, in);
    ended_ = true;
    if ((facts.is_namespace || facts.is_class) && depth < kDepthMax) {
      declaration({head.begin, open + 1}, in, &facts);
      const bool is_closed = close > open + 1;
      const std::size_t inner_end = is_closed ? close - 1 : close;
      Scope inner{.path = in.path + (facts.is_class ? std::string(facts.class_name) + "::"
                                                    : namespace_name(head)),
                  .class_name = facts.is_class ? facts.class_name : std::string_view(),
                  .derived = facts.derived,
                  .local = in.local,
                  .top = in.top && tokens_[head.begin].is("extern")};
      scope({open + 1, inner_end}, inner, depth + 1);
      ended_ = true;  // the closing brace begins a declaration of its own
      return inner_end < close ? closing(inner_end, in) : close;
    }
    if (facts.is_enum || facts.assigned || in_initializers(facts, open)) {
      ended_ = false;
      return close;
    }
    if (!facts.has_parameters && close < tokens_.size() &&
        (tokens_[close].is(";") || tokens_[close].is(","))) {
      ended_ = false;
      return close;
    }
    return function(head, close, facts, in);
  }

  /// Handles the "}" of a namespace, or the "} variables ;" of a class. Returns the position after
  /// it.
  std::size_t closing(std::size_t brace, const Scope& in) {
    std::size_t end = brace + 1;
    if (end < tokens_.size() && tokens_[end].is(";")) ++end;
    declaration({brace, end}, in);
    return end;
  }

  /// Whether the '{' comes after a member's name in a constructor's initializer list.
  bool in_initializers(const Head& facts, std::size_t open) const {
    if (!facts.has_initializers || open == 0) return false;
    const Token& before = tokens_[open - 1];
    return before.is(">") || (before.kind == TokenKind::identifier && !before.is("try"));
  }

  std::string namespace_name(Range head) const {
    std::string name;
    for (std::size_t i = head.begin; i < head.end; ++i) {
      const Token& token = tokens_[i];
      if (token.is("namespace") || token.is("inline") || token.is("extern")) continue;
      if (token.kind == TokenKind::identifier) name += std::string(token.text) + "::";
    }
    return name;
  }

  Head examine(Range head, const Scope& in) const {
    Head facts;
    for (std::size_t i = head.begin; i < head.end;) {
      const Token& token = tokens_[i];
      if (token.directive) {
        ++i;
      } else if (token.is("template") && i + 1 < head.end && tokens_[i + 1].is("<")) {
        i = behind_angles(i + 1, head.end);
      } else if (token.is("operator")) {
        i = operator_name(i, head.end, facts);
      } else if (token.is("(")) {
        parameters(i, head.begin, in, facts);
        i = behind(i);
      } else {
        word(i, head, facts);
        i = token.is("[") || token.is("{") ? behind(i) : i + 1;
      }
    }
    if (facts.is_class) decide_class(head, facts);
    if (tokens_[head.begin].is("extern") && head.end == head.begin + 2) facts.is_namespace = true;
    facts.is_namespace = facts.is_namespace && !facts.has_parameters;
    return facts;
  }

  void word(std::size_t i, Range head, Head& facts) const {
    const Token& token = tokens_[i];
    if (token.is("namespace")) facts.is_namespace = !(i > head.begin && tokens_[i - 1].is("using"));
    if (is_class_key(token) && !facts.has_parameters) facts.is_class = true;
    if (token.is("enum")) facts.is_enum = true;
    if (token.is("=")) facts.assigned = true;
    if (token.is("virtual") || token.is("override") || token.is("final")) facts.special = true;
    if (token.is(":")) (facts.has_parameters ? facts.has_initializers : facts.derived) = true;
    if (facts.derived && facts.bases == 0) facts.bases = i + 1;
  }

  /// The parenthesis at which the parameters begin. Those of `double (*chosen(int n))(double) {`
  /// are inside the first parentheses.
  std::size_t declarator(std::size_t open) const {
    const std::size_t close = behind(open) - 1;
    std::size_t k = open + 1;
    while (k < close && (tokens_[k].is("*") || tokens_[k].is("&") || tokens_[k].is("&&") ||
                         tokens_[k].is("const"))) {
      ++k;
    }
    if (k == open + 1) return open;
    while (k < close && (tokens_[k].kind == TokenKind::identifier || tokens_[k].is("::"))) ++k;
    return k < close && tokens_[k].is("(") && tokens_[k - 1].kind == TokenKind::identifier ? k
                                                                                           : open;
  }

  void parameters(std::size_t open, std::size_t begin, const Scope& in, Head& facts) const {
    if (open == begin) return;
    open = declarator(open);
    std::size_t name = open - 1;
    if (tokens_[name].is(">")) name = before_angles(name, begin);
    const Token& token = tokens_[name];
    if (token.kind != TokenKind::identifier || one_of(token.text, kNoCallee)) return;
    // Parentheses in a constructor's initializer list contain no parameters.
    if (facts.has_initializers) return;
    facts.has_parameters = true;
    facts.names.push_back(token.text);
    const bool destructor = name > begin && tokens_[name - 1].is("~");
    const std::size_t before = destructor ? name - 1 : name;
    if (before >= begin + 2 && tokens_[before - 1].is("::")) {
      std::size_t owner = before - 2;
      if (tokens_[owner].is(">")) owner = before_angles(owner, begin);
      facts.owner = tokens_[owner].text;
    } else {
      facts.owner = in.class_name;
    }
    const bool implicit = facts.owner.empty() ? one_of(token.text, kFoundByLookup)
                                              : one_of(token.text, kCalledByOthers);
    if (destructor || token.text == facts.owner || implicit) facts.special = true;
  }

  std::size_t operator_name(std::size_t at, std::size_t end, Head& facts) const {
    facts.special = true;
    facts.names.push_back("operator");
    facts.has_parameters = true;
    ++at;
    if (at + 1 < end && tokens_[at].is("(") && tokens_[at + 1].is(")")) return at + 2;
    while (at < end && !tokens_[at].is("(")) ++at;
    return at;
  }

  /// Decides between a function, `struct X make() {`, and a class, `struct EXPORT(x) X {`.
  void decide_class(Range head, Head& facts) const {
    if (facts.is_enum) {
      facts.is_class = false;
      return;
    }
    const Token& last = tokens_[head.end - 1];
    const bool like_class = last.kind == TokenKind::identifier
                                ? !one_of(last.text, kAfterParameters) || last.is("final")
                                : last.is(">") || facts.derived;
    if (facts.has_parameters && !like_class) {
      facts.is_class = false;
      return;
    }
    bool keyed = false;
    for (std::size_t i = head.begin; i < head.end; ++i) {
      const Token& token = tokens_[i];
      if (token.is("template") && i + 1 < head.end && tokens_[i + 1].is("<")) {
        i = behind_angles(i + 1, head.end) - 1;
      } else if (is_class_key(token)) {
        keyed = true;
      } else if (keyed && (token.is(":") || token.is("final"))) {
        break;
      } else if (keyed && token.is("<")) {
        i = behind_angles(i, head.end) - 1;
      } else if (keyed && (token.is("(") || token.is("["))) {
        i = behind(i) - 1;
      } else if (keyed && token.kind == TokenKind::identifier) {
        facts.class_name = token.text;
      }
    }
  }

  std::size_t behind_angles(std::size_t at, std::size_t end) const {
    int depth = 0;
    while (at < end) {
      const Token& token = tokens_[at];
      depth += token.is("<") ? 1 : token.is(">") ? -1 : 0;
      at = token.is("(") || token.is("[") || token.is("{") ? behind(at) : at + 1;
      if (depth <= 0) break;
    }
    return std::min(at, end);
  }
  std::size_t before_angles(std::size_t at, std::size_t begin) const {
    int depth = 0;
    while (at > begin) {
      depth += tokens_[at].is(">") ? 1 : tokens_[at].is("<") ? -1 : 0;
      --at;
      if (depth <= 0) break;
    }
    return at;
  }

  std::size_t function(Range head, std::size_t close, const Head& facts, const Scope& in) {
    std::size_t end = close;
    while (end + 1 < tokens_.size() && tokens_[end].is("catch") && tokens_[end + 1].is("(")) {
      end = behind(end + 1);
      if (end < tokens_.size() && tokens_[end].is("{")) end = behind(end);
    }
    Piece piece{.kind = PieceKind::function,
                .range = {head.begin, end},
                .context = in.path,
                .names = facts.names,
                .owner = facts.owner,
                .anywhere = facts.special || in.derived || facts.names.empty(),
                .conditions = {}};
    for (std::size_t i = head.end; i < end && !piece.anywhere; ++i) {
      piece.anywhere = tokens_[i].text.starts_with("co_");
    }
    if (in.top && facts.owner.empty() &&
        std::ranges::find(facts.names, "main") != facts.names.end()) {
      out_.has_main = true;
      piece.entry = true;
      piece.anywhere = false;
    }
    add(std::move(piece), in);
    return end;
  }

  void declaration(Range range, const Scope& in, const Head* facts = nullptr) {
    Piece piece{
        .range = range, .context = in.path, .names = {}, .owner = in.class_name, .conditions = {}};
    if (facts && facts->is_class) {
      piece.names = {facts->class_name};
      out_.classes.push_back(
          {.name = facts->class_name,
           .derived = facts->derived,
           .bases = facts->derived ? Range{facts->bases, range.end - 1} : Range{}});
    } else if (!facts) {
      piece.names = declared_names(range);
    }
    add(std::move(piece), in);
  }

  void directive(Range range, const Scope& in) {
    Piece piece{.kind = PieceKind::directive,
                .range = range,
                .context = {},
                .names = {},
                .owner = {},
                .conditions = {}};
    const std::string_view name = directive_name(tokens_, range.begin);
    if ((name == "define" || name == "undef") && range.begin + 2 < range.end) {
      piece.names = {tokens_[range.begin + 2].text};
    }
    add(std::move(piece), in);
  }

  /// The names before an initializer, parameters or the end of a declaration, and names of
  /// enumerators.
  std::vector<std::string_view> declared_names(Range range) const {
    std::vector<std::string_view> names;
    const bool enumeration = tokens_[range.begin].is("enum");
    for (std::size_t i = range.begin + 1; i < range.end;) {
      const Token& token = tokens_[i];
      const Token& before = tokens_[i - 1];
      const bool ends = token.is("=") || token.is("{") || token.is("(") || token.is("[") ||
                        token.is(";") || token.is(",") || token.is(":") || token.is("}");
      if (ends && before.kind == TokenKind::identifier && !is_keyword(before.text)) {
        names.push_back(before.text);
      }
      const bool jump = token.is("(") || token.is("[") || (token.is("{") && !enumeration);
      i = jump ? std::max(behind(i), i + 1) : i + 1;
    }
    return names;
  }

  void add(Piece piece, const Scope& in) {
    if (!in.local) {
      out_.pieces.push_back(std::move(piece));
    } else if (piece.kind == PieceKind::function) {
      for (const std::string_view name : piece.names) {
        out_.inner.push_back({piece.range, name, piece.anywhere});
      }
      if (piece.names.empty()) out_.inner.push_back({piece.range, {}, true});
    }
  }

  void add_local_classes() {
    std::vector<Range> bodies;
    for (const Piece& piece : out_.pieces) {
      if (piece.kind == PieceKind::function) bodies.push_back(piece.range);
    }
    for (const Range body : bodies) {
      for (std::size_t i = body.begin; i + 1 < body.end; ++i) {
        if (!is_class_key(tokens_[i]) || tokens_[i].directive) continue;
        std::size_t open = i + 1;
        while (open < body.end &&
               (tokens_[open].kind == TokenKind::identifier || tokens_[open].is("::") ||
                tokens_[open].is(":") || tokens_[open].is("<") || tokens_[open].is(">") ||
                tokens_[open].is(","))) {
          ++open;
        }
        if (open >= body.end || !tokens_[open].is("{")) continue;
        const Head facts = examine({i, open}, {});
        const std::size_t end = behind(open);
        if (!facts.class_name.empty()) {
          out_.classes.push_back({.name = facts.class_name,
                                  .derived = facts.derived,
                                  .bases = facts.derived ? Range{facts.bases, open} : Range{}});
        }
        scope({open + 1, std::max(end - 1, open + 1)},
              {.path = {}, .class_name = facts.class_name, .derived = facts.derived, .local = true},
              0);
        i = open;  // a class inside it is found when the loop reaches it
      }
    }
  }

  const std::vector<Token>& tokens_;
  Structure& out_;
  bool ended_ = false;
};

void add_macros(const std::vector<Token>& tokens, Structure& out) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].starts_directive || directive_name(tokens, i) != "define") continue;
    const std::size_t end = directive_end(tokens, i);
    if (end > i + 2) out.inner.push_back({{i, end}, tokens[i + 2].text, false});
  }
}

bool is_include_guard(const std::vector<Token>& tokens, const Conditional& conditional) {
  const std::size_t begin = conditional.branches.front();
  const std::size_t next = directive_end(tokens, begin);
  return begin == 0 && conditional.end == tokens.size() && conditional.branches.size() == 1 &&
         directive_name(tokens, begin) == "ifndef" && next < tokens.size() &&
         tokens[next].starts_directive && directive_name(tokens, next) == "define";
}

/// Notes the conditionals around each piece: a piece that moves from one to another counts as
/// changed.
void add_conditions(const std::vector<Token>& tokens, Structure& out) {
  std::vector<std::pair<Range, std::string>> branches;
  for (const Conditional& conditional : out.brackets.conditionals) {
    if (is_include_guard(tokens, conditional)) continue;
    std::string text;
    for (std::size_t k = 0; k < conditional.branches.size(); ++k) {
      const std::size_t begin = conditional.branches[k];
      const std::size_t end =
          k + 1 < conditional.branches.size() ? conditional.branches[k + 1] : conditional.end;
      for (std::size_t i = begin; i < directive_end(tokens, begin); ++i) {
        text += tokens[i].text;
        text += ' ';
      }
      branches.emplace_back(Range{begin, end}, text);
    }
  }
  for (const auto& [range, text] : branches) {
    auto piece = std::ranges::lower_bound(out.pieces, range.begin, {},
                                          [](const Piece& p) { return p.range.begin; });
    for (; piece != out.pieces.end() && piece->range.begin < range.end; ++piece) {
      const bool own = piece->kind == PieceKind::directive && piece->range.begin == range.begin;
      if (!own) piece->conditions += text;
    }
  }
}

}  // namespace

std::string Piece::label() const {
  const std::string_view name = names.empty() ? std::string_view() : names.back();
  if (name.empty()) return context;
  return context +
         (owner.empty() || context.ends_with(std::string(owner) + "::")
              ? std::string()
              : std::string(owner) + "::") +
         std::string(name);
}

bool is_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 52> kWords = {
      "alignas",  "auto",    "bool",      "break",    "case",      "catch",     "char",
      "class",    "const",   "constexpr", "continue", "co_await",  "co_return", "co_yield",
      "decltype", "default", "delete",    "do",       "double",    "else",      "enum",
      "explicit", "extern",  "false",     "final",    "float",     "for",       "if",
      "inline",   "int",     "long",      "mutable",  "namespace", "new",       "noexcept",
      "override", "private", "public",    "requires", "return",    "short",     "signed",
      "sizeof",   "static",  "struct",    "switch",   "template",  "this",      "true",
      "typename", "void",    "while"};
  return one_of(word, kWords);
}

Structure scan(const std::vector<Token>& tokens) {
  Structure out;
  out.brackets = match_brackets(tokens);
  Scanner(tokens, out).run();
  out.loops = find_loops(tokens, out.brackets);
  auto lambdas = find_lambdas(tokens, out.brackets);
  out.inner.insert(out.inner.end(), lambdas.begin(), lambdas.end());
  add_macros(tokens, out);
  add_conditions(tokens, out);
  return out;
}

}  // namespace flor::sources
