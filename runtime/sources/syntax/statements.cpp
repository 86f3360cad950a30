// Finds where statements end, and the loops and lambdas in them.
#include "sources/syntax/statements.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

constexpr int kStatementsDeepMax = 256;

class Walker {
 public:
  Walker(const std::vector<Token>& tokens, const Brackets& brackets)
      : tokens_(tokens), brackets_(brackets) {}

  std::size_t statement(std::size_t at, int depth) const {
    at = code(at);
    if (at >= tokens_.size() || depth > kStatementsDeepMax) return at;
    const std::string_view word = tokens_[at].text;
    if (word == "{") return behind(at);
    if (word == "if") return if_statement(at, depth);
    if (word == "for" || word == "while" || word == "switch") {
      return statement(parentheses(at + 1), depth + 1);
    }
    if (word == "do") {
      const std::size_t body = code(statement(at + 1, depth + 1));
      return is(body, "while") ? plain(body) : body;
    }
    if (word == "try") {
      std::size_t end = statement(at + 1, depth + 1);
      while (is(code(end), "catch")) end = statement(parentheses(code(end) + 1), depth + 1);
      return end;
    }
    if (const std::size_t labelled = behind_label(at); labelled > at) {
      return statement(labelled, depth + 1);
    }
    return plain(at);
  }

  /// The position after the label or attribute at `at`; `at` if there is none.
  std::size_t behind_label(std::size_t at) const {
    if (is(at, "[") && is(at + 1, "[")) return behind(at);
    if (at + 1 >= tokens_.size() || tokens_[at].kind != TokenKind::identifier) return at;
    if (!is(at, "case")) return is(at + 1, ":") ? at + 2 : at;
    for (std::size_t k = at + 1; k < tokens_.size() && !is(k, ";") && !is(k, "}");) {
      if (is(k, ":")) return k + 1;
      k = is(k, "(") || is(k, "[") || is(k, "{") ? behind(k) : k + 1;
    }
    return at;
  }

  /// The beginning of the statement that the keyword at `at` controls. The end of the text if it
  /// controls none.
  std::size_t controlled(std::size_t at) const {
    if (is(at, "else") || is(at, "do")) return code(at + 1);
    if (!is(at, "if") && !is(at, "for") && !is(at, "while")) return tokens_.size();
    const std::size_t head = header(at);
    return is(head, "(") ? code(behind(head)) : tokens_.size();
  }

  /// The first token at or after `at` that belongs to no directive.
  std::size_t code(std::size_t at) const {
    while (at < tokens_.size() && tokens_[at].directive) ++at;
    return at;
  }
  bool is(std::size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].is(text);
  }
  /// The position after the bracket that closes the one at `at`; the next position if none does.
  std::size_t behind(std::size_t at) const {
    const std::size_t partner = brackets_.partner[at];
    return partner != Brackets::kNone && partner > at ? partner + 1 : at + 1;
  }

 private:
  /// The opening parenthesis of the header whose keyword is at `at`.
  std::size_t header(std::size_t at) const {
    std::size_t head = code(at + 1);
    while (is(head, "constexpr") || is(head, "consteval") || is(head, "!")) head = code(head + 1);
    return head;
  }
  std::size_t if_statement(std::size_t at, int depth) const {
    const std::size_t end = statement(parentheses(header(at)), depth + 1);
    return is(code(end), "else") ? statement(code(end) + 1, depth + 1) : end;
  }
  std::size_t parentheses(std::size_t at) const {
    at = code(at);
    return is(at, "(") ? behind(at) : at;
  }
  /// The position after the semicolon that ends the statement, skipping everything in brackets.
  std::size_t plain(std::size_t at) const {
    while (at < tokens_.size()) {
      const Token& token = tokens_[at];
      if (token.directive) {
        ++at;
      } else if (token.is(";")) {
        return at + 1;
      } else if (token.is("}") && brackets_.partner[at] < at) {
        return at;
      } else {
        at = token.is("(") || token.is("[") || token.is("{") ? behind(at) : at + 1;
      }
    }
    return at;
  }

  const std::vector<Token>& tokens_;
  const Brackets& brackets_;
};

