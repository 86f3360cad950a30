#include "carry/position.h"

#include "carry/additions.h"
#include "sources/syntax/logging.h"

#include <fmt/format.h>

#include <algorithm>

namespace flor::carry {
namespace {

// A statement that is this similar counts as the same one, even if the order has changed.
constexpr double kSame = 0.95;

class Finder {
 public:
  Finder(const BlockPlace& place, const OlderBlock& there, const KnownNames& names,
         const std::set<std::string>& used)
      : place_(place),
        there_(there),
        used_(used),
        comparison_(place.source, there.source, names),
        alignment_(place.block, there.block, comparison_) {}

  Position run() {
    const std::vector<std::size_t> candidates = best_places();
    std::size_t chosen = candidates.front();
    if (candidates.size() > 1) {
      const auto closest = closest_of(candidates);
      if (closest.size() == 1) {
        chosen = closest.front();
      } else if (!only_harmless(closest.front(), closest.back())) {
        return none(closest);
      } else {
        chosen = closest.front();
      }
    }
    if (const Statement* moved = crossed(chosen)) {
      Position position;
      position.reason =
          fmt::format("its neighbours stand in another order there: '{}' is on line {}",
                      excerpt(*moved), there_.source.line(moved->range.begin));
      return position;
    }
    return at(chosen);
  }

 private:
  std::vector<std::size_t> best_places() const {
    double best = 0;
    for (std::size_t p = 0; p <= alignment_.size_b(); ++p) {
      best = std::max(best, alignment_.split(place_.index, p));
    }
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p <= alignment_.size_b(); ++p) {
      if (alignment_.split(place_.index, p) >= best - BlockAlignment::kMargin) places.push_back(p);
    }
    return places;
  }

  /// Those of `places` at which most of the hunk's direct neighbours are the same as in the newer
  /// version.
  std::vector<std::size_t> closest_of(const std::vector<std::size_t>& places) const {
    std::vector<std::size_t> closest;
    int most = 0;
    for (const std::size_t p : places) {
      const int neighbours = (alignment_.joined_before(place_.index, p) ? 1 : 0) +
                             (alignment_.joined_after(place_.index, p) ? 1 : 0);
      if (neighbours > most) closest.clear();
      most = std::max(most, neighbours);
      if (neighbours == most) closest.push_back(p);
    }
    return closest;
  }

  const Statement& statement(std::size_t p) const { return *there_.block.statements[p]; }
  std::string excerpt(const Statement& statement) const {
    return there_.source.excerpt(statement.range);
  }

  /// Whether it makes no difference at which place among these statements the hunk is inserted.
  bool only_harmless(std::size_t first, std::size_t last) {
    if (looking_.empty()) {
      const Statement* piece = piece_of(there_.block);
      const auto known =
          sources::identifiers(place_.source.tokens.all, piece_of(place_.block)->range);
      offset_ = piece->range.begin;
      looking_ = sources::only_looking(there_.source.tokens.all, there_.source.structure,
                                       piece->range, known);
    }
    for (std::size_t p = first; p < last; ++p) {
      if (!is_harmless(statement(p))) return false;
    }
    return true;
  }

  bool is_harmless(const Statement& statement) const {
    if (statement.directive) return false;
    const auto& tokens = there_.source.tokens.all;
    bool calls = false;
    for (std::size_t i = statement.range.begin; i < statement.range.end; ++i) {
      if (!looking_[i - offset_]) return false;
      calls = calls || tokens[i].is("(") || tokens[i].is("{");
      // The hunk must not move across the declaration of a name that it uses.
      const bool word = tokens[i].kind == sources::TokenKind::identifier;
      const bool declares =
          i + 1 < statement.range.end &&
          (tokens[i + 1].is("=") || tokens[i + 1].is("{") || tokens[i + 1].is(";"));
      if (word && declares && used_.contains(std::string(tokens[i].text))) return false;
    }
    return !calls || !logged_names(there_.source, statement.range).empty() ||
           !sources::what_is_shown(tokens, statement.range).empty();
  }

  /// A neighbour of the hunk that is on the other side of the chosen place; null if there is none.
  const Statement* crossed(std::size_t chosen) const {
    const std::size_t count = alignment_.size_b();
    if (place_.index > 0 && !alignment_.joined_before(place_.index, chosen)) {
      for (std::size_t p = chosen; p < count; ++p) {
        if (alignment_.similarity(place_.index - 1, p) >= kSame) return &statement(p);
      }
    }
    if (place_.index < alignment_.size_a() && !alignment_.joined_after(place_.index, chosen)) {
      for (std::size_t p = 0; p < chosen; ++p) {
        if (alignment_.similarity(place_.index, p) >= kSame) return &statement(p);
      }
    }
    return nullptr;
  }

  Position none(const std::vector<std::size_t>& places) const {
    Position position;
    const Statement& between = statement(places.front());
    position.reason = fmt::format(
        "it could stand before or behind '{}' (line {}), and it cannot be told which is meant",
        excerpt(between), there_.source.line(between.range.begin));
    return position;
  }

  Position at(std::size_t p) const {
    const auto& statements = there_.block.statements;
    Position position;
    position.found = true;
    position.index = p;
    position.token = p < statements.size() ? statements[p]->range.begin : there_.block.inner.end;
    position.where = p > 0 ? fmt::format("after '{}'", excerpt(*statements[p - 1]))
                     : p < statements.size() ? fmt::format("before '{}'", excerpt(*statements[p]))
                                             : "alone";
    const auto loops = loops_around(there_.block);
    position.where += loops.empty() ? fmt::format(" in {}", label_of(*piece_of(there_.block)))
                                    : fmt::format(" in loop \"{}\"", loops.back());
    return position;
  }

  const BlockPlace& place_;
  const OlderBlock& there_;
  const std::set<std::string>& used_;
  Comparison comparison_;
  BlockAlignment alignment_;
  std::vector<bool> looking_;
  std::size_t offset_ = 0;
};

}  // namespace

Position find_position(const BlockPlace& place, const OlderBlock& there, const KnownNames& names,
                       const std::set<std::string>& used) {
  return Finder(place, there, names, used).run();
}

}  // namespace flor::carry
