#include "sources/syntax/logging.h"

#include "sources/syntax/words.h"

#include <algorithm>
#include <array>
#include <string>

namespace flor::sources {
namespace {

constexpr std::array<std::string_view, 5> kLogs = {"log", "log_tensor", "log_histogram",
                                                   "log_image", "log_table"};
constexpr std::array<std::string_view, 9> kPrints = {
    "printf", "fprintf", "puts", "fputs", "putchar", "print", "println", "fflush", "perror"};
/// Methods that change more than the object they are called on, or that change the mode of a
/// module.
constexpr std::array<std::string_view, 8> kTrains = {
    "backward", "step", "zero_grad", "train", "eval", "manual_seed", "requires_grad_", "load"};
constexpr std::array<std::string_view, 3> kStreams = {"cout", "cerr", "clog"};
constexpr std::array<std::string_view, 13> kLeaves = {
    "return",   "break", "continue", "goto",  "throw",    "delete", "using",
    "co_yield", "case",  "else",     "while", "co_await", "typedef"};
constexpr int kInnerMax = 64;

class Stripper {
 public:
  Stripper(const std::vector<Token>& tokens, const Structure& structure, Range piece,
           const Words& known, Own own)
      : tokens_(tokens),
        brackets_(structure.brackets),
        conditionals_(structure.brackets.conditionals),
        piece_(piece),
        known_(known),
        block_locals_(own == Own::block_locals),
        looking_(piece.end - piece.begin, false) {}

  std::vector<bool> run() {
    for (std::size_t i = piece_.begin; i < piece_.end;) {
      if (!tokens_[i].directive && begins_statement(i)) {
        const std::size_t end = std::min(statement_end(tokens_, brackets_, i), piece_.end);
        if (end > i && harmless({i, end}, 0)) {
          mark_statement({i, end});
          i = end;
          continue;
        }
      }
      ++i;
    }
    for (std::size_t i = piece_.begin; i < piece_.end; ++i) wrapped(i);
    for (const Conditional& conditional : conditionals_) mark_conditional(conditional);
    return std::move(looking_);
  }

 private:
  void mark(std::size_t at) {
    if (!tokens_[at].directive) looking_[at - piece_.begin] = true;
  }
  /// Marks a statement as one that only looks. The braces of a body that a header (`if`, `for`,
  /// ...) controls are not marked: without them the header would control the next statement. An
  /// `else` before the statement is marked with it, since an else without a body has no effect.
  void mark_statement(Range range) {
    const std::size_t before = code_before(range.begin);
    if (before > piece_.begin && is(before, "else")) {
      mark(before);
    } else if (is(range.begin, "{") && is_controlled(range.begin)) {
      ++range.begin;
      --range.end;
    }
    for (std::size_t i = range.begin; i < range.end; ++i) mark(i);
  }
  /// The last token before `at` that belongs to no directive; the first token of the piece if there
  /// is none.
  std::size_t code_before(std::size_t at) const {
    while (at > piece_.begin && tokens_[at - 1].directive) --at;
    return at > piece_.begin ? at - 1 : at;
  }
  bool is(std::size_t at, std::string_view text) const {
    return at < piece_.end && tokens_[at].is(text);
  }
  bool is_word(std::size_t at) const {
    return at < piece_.end && tokens_[at].kind == TokenKind::identifier;
  }
  std::size_t behind(std::size_t at) const {
    const std::size_t partner = brackets_.partner[at];
    return partner != Brackets::kNone && partner > at ? partner + 1 : at + 1;
  }

  bool begins_statement(std::size_t at) const {
    const std::size_t last = code_before(at);
    const Token& before = tokens_[last];
    if (last >= at || before.directive) return false;
    if (before.is(";") || before.is("{") || before.is("}")) return true;
    if (before.is(":") && last > piece_.begin + 1) {
      return tokens_[last - 1].is("default") || tokens_[last - 2].is("case");
    }
    return is_controlled(at);
  }
  bool is_controlled(std::size_t at) const {
    const std::size_t last = code_before(at);
    const Token& before = tokens_[last];
    if (before.is("else") || before.is("do")) return true;
    const std::size_t open = brackets_.partner[last];
    if (!before.is(")") || open == Brackets::kNone || open <= piece_.begin) return false;
    const Token& control = tokens_[open - 1];
    return control.is("if") || control.is("for") || control.is("while") || control.is("constexpr");
  }

