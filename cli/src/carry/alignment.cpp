#include "carry/alignment.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace flor::carry {
namespace {

using sources::TokenKind;

// With more tokens than this, only the counts of equal tokens are compared.
constexpr std::size_t kTokensMax = 600;
// Statements that are less similar than this are never paired.
constexpr double kPairMin = 0.35;

/// The weight of a token in a comparison: punctuators say little, because they are everywhere.
double weight(const Token& token) { return token.kind == TokenKind::punctuator ? 0.2 : 1.0; }

bool is_name(const Token& token) {
  return token.kind == TokenKind::identifier && !sources::is_keyword(token.text);
}

bool is_same(const Token& a, const Token& b, const KnownNames& names) {
  if (a.kind == TokenKind::identifier && b.kind == TokenKind::identifier) {
    const auto known = names.find(a.text);
    if (known != names.end()) return known->second == b.text;
  }
  return sources::same(a, b);
}

/// The value of pairing two tokens; 0 if they cannot be paired.
double common(const Token& a, const Token& b, const KnownNames& names, double replaced) {
  if (is_same(a, b, names)) return weight(a);
  if (a.directive != b.directive || a.kind != b.kind || a.kind == TokenKind::punctuator) return 0;
  if (a.kind == TokenKind::identifier && !(is_name(a) && is_name(b))) return 0;
  return replaced;
}

/// The alignment of two sequences of tokens with the largest sum; `grid` keeps the table from which
/// the pairs are read back.
class TokenAlignment {
 public:
  TokenAlignment(const std::vector<Token>& tokens_a, const std::vector<std::size_t>& a,
                 const std::vector<Token>& tokens_b, const std::vector<std::size_t>& b,
                 const KnownNames& names, double replaced)
      : a_(a), b_(b), columns_(b.size() + 1), best_((a.size() + 1) * columns_, 0) {
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const double pair = common(tokens_a[a[i - 1]], tokens_b[b[j - 1]], names, replaced);
        double value = std::max(best(i - 1, j), best(i, j - 1));
        if (pair > 0) value = std::max(value, best(i - 1, j - 1) + pair);
        best_[i * columns_ + j] = value;
      }
    }
  }
  double sum() const { return best_.back(); }

  std::vector<TokenPair> pairs() const {
    std::vector<TokenPair> out;
    std::size_t i = a_.size(), j = b_.size();
    while (i > 0 && j > 0) {
      if (best(i, j) == best(i - 1, j)) {
        --i;
      } else if (best(i, j) == best(i, j - 1)) {
        --j;
      } else {
        out.push_back({a_[--i], b_[--j]});
      }
    }
    std::ranges::reverse(out);
    return out;
  }

 private:
  double best(std::size_t i, std::size_t j) const { return best_[i * columns_ + j]; }

  const std::vector<std::size_t>&a_, &b_;
  std::size_t columns_;
  std::vector<double> best_;
};

double total(const std::vector<Token>& tokens, const std::vector<std::size_t>& positions) {
  double sum = 0;
  for (const std::size_t at : positions) sum += weight(tokens[at]);
  return sum;
}

/// The number of tokens that both ranges have, in any order, relative to all tokens.
double in_common(const std::vector<Token>& tokens_a, Range a, const std::vector<Token>& tokens_b,
                 Range b, const KnownNames& names) {
  std::unordered_map<std::string_view, int> count;
  double sum = 0, shared = 0;
  for (std::size_t i = a.begin; i < a.end; ++i) {
    const auto known = names.find(tokens_a[i].text);
    ++count[known == names.end() ? tokens_a[i].text : known->second];
    sum += weight(tokens_a[i]);
  }
  for (std::size_t j = b.begin; j < b.end; ++j) {
    sum += weight(tokens_b[j]);
    if (const auto found = count.find(tokens_b[j].text);
        found != count.end() && found->second > 0) {
      --found->second;
      shared += weight(tokens_b[j]);
    }
  }
  return sum > 0 ? 2 * shared / sum : 1;
}

/// The name of the named loop that the statement is; null if it is none.
const std::string* loop_name(const Statement& statement) {
  for (const auto& block : statement.blocks) {
    if (block->is_named_loop()) return &block->loop->name;
  }
  return nullptr;
}

/// The name that a statement logs if it is a call of flor::log with a literal, else empty.
std::string_view logged_name(const std::vector<Token>& tokens, const Statement& statement) {
  constexpr std::array<std::string_view, 4> kCall = {"flor", "::", "log", "("};
  if (statement.head.size() <= kCall.size()) return {};
  for (std::size_t i = 0; i < kCall.size(); ++i) {
    if (!tokens[statement.head[i]].is(kCall[i])) return {};
  }
  const Token& name = tokens[statement.head[kCall.size()]];
  return name.kind == TokenKind::text ? name.text : std::string_view();
}

}  // namespace

std::vector<TokenPair> align_tokens(const std::vector<Token>& tokens_a,
                                    const std::vector<std::size_t>& a,
                                    const std::vector<Token>& tokens_b,
                                    const std::vector<std::size_t>& b, const KnownNames& names) {
  if (a.size() > kTokensMax || b.size() > kTokensMax) return {};
  constexpr double kReplaced = 0.5;
  return TokenAlignment(tokens_a, a, tokens_b, b, names, kReplaced).pairs();
}