/// The text between the quotes of a string token: train for "train".
std::string unquoted(std::string_view text) {
  const std::size_t begin = text.find('"'), end = text.rfind('"');
  if (begin == end) return {};
  return std::string(text.substr(begin + 1, end - begin - 1));
}

class LoopFinder {
 public:
  LoopFinder(const std::vector<Token>& tokens, const Brackets& brackets)
      : tokens_(tokens), walker_(tokens, brackets) {}

  std::vector<ForLoop> run() const {
    std::vector<ForLoop> loops;
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].directive || !tokens_[i].is("for") || !tokens_[i + 1].is("(")) continue;
      ForLoop loop;
      loop.header = {i + 1, walker_.behind(i + 1)};
      loop.range = {i, walker_.statement(i, 0)};
      const std::size_t colon = range_colon(loop.header);
      loop.over_range = colon < loop.header.end;
      for (std::size_t k = colon; k + 1 < loop.header.end; ++k) {
        if (tokens_[k].is("loop") && tokens_[k + 1].is("(")) {
          name(loop, k + 1);
          break;
        }
      }
      loops.push_back(std::move(loop));
    }
    return loops;
  }

 private:
  /// The ':' of a range-for; the end of the header if the loop is none.
  std::size_t range_colon(Range header) const {
    for (std::size_t k = header.begin + 1; k < header.end;) {
      if (tokens_[k].is("?")) return header.end;
      if (tokens_[k].is(":")) return k;
      const bool open = tokens_[k].is("(") || tokens_[k].is("[") || tokens_[k].is("{");
      k = open ? walker_.behind(k) : k + 1;
    }
    return header.end;
  }

  void name(ForLoop& loop, std::size_t open) const {
    const std::size_t close = walker_.behind(open) - 1;
    const std::size_t comma = next_comma(open + 1, close);
    if (open + 2 == comma && tokens_[open + 1].kind == TokenKind::text && comma < close) {
      loop.naming = ForLoop::Naming::literal;
      loop.name = unquoted(tokens_[open + 1].text);
    } else if (comma >= close || is_option(comma + 1)) {
      loop.naming = ForLoop::Naming::unnamed;
    } else {
      loop.naming = ForLoop::Naming::computed;
    }
  }
  bool is_option(std::size_t at) const {
    if (walker_.is(at, "flor") && walker_.is(at + 1, "::")) at += 2;
    return walker_.is(at, "with") || walker_.is(at, "probed");
  }
  std::size_t next_comma(std::size_t at, std::size_t end) const {
    while (at < end && !tokens_[at].is(",")) {
      const bool open = tokens_[at].is("(") || tokens_[at].is("[") || tokens_[at].is("{");
      at = open ? walker_.behind(at) : at + 1;
    }
    return std::min(at, end);
  }

  const std::vector<Token>& tokens_;
  Walker walker_;
};

