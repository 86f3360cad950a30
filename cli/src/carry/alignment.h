// Pairs the statements of two blocks by the similarity of their tokens, keeping the order.
#pragma once

#include "carry/tree.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace flor::carry {

/// Names of one version that are spelled differently in the other version; may be empty.
using KnownNames = std::map<std::string_view, std::string_view>;

/// Two tokens that correspond to each other, as indices into the tokens of their files.
struct TokenPair {
  std::size_t a = 0, b = 0;
};

/// Aligns two sequences of tokens, given as indices `a` and `b`, and returns the pairs: equal
/// tokens, and names, numbers and literals of which one replaced the other.
std::vector<TokenPair> align_tokens(const std::vector<Token>& tokens_a,
                                    const std::vector<std::size_t>& a,
                                    const std::vector<Token>& tokens_b,
                                    const std::vector<std::size_t>& b, const KnownNames& names);

/// Compares statements of two versions of the sources.
class Comparison {
 public:
  Comparison(const Source& a, const Source& b, KnownNames names)
      : a_(a), b_(b), names_(std::move(names)) {}

  /// From 0 (nothing in common) to 1 (the same tokens).
  double similarity(const Statement& a, const Statement& b) const;
  /// The similarity of the statements' heads (their tokens outside of blocks) if all names are
  /// treated as equal.
  double likeness(const Statement& a, const Statement& b) const;
  const KnownNames& names() const { return names_; }
  const Source& a() const { return a_; }
  const Source& b() const { return b_; }

 private:
  double heads(const Statement& a, const Statement& b, bool names_count) const;
  /// The similarity of the statements' blocks; nullopt if all of them are empty.
  std::optional<double> insides(const Statement& a, const Statement& b) const;

  const Source& a_;
  const Source& b_;
  KnownNames names_;
};

/// Finds the best alignment of the statements of block `a` with those of block `b` that keeps their
/// order. A pair is worth more the more similar and the longer its statements are.
class BlockAlignment {
 public:
  BlockAlignment(const Block& a, const Block& b, const Comparison& comparison);

  /// Index in `b` of the partner of statement `i` of `a` in the best alignment, or kNone.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t partner(std::size_t i) const { return partner_[i]; }
  double similarity(std::size_t i, std::size_t j) const { return similarity_[at(i, j)]; }
  /// Whether statement `i` has a partner, and pairing it with any other statement would be worse by
  /// at least kMargin.
  bool is_clear(std::size_t i) const;

  /// The worth of the best alignment that pairs the statements of `a` before `i` with those of `b`
  /// before `p`, and the other statements with each other.
  double split(std::size_t i, std::size_t p) const { return forward(i, p) + backward(i, p); }
  /// Whether that alignment pairs the statements directly before (or directly after) the split, or
  /// the split is at the beginning (or end) of both blocks.
  bool joined_before(std::size_t i, std::size_t p) const;
  bool joined_after(std::size_t i, std::size_t p) const;

  std::size_t size_a() const { return n_; }
  std::size_t size_b() const { return m_; }

  /// Alignments whose worth differs by less than this count as equally good.
  static constexpr double kMargin = 0.1;

 private:
  std::size_t at(std::size_t i, std::size_t j) const { return i * m_ + j; }
  double forward(std::size_t i, std::size_t j) const { return forward_[i * (m_ + 1) + j]; }
  double backward(std::size_t i, std::size_t j) const { return backward_[i * (m_ + 1) + j]; }

  std::size_t n_, m_;
  std::vector<double> similarity_, worth_;  // worth_: what a pair adds to the sum; 0: the pair is
                                            // not allowed
  std::vector<double> forward_, backward_;
  std::vector<std::size_t> partner_;
};

}  // namespace flor::carry