double Comparison::heads(const Statement& a, const Statement& b, bool names_count) const {
  const auto &tokens_a = a_.tokens.all, &tokens_b = b_.tokens.all;
  const double sum = total(tokens_a, a.head) + total(tokens_b, b.head);
  if (sum <= 0) return 1;
  if (a.head.size() > kTokensMax || b.head.size() > kTokensMax) {
    return in_common(tokens_a, a.range, tokens_b, b.range, names_);
  }
  const double replaced = names_count ? 0.3 : 1.0;
  return 2 * TokenAlignment(tokens_a, a.head, tokens_b, b.head, names_, replaced).sum() / sum;
}

std::optional<double> Comparison::insides(const Statement& a, const Statement& b) const {
  const auto is_empty = [](const auto& block) { return block->inner.begin == block->inner.end; };
  if (std::ranges::all_of(a.blocks, is_empty) && std::ranges::all_of(b.blocks, is_empty)) return {};
  const std::size_t count = std::min(a.blocks.size(), b.blocks.size());
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += in_common(a_.tokens.all, a.blocks[k]->inner, b_.tokens.all, b.blocks[k]->inner, names_);
  }
  return sum / static_cast<double>(std::max(a.blocks.size(), b.blocks.size()));
}

double Comparison::similarity(const Statement& a, const Statement& b) const {
  if (a.directive != b.directive) return 0;
  // Statements that log different names are different, however similar the calls are.
  const auto logged_a = logged_name(a_.tokens.all, a), logged_b = logged_name(b_.tokens.all, b);
  if (!logged_a.empty() && !logged_b.empty() && logged_a != logged_b) return 0;
  const double head = heads(a, b, true);
  if (a.blocks.empty() && b.blocks.empty()) return head;
  if (a.blocks.empty() || b.blocks.empty()) return 0.5 * head;
  // Only non-empty blocks count: two empty ones do not make an `if` and a `for` similar.
  const auto inside = insides(a, b);
  const double value = inside ? 0.5 * head + 0.5 * *inside : head;
  const std::string *loop_a = loop_name(a), *loop_b = loop_name(b);
  if (loop_a && loop_b && *loop_a == *loop_b) return std::max(value, 0.8 + 0.2 * value);
  if (a.piece && b.piece && !label_of(a).empty() && label_of(a) == label_of(b)) {
    return std::max(value, 0.7 + 0.3 * value);
  }
  return value;
}

double Comparison::likeness(const Statement& a, const Statement& b) const {
  return heads(a, b, false);
}

BlockAlignment::BlockAlignment(const Block& a, const Block& b, const Comparison& comparison)
    : n_(a.statements.size()),
      m_(b.statements.size()),
      similarity_(n_ * m_),
      worth_(n_ * m_),
      forward_((n_ + 1) * (m_ + 1), 0),
      backward_((n_ + 1) * (m_ + 1), 0),
      partner_(n_, kNone) {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < m_; ++j) {
      const double s = comparison.similarity(*a.statements[i], *b.statements[j]);
      const std::size_t tokens = a.statements[i]->range.end - a.statements[i]->range.begin;
      // A short statement such as "break;" occurs in many places, a long one hardly twice.
      const double says = 0.5 + 0.5 * std::min(1.0, static_cast<double>(tokens) / 8.0);
      similarity_[at(i, j)] = s;
      // The cube makes one identical statement worth more than several slightly similar ones.
      worth_[at(i, j)] = s < kPairMin ? 0 : s * s * s * says;
    }
  }
  const std::size_t columns = m_ + 1;
  for (std::size_t i = 1; i <= n_; ++i) {
    for (std::size_t j = 1; j <= m_; ++j) {
      const double worth = worth_[at(i - 1, j - 1)];
      double value = std::max(forward(i - 1, j), forward(i, j - 1));
      if (worth > 0) value = std::max(value, forward(i - 1, j - 1) + worth);
      forward_[i * columns + j] = value;
    }
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t j = m_; j-- > 0;) {
      const double worth = worth_[at(i, j)];
      double value = std::max(backward(i + 1, j), backward(i, j + 1));
      if (worth > 0) value = std::max(value, backward(i + 1, j + 1) + worth);
      backward_[i * columns + j] = value;
    }
  }
  for (std::size_t i = n_, j = m_; i > 0 && j > 0;) {
    if (forward(i, j) == forward(i - 1, j)) {
      --i;
    } else if (forward(i, j) == forward(i, j - 1)) {
      --j;
    } else {
      --i;
      partner_[i] = --j;
    }
  }
}

bool BlockAlignment::is_clear(std::size_t i) const {
  const std::size_t j = partner_[i];
  if (j == kNone) return false;
  const double best = forward(n_, m_);
  for (std::size_t k = 0; k < m_; ++k) {
    if (k == j || worth_[at(i, k)] <= 0) continue;
    if (forward(i, k) + worth_[at(i, k)] + backward(i + 1, k + 1) > best - kMargin) return false;
  }
  return true;
}

bool BlockAlignment::joined_before(std::size_t i, std::size_t p) const {
  if (i == 0 || p == 0) return i == p;  // at the beginning of both blocks
  const double worth = worth_[at(i - 1, p - 1)];
  return worth > 0 && forward(i, p) <= forward(i - 1, p - 1) + worth + 1e-9;
}

bool BlockAlignment::joined_after(std::size_t i, std::size_t p) const {
  if (i == n_ || p == m_) return i == n_ && p == m_;  // at the end of both blocks
  const double worth = worth_[at(i, p)];
  return worth > 0 && backward(i, p) <= backward(i + 1, p + 1) + worth + 1e-9;
}

}  // namespace flor::carry
