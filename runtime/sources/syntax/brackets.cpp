#include "sources/syntax/brackets.h"

namespace flor::sources {
namespace {

bool opens(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is("(") || token.is("[") || token.is("{"));
}
bool closes(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is(")") || token.is("]") || token.is("}"));
}
bool fits(const Token& open, const Token& close) {
  return (open.is("(") && close.is(")")) || (open.is("[") && close.is("]")) ||
         (open.is("{") && close.is("}"));
}

using Stack = std::vector<std::size_t>;

class Matcher {
 public:
  explicit Matcher(const std::vector<Token>& tokens) : tokens_(tokens) {
    out_.partner.assign(tokens.size(), Brackets::kNone);
  }

  Brackets run() {
    for (std::size_t i = 0; i < tokens_.size();) {
      if (tokens_[i].starts_directive) {
        const std::size_t end = directive_end(tokens_, i);
        directive(i, end);
        i = end;
      } else {
        match(stack_, i++);
      }
    }
    for (const Open& open : open_) out_.conditionals[open.index].end = tokens_.size();
    return std::move(out_);
  }

 private:
  struct Open {
    std::size_t index;  // index in out_.conditionals
    Stack before, after_first;
    bool first_done = false;
  };
  // Stacks are copied at each conditional. Text that nests deeper than this was not written by
  // people, and is not worth the memory.
  static constexpr std::size_t kDepthMax = 500;

  void match(Stack& stack, std::size_t at) {
    const Token& token = tokens_[at];
    if (opens(token)) {
      stack.push_back(at);
    } else if (closes(token)) {
      // A brace closes the brackets that were left open inside it. Other brackets that do not fit
      // are ignored.
      if (token.is("}")) {
        std::size_t top = stack.size();
        while (top > 0 && !tokens_[stack[top - 1]].is("{")) --top;
        if (top > 0) stack.resize(top);
      }
      if (stack.empty() || !fits(tokens_[stack.back()], token)) return;
      out_.partner[at] = stack.back();
      out_.partner[stack.back()] = at;
      stack.pop_back();
    }
  }

  void directive(std::size_t begin, std::size_t end) {
    Stack own;
    for (std::size_t i = begin; i < end; ++i) match(own, i);
    const std::string_view name = directive_name(tokens_, begin);
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      Open open{.index = out_.conditionals.size(), .before = {}, .after_first = {}};
      if (stack_.size() <= kDepthMax) open.before = stack_;
      open_.push_back(std::move(open));
      out_.conditionals.push_back({.branches = {begin}});
    } else if (open_.empty()) {
      return;
    } else if (name == "endif") {
      Open& open = open_.back();
      if (open.first_done && stack_.size() <= kDepthMax) stack_ = open.after_first;
      out_.conditionals[open.index].end = end;
      open_.pop_back();
    } else if (name.starts_with("el")) {
      Open& open = open_.back();
      out_.conditionals[open.index].branches.push_back(begin);
      if (stack_.size() > kDepthMax) return;
      if (!open.first_done) open.after_first = stack_;
      open.first_done = true;
      stack_ = open.before;
    }
  }

  const std::vector<Token>& tokens_;
  Stack stack_;
  std::vector<Open> open_;
  Brackets out_;
};

}  // namespace

std::size_t directive_end(const std::vector<Token>& tokens, std::size_t at) {
  std::size_t end = at + 1;
  while (end < tokens.size() && tokens[end].directive && !tokens[end].starts_directive) ++end;
  return end;
}

std::string_view directive_name(const std::vector<Token>& tokens, std::size_t at) {
  return directive_end(tokens, at) > at + 1 ? tokens[at + 1].text : std::string_view();
}

Brackets match_brackets(const std::vector<Token>& tokens) { return Matcher(tokens).run(); }

}  // namespace flor::sources