  bool is_new(std::string_view name) const {
    return own_.contains(name) || (!known_.contains(name) && !is_keyword(name));
  }
  /// Whether a declaration inside a statement makes the name its own. `depth` is that of the
  /// declaration.
  bool can_own(std::string_view name, int depth) const {
    return is_new(name) || (block_locals_ && depth > 0 && !is_keyword(name));
  }
  /// Notes the name at `at` as the statement's own. What a reference or pointer refers to is not
  /// its own.
  void own(std::size_t at, bool leads = false) {
    const std::string_view name = tokens_[at].text;
    const Token& before = tokens_[at - 1];
    leads = leads || before.is("&") || before.is("&&") || before.is("*");
    if (leads)
      leading_.insert(name);
    else
      leading_.erase(name);
    if (own_.insert(name).second && known_.contains(name)) shadowed_.push_back(name);
  }

  /// A name that the other version also has is a block's own only until the end of the block.
  class Scope {
   public:
    explicit Scope(Stripper& stripper) : stripper_(stripper), begin_(stripper.shadowed_.size()) {}
    ~Scope() {
      auto& names = stripper_.shadowed_;
      for (; names.size() > begin_; names.pop_back()) stripper_.own_.erase(names.back());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stripper& stripper_;
    std::size_t begin_;
  };

  /// The name of the variable that the assignment at `at` changes.
  std::string_view target(std::size_t at, std::size_t begin) const {
    if ((tokens_[at].is("++") || tokens_[at].is("--")) && is_word(at + 1)) {
      return tokens_[at + 1].text;
    }
    std::string_view name;
    for (std::size_t k = at; k > begin;) {
      const Token& token = tokens_[--k];
      if ((token.is(")") || token.is("]")) && brackets_.partner[k] < k) {
        k = brackets_.partner[k];
        if (k > begin && tokens_[k].is("[") && tokens_[k - 1].is("auto")) return {};
      } else if (token.kind == TokenKind::identifier) {
        name = token.text;
        if (k == begin ||
            !(tokens_[k - 1].is(".") || tokens_[k - 1].is("->") || tokens_[k - 1].is("::"))) {
          break;
        }
      } else if (!token.is(".") && !token.is("->") && !token.is("::")) {
        break;
      }
    }
    return name;
  }

  /// Whether the assignment at `at` initializes a reference or pointer, as in "auto& x = ...".
  bool is_declared(std::size_t at) const {
    return tokens_[at].is("=") && at > piece_.begin + 2 && is_word(at - 1) &&
           (is(at - 2, "&") || is(at - 2, "&&") || is(at - 2, "*")) &&
           (is_word(at - 3) || is(at - 3, ">"));
  }

  /// Whether the range assigns only to names that the other version does not know.
  bool pure(Range range) const {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      if (tokens_[k].kind != TokenKind::punctuator || !one_of(tokens_[k].text, kAssignments)) {
        continue;
      }
      if (k > range.begin && tokens_[k - 1].is("[")) continue;  // a lambda's capture [=]
      const std::string_view name = target(k, range.begin);
      if (leading_.contains(name) && !is_declared(k)) return false;
      if (!name.empty() && !own_.contains(name) && known_.contains(name)) return false;
    }
    return true;
  }

  bool harmless(Range statement, int depth) {
    const std::size_t at = statement.begin;
    if (depth > kInnerMax) return false;
    for (std::size_t k = at; k < statement.end; ++k) {
      if (tokens_[k].directive && depth == 0) return false;
      if (is(k, "loop") && is(k + 1, "(")) return false;
      if (is(k + 1, "(") && one_of(tokens_[k].text, kTrains)) return false;
    }
    if (is(at, ";")) return true;
    if (is(at, "{")) return harmless_block(statement, depth);
    if (is(at, "if")) return harmless_if(statement, depth);
    if (is(at, "for") && is(at + 1, "(")) return harmless_for(statement, depth);
    if (is_word(at) && one_of(tokens_[at].text, kLeaves)) return false;
    // A variable declared in a block is the block's own from there on, even inside its own
    // declaration.
    const bool declared = block_locals_ && depth > 0 && declares(statement, depth);
    if (!pure(statement)) return false;
    return declared || shows(statement) || declares(statement, depth) || works_on_own(at);
  }

  bool harmless_block(Range statement, int depth) {
    const Scope scope(*this);
    return all_harmless({statement.begin + 1, statement.end - 1}, depth + 1);
  }