/// Whether it is a library function that calls its arguments before it returns, and never
/// afterwards.
bool is_algorithm(std::string_view name) {
  static constexpr std::array<std::string_view, 39> kNames = {
      "accumulate",       "adjacent_find", "all_of",         "any_of",           "apply",
      "count_if",         "erase_if",      "exclusive_scan", "find_if",          "find_if_not",
      "for_each",         "for_each_n",    "generate",       "generate_n",       "inclusive_scan",
      "inner_product",    "invoke",        "lower_bound",    "max_element",      "min_element",
      "minmax_element",   "none_of",       "nth_element",    "parallel_for",     "partial_sort",
      "partition",        "reduce",        "remove_if",      "replace_if",       "sort",
      "stable_partition", "stable_sort",   "transform",      "transform_reduce", "unique",
      "upper_bound",      "visit",         "step",           "call_once"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class LambdaFinder {
 public:
  LambdaFinder(const std::vector<Token>& tokens, const Brackets& brackets)
      : tokens_(tokens), walker_(tokens, brackets) {}

  std::vector<Inner> run() {
    std::vector<Inner> found;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.is("(")) callees_.push_back({walker_.behind(i), callee(i)});
      while (!callees_.empty() && callees_.back().end <= i) callees_.pop_back();
      if (!token.is("[") || token.directive || !may_introduce(i)) continue;
      const std::size_t body = body_of(i);
      if (body == 0) continue;
      Inner lambda;
      lambda.range = {i, walker_.behind(body)};
      lambda.name = variable(i);
      lambda.anywhere = lambda.name.empty() && !called_here(lambda.range);
      found.push_back(lambda);
    }
    return found;
  }

 private:
  struct Call {
    std::size_t end;
    std::string_view callee;
  };

  bool may_introduce(std::size_t at) const {
    if (walker_.is(at + 1, "[") || (at > 0 && tokens_[at - 1].is("["))) return false;
    if (at == 0) return true;
    const Token& before = tokens_[at - 1];
    if (before.kind == TokenKind::identifier) return is_keyword(before.text);
    return before.kind == TokenKind::punctuator && !before.is(")") && !before.is("]");
  }

  /// The brace that opens the body of a lambda; 0 if this is no lambda.
  std::size_t body_of(std::size_t open) const {
    constexpr int kHeadMax = 512;  // most tokens between captures and body, outside of brackets
    int angles = 0, length = 0;
    for (std::size_t at = walker_.behind(open); at < tokens_.size() && ++length < kHeadMax;) {
      const Token& token = tokens_[at];
      if (token.is("{")) return at;
      angles += token.is("<") ? 1 : token.is(">") ? -1 : 0;
      if (!may_be_in_head(token) && !(token.is(",") && angles > 0)) return 0;
      at = token.is("(") || token.is("[") ? walker_.behind(at) : at + 1;
    }
    return 0;
  }
  static bool may_be_in_head(const Token& token) {
    static constexpr std::array<std::string_view, 10> kParts = {"(",  "[", "<", ">",  "->",
                                                                "::", "*", "&", "&&", "..."};
    return token.kind == TokenKind::identifier || token.kind == TokenKind::number ||
           std::ranges::find(kParts, token.text) != kParts.end();
  }

  std::string_view variable(std::size_t open) const {
    const bool assigned = open >= 2 && tokens_[open - 1].is("=");
    if (!assigned || tokens_[open - 2].kind != TokenKind::identifier) return {};
    // A member of an object that outlives the statement may be called from anywhere.
    const bool member = open >= 3 && (tokens_[open - 3].is(".") || tokens_[open - 3].is("->"));
    return member ? std::string_view() : tokens_[open - 2].text;
  }

  bool called_here(Range lambda) const {
    if (walker_.is(lambda.end, "(")) return true;
    return !callees_.empty() && callees_.back().end > lambda.begin &&
           is_algorithm(callees_.back().callee);
  }
  std::string_view callee(std::size_t open) const {
    return open > 0 && tokens_[open - 1].kind == TokenKind::identifier ? tokens_[open - 1].text
                                                                       : std::string_view();
  }

  const std::vector<Token>& tokens_;
  Walker walker_;
  std::vector<Call> callees_;
};

}  // namespace

std::size_t statement_end(const std::vector<Token>& tokens, const Brackets& brackets,
                          std::size_t at) {
  return Walker(tokens, brackets).statement(at, 0);
}

std::size_t behind_label(const std::vector<Token>& tokens, const Brackets& brackets,
                         std::size_t at) {
  return Walker(tokens, brackets).behind_label(at);
}

std::vector<ForLoop> find_loops(const std::vector<Token>& tokens, const Brackets& brackets) {
  return LoopFinder(tokens, brackets).run();
}

std::vector<Range> bare_bodies(const std::vector<Token>& tokens, const Brackets& brackets,
                               Range range) {
  const Walker walker(tokens, brackets);
  std::vector<Range> bodies;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (tokens[k].directive || tokens[k].kind != TokenKind::identifier) continue;
    const std::size_t begin = walker.controlled(k);
    if (begin >= range.end || tokens[begin].is("{")) continue;
    const std::size_t end = walker.statement(begin, 0);
    if (end > begin && end <= range.end) bodies.push_back({begin, end});
  }
  return bodies;
}

std::vector<Inner> find_lambdas(const std::vector<Token>& tokens, const Brackets& brackets) {
  return LambdaFinder(tokens, brackets).run();
}

}  // namespace flor::sources
