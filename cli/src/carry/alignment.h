// Pairs the statements of one block with those of another: by the similarity of their tokens, in
// order.
#pragma once

#include "carry/tree.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace flor::carry {

/// Names of one version that are other names in the other; may be empty.
using KnownNames = std::map<std::string_view, std::string_view>;

/// Two tokens that correspond to each other, by their positions in the files.
struct TokenPair {
  std::size_t a = 0, b = 0;
};

/// The pairs of tokens of `a` and `b` in the best alignment of the two sequences: equal ones, and
/// names, numbers and literals that were replaced one for one.
std::vector<TokenPair> align_tokens(const std::vector<Token>& tokens_a,
                                    const std::vector<std::size_t>& a,
                                    const std::vector<Token>& tokens_b,
                                    const std::vector<std::size_t>& b, const KnownNames& names);

/// Compares statements of two files.
class Comparison {
 public:
  Comparison(const Source& a, const Source& b, KnownNames names)
      : a_(a), b_(b), names_(std::move(names)) {}

  /// 0: nothing in common, 1: the same tokens.
  double similarity(const Statement& a, const Statement& b) const;
  /// As if all names were equal: how similar the heads of two statements are built.
  double likeness(const Statement& a, const Statement& b) const;
  const KnownNames& names() const { return names_; }
  const Source& a() const { return a_; }
  const Source& b() const { return b_; }

 private:
  double heads(const Statement& a, const Statement& b, bool names_count) const;
  /// Nothing if no block of either holds a token.
  std::optional<double> insides(const Statement& a, const Statement& b) const;

  const Source& a_;
  const Source& b_;
  KnownNames names_;
};

/// Alignments of the statements of block `a` with those of block `b` that keep the order. The best
/// one has the most pairs, weighted by similarity and by how telling a pair is.
class BlockAlignment {
 public:
  BlockAlignment(const Block& a, const Block& b, const Comparison& comparison);

  /// The partner of statement `i` of `a` in the best alignment, or kNone.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t partner(std::size_t i) const { return partner_[i]; }
  double similarity(std::size_t i, std::size_t j) const { return similarity_[at(i, j)]; }
  /// Whether pairing `i` with its partner is better than any other choice for it, by more than
  /// could be chance.
  bool is_clear(std::size_t i) const;

  /// The worth of the best alignment in which the statements before `i` of `a` are aligned with
  /// those before `p` of `b`, and the rest with the rest.
  double split(std::size_t i, std::size_t p) const { return forward(i, p) + backward(i, p); }
  /// In that alignment: whether the statements right before, or right after, are partners.
  bool joined_before(std::size_t i, std::size_t p) const;
  bool joined_behind(std::size_t i, std::size_t p) const;

  std::size_t size_a() const { return n_; }
  std::size_t size_b() const { return m_; }

  /// Alignments whose worth differs by less are equally good.
  static constexpr double kMargin = 0.1;

 private:
  std::size_t at(std::size_t i, std::size_t j) const { return i * m_ + j; }
  double forward(std::size_t i, std::size_t j) const { return forward_[i * (m_ + 1) + j]; }
  double backward(std::size_t i, std::size_t j) const { return backward_[i * (m_ + 1) + j]; }

  std::size_t n_, m_;
  std::vector<double> similarity_, worth_;  // worth: what a pair adds, 0 if it must not be
  std::vector<double> forward_, backward_;
  std::vector<std::size_t> partner_;
};

}  // namespace flor::carry