  bool all_harmless(Range block, int depth) {
    for (std::size_t i = block.begin; i < block.end;) {
      const std::size_t end = std::min(statement_end(tokens_, brackets_, i), block.end);
      if (end <= i || !harmless({i, end}, depth)) return false;
      i = end;
    }
    return true;
  }

  bool harmless_if(Range statement, int depth) {
    const Scope scope(*this);
    std::size_t open = statement.begin + 1;
    while (open < statement.end && !is(open, "(")) ++open;
    if (open >= statement.end) return false;
    const std::size_t body = behind(open);
    declare_in_header({open, body});
    if (body >= statement.end || !pure({open, body})) return false;
    const std::size_t end = statement_end(tokens_, brackets_, body);
    if (!harmless({body, std::min(end, statement.end)}, depth + 1)) return false;
    if (end >= statement.end) return true;
    return is(end, "else") && harmless({end + 1, statement.end}, depth + 1);
  }

  bool harmless_for(Range statement, int depth) {
    const Scope scope(*this);
    const std::size_t body = behind(statement.begin + 1);
    const Range header{statement.begin + 1, body};
    declare_in_header(header);
    return body < statement.end && pure(header) && harmless({body, statement.end}, depth + 1);
  }

  /// Notes the variables that a `for` or `if` declares as its own, even if other variables have
  /// those names.
  void declare_in_header(Range header) {
    for (std::size_t k = header.begin + 2; k < header.end; ++k) {
      const bool ends = is(k, "=") || is(k, ":") || is(k, ",") || is(k, "]");
      if (is(k, ";")) break;
      if (ends && is_word(k - 1) && is_new(tokens_[k - 1].text))
        own(k - 1, binds_references(header));
      if (is(k, ":")) break;
    }
    if (!block_locals_) return;
    if (const std::size_t name = declared_first(header); name > 0) own(name);
  }
  /// Whether the header binds references, as in "(auto& [key, value] : map)".
  bool binds_references(Range header) const {
    for (std::size_t k = header.begin + 2; k < header.end && !is(k, ":"); ++k) {
      if (is(k, "[")) return is(k - 1, "&") || is(k - 1, "&&");
    }
    return false;
  }
  /// The position of "i" in "(int i = 0; ...)" or of "x" in "(const auto& x : xs)"; 0 if there is
  /// none.
  std::size_t declared_first(Range header) const {
    std::size_t at = header.begin + 1;
    while (at < header.end && (is_type(at) || is(at, "<"))) {
      at = is(at, "<") ? behind_angles(at, header.end) : at + 1;
    }
    const bool declares = at >= header.begin + 3 && at < header.end && is_word(at - 1) &&
                          !is(at - 2, "::") && (is(at, "=") || is(at, ":"));
    return declares ? at - 1 : 0;
  }
  bool is_type(std::size_t k) const {
    return is_word(k) || is(k, "::") || is(k, "&") || is(k, "*") || is(k, "&&");
  }

  bool shows(Range statement) const {
    std::size_t at = statement.begin;
    bool qualified = false;
    while (is_word(at) && is(at + 1, "::")) {
      qualified = qualified || is(at, "flor");
      at += 2;
    }
    if (!is_word(at)) return false;
    const std::string_view name = tokens_[at].text;
    if (one_of(name, kStreams)) return is(at + 1, "<<");
    if (!is(at + 1, "(") || behind(at + 1) + 1 != statement.end) return false;
    if (one_of(name, kPrints)) return true;
    return one_of(name, kLogs) && (qualified || tokens_[at + 2].kind == TokenKind::text);
  }

  /// Whether the statement declares variables that are new in this version.
  bool declares(Range statement, int depth) {
    std::size_t at = statement.begin;
    if (!is_word(at) && !is(at, "::")) return false;  // an assignment such as *at = 0;
    bool guard = false;
    while (at < statement.end && (is_type(at) || is(at, "<"))) {
      if (is(at, "<")) {
        at = behind_angles(at, statement.end);
        continue;
      }
      guard = guard || tokens_[at].text.ends_with("Guard") || tokens_[at].text.ends_with("guard");
      ++at;
    }
    // A guard object, such as a lock, affects the statements after it in its block.
    if (guard && depth == 0) return false;
    if (is(at, "[") && at > statement.begin) return binds(at, depth);
    if (at < statement.begin + 2 || !is_word(at - 1)) return false;
    if (!is(at, "=") && !is(at, "{") && !is(at, "(") && !is(at, ";")) return false;
    const Token& before = tokens_[at - 2];
    if (before.is("::") || (before.kind == TokenKind::punctuator && !before.is(">") &&
                            !before.is("&") && !before.is("*") && !before.is("&&"))) {
      return false;
    }
    if (!can_own(tokens_[at - 1].text, depth)) return false;
    own(at - 1);
    return true;
  }
  bool binds(std::size_t open, int depth) {
    const std::size_t close = behind(open) - 1;
    for (std::size_t k = open + 1; k < close; ++k) {
      if (is_word(k) && !can_own(tokens_[k].text, depth)) return false;
    }
    const bool leads = is(open - 1, "&") || is(open - 1, "&&");
    for (std::size_t k = open + 1; k < close; ++k) {
      if (is_word(k)) own(k, leads);
    }
    return is(close + 1, "=");
  }
  std::size_t behind_angles(std::size_t at, std::size_t end) const {
    int depth = 0;
    for (; at < end; ++at) {
      depth += is(at, "<") ? 1 : is(at, ">") ? -1 : 0;
      if (depth == 0) return at + 1;
    }
    return end;
  }

  bool works_on_own(std::size_t at) const {
    while (is(at, "++") || is(at, "--") || is(at, "(")) ++at;
    return is_word(at) && own_.contains(tokens_[at].text) && !leading_.contains(tokens_[at].text) &&
           !is(at + 1, "->");  // this would change the object it points to
  }

  /// Marks flor::log("name", value) inside an expression, without the value.
  void wrapped(std::size_t at) {
    if (looking_[at - piece_.begin] || !is(at, "flor") || !is(at + 1, "::") || !is_word(at + 2) ||
        !one_of(tokens_[at + 2].text, kLogs) || !is(at + 3, "(") || !is(at + 5, ",") ||
        tokens_[at + 4].kind != TokenKind::text) {
      return;
    }
    const std::size_t close = behind(at + 3) - 1;
    if (close >= piece_.end || at == piece_.begin) return;
    static constexpr std::array<std::string_view, 9> kBefore = {"=",  "(",  ",",  "return", "{",
                                                                "+=", "-=", "*=", "/="};
    static constexpr std::array<std::string_view, 4> kBehind = {";", ",", ")", "}"};
    if (!one_of(tokens_[at - 1].text, kBefore)) return;
    if (close + 1 >= piece_.end || !one_of(tokens_[close + 1].text, kBehind)) return;
    for (std::size_t k = at; k < at + 6; ++k) mark(k);
    mark(close);
  }

  /// Marks an #if that contains nothing but marked statements.
  void mark_conditional(const Conditional& conditional) {
    const Range range{conditional.branches.front(), conditional.end};
    if (range.begin < piece_.begin || range.end > piece_.end) return;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      if (!tokens_[k].directive && !looking_[k - piece_.begin]) return;
    }
    for (std::size_t k = range.begin; k < range.end; ++k) looking_[k - piece_.begin] = true;
  }

  const std::vector<Token>& tokens_;
  const Brackets& brackets_;
  const std::vector<Conditional>& conditionals_;
  Range piece_;
  const Words& known_;
  bool block_locals_;
  Words own_;                               // variables that harmless statements declare
  Words leading_;                           // references or pointers among these
  std::vector<std::string_view> shadowed_;  // those among them that the other version also has
  std::vector<bool> looking_;
};

}  // namespace

Words identifiers(const std::vector<Token>& tokens, Range range) {
  Words words;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (tokens[i].kind == TokenKind::identifier) words.insert(tokens[i].text);
  }
  return words;
}

std::vector<bool> only_looking(const std::vector<Token>& tokens, const Structure& structure,
                               Range piece, const Words& known, Own own) {
  return Stripper(tokens, structure, piece, known, own).run();
}

bool is_print(std::string_view function) { return one_of(function, kPrints); }

std::string what_is_shown(const std::vector<Token>& tokens, Range range) {
  for (std::size_t i = range.begin; i < range.end && i + 1 < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind != TokenKind::identifier) continue;
    if (one_of(token.text, kStreams)) return "prints";
    if (!tokens[i + 1].is("(")) continue;
    if (one_of(token.text, kLogs) && i + 2 < tokens.size() &&
        tokens[i + 2].kind == TokenKind::text) {
      return "logs " + std::string(tokens[i + 2].text);
    }
    if (one_of(token.text, kPrints)) return "prints";
  }
  return {};
}

}  // namespace flor::sources
