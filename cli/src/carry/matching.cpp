#include "carry/matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flor::carry {
namespace {

using sources::TokenKind;

// Minimum similarity of the statement that owns an unnamed block to its counterpart.
constexpr double kSameStatement = 0.6;
// Minimum similarity of two functions with different names.
constexpr double kSameFunction = 0.6;
// Minimum likeness of the heads of two statements from which renamed names are learned.
constexpr double kSameShape = 0.75, kSameShapeOfLoops = 0.5;
// If two files have more pairs of pieces than this, pieces are only matched by name.
constexpr std::size_t kPairsMax = 40'000;

bool is_function(const Statement& piece) {
  return piece.piece && piece.piece->kind == sources::PieceKind::function;
}

bool is_word(const Token& token) {
  return token.kind == TokenKind::identifier && !token.directive &&
         !sources::is_keyword(token.text);
}

std::string path_of(const std::vector<std::string>& loops) {
  return fmt::format("{}", fmt::join(loops, "/"));
}

std::string place(const Tree& tree, const Statement& statement) {
  return fmt::format("{}:{}", tree.source().path, tree.source().line(statement.range.begin));
}

}  // namespace

Matching::Matching(const std::vector<Tree>& newer, const std::vector<Tree>& older,
                   std::vector<std::vector<Range>> ignored)
    : newer_(newer), older_(older), ignored_(std::move(ignored)) {
  ignored_.resize(newer.size());
  for (std::size_t file = 0; file < newer.size(); ++file) {
    words_.merge(words_of(file, newer[file].root().inner));
  }
  for (const Tree& tree : older) {
    for (const Token& token : tree.tokens()) {
      if (is_word(token)) words_there_.insert(token.text);
    }
  }
  // A second round: names learned in the first make more statements similar, which gives more
  // names.
  for (int round = 0; round < 2; ++round) {
    found_.clear();
    gathered_.clear();
    evidence_.clear();
    everywhere_ = {};
    gather();
    names_.clear();
    for (const auto& [function, evidence] : evidence_) {
      for (const auto& [name, others] : evidence.votes) {
        if (const auto other = renamed(evidence, name)) names_[function][name] = *other;
      }
    }
  }
  found_.clear();
}

bool Matching::is_ignored(std::size_t file, std::size_t token) const {
  return std::ranges::any_of(ignored_[file], [&](Range range) { return range.holds(token); });
}

std::set<std::string_view> Matching::words_of(std::size_t file, Range range) const {
  std::set<std::string_view> words;
  const auto& tokens = newer_[file].tokens();
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (is_word(tokens[i]) && !is_ignored(file, i)) words.insert(tokens[i].text);
  }
  return words;
}

Comparison Matching::comparison(std::size_t file, const Statement* function,
                                std::size_t there) const {
  const auto names = names_.find(function);
  return {newer_[file].source(), older_[there].source(),
          names == names_.end() ? KnownNames{} : names->second};
}

KnownNames Matching::names_in(const Statement& function) const {
  const auto names = names_.find(&function);
  return names == names_.end() ? KnownNames{} : names->second;
}

Matching::FunctionMatch Matching::find_function(std::size_t file, const Statement& function) {
  const std::string label = label_of(function);
  std::vector<FunctionMatch> candidates;
  for (std::size_t there = 0; there < older_.size(); ++there) {
    for (const auto& piece : older_[there].root().statements) {
      if (!is_function(*piece) || label.empty() || label_of(*piece) != label) continue;
      candidates.push_back({piece.get(), there, {}, {}});
    }
  }
  const auto narrow = [&](auto keep) {
    if (candidates.size() < 2 || std::ranges::none_of(candidates, keep)) return;
    std::erase_if(candidates, [&](const FunctionMatch& m) { return !keep(m); });
  };
  const std::string& path = newer_[file].source().path;
  narrow([&](const FunctionMatch& m) { return older_[m.file].source().path == path; });
  narrow([&](const FunctionMatch& m) {
    return comparison(file, &function, m.file).likeness(function, *m.function) > 0.95;
  });
  if (candidates.size() == 1) {
    FunctionMatch match = std::move(candidates.front());
    if (older_[match.file].source().path != path) {
      match.remarks.push_back(
          fmt::format("{} stands in {}", label, older_[match.file].source().path));
    }
    return match;
  }
  if (candidates.empty()) return renamed_function(file, function);
  FunctionMatch none;
  none.reason = fmt::format("there are {} functions '{}' ({} and {})", candidates.size(), label,
                            place(older_[candidates[0].file], *candidates[0].function),
                            place(older_[candidates[1].file], *candidates[1].function));
  return none;
}

Matching::FunctionMatch Matching::renamed_function(std::size_t file, const Statement& function) {
  std::set<std::string> known;
  for (const Tree& tree : newer_) {
    for (const auto& piece : tree.root().statements) {
      if (is_function(*piece)) known.insert(label_of(*piece));
    }
  }
  FunctionMatch best;
  double first = 0, second = 0;
  for (std::size_t there = 0; there < older_.size(); ++there) {
    const Comparison compare = comparison(file, &function, there);
    for (const auto& piece : older_[there].root().statements) {
      if (!is_function(*piece) || known.contains(label_of(*piece))) continue;
      const double value = compare.similarity(function, *piece);
      if (value > first) {
        second = std::exchange(first, value);
        best = {piece.get(), there, {}, {}};
      } else {
        second = std::max(second, value);
      }
    }
  }
  if (first >= kSameFunction && first - second > BlockAlignment::kMargin) {
    best.remarks.push_back(
        fmt::format("{} is called {}", label_of(function), label_of(*best.function)));
    return best;
  }
  FunctionMatch none;
  none.reason =
      fmt::format("there is no function '{}'{}", label_of(function),
                  best.function && first >= kSameFunction ? ", and more than one is like it" : "");
  return none;
}

/// Finds the loop of the same name, anywhere in the older version.
std::optional<BlockMatch> Matching::find_loop(std::size_t file, const Block& block) {
  const std::string& name = block.loop->name;
  std::vector<BlockMatch> candidates;
  for (std::size_t there = 0; there < older_.size(); ++there) {
    for (const Block* loop : older_[there].loops(name)) candidates.push_back({loop, there, {}, {}});
  }
  if (candidates.empty()) return std::nullopt;
  const auto narrow = [&](auto keep) {
    if (candidates.size() < 2 || std::ranges::none_of(candidates, keep)) return;
    std::erase_if(candidates, [&](const BlockMatch& m) { return !keep(m); });
  };
  const std::string& path = newer_[file].source().path;
  const std::string label = label_of(*piece_of(block));
  const auto around = loops_around(block);
  narrow([&](const BlockMatch& m) { return older_[m.file].source().path == path; });
  narrow([&](const BlockMatch& m) { return label_of(*piece_of(*m.block)) == label; });
  narrow([&](const BlockMatch& m) { return loops_around(*m.block) == around; });
  if (candidates.size() > 1) {
    // Several loops have this name, so the surrounding statements must tell which one it is.
    const BlockMatch inside = find_inside(file, block);
    narrow([&](const BlockMatch& m) { return m.block == inside.block; });
    if (candidates.size() == 1) return candidates.front();
    BlockMatch none;
    none.reason = fmt::format("there are {} loops \"{}\" ({} and {})", candidates.size(), name,
                              place(older_[candidates[0].file], *candidates[0].block->owner),
                              place(older_[candidates[1].file], *candidates[1].block->owner));
    return none;
  }
  BlockMatch match = candidates.front();
  const std::string label_there = label_of(*piece_of(*match.block));
  if (label_there != label || older_[match.file].source().path != path) {
    match.remarks.push_back(fmt::format("the loop \"{}\" stands in {} ({})", name, label_there,
                                        place(older_[match.file], *match.block->owner)));
  } else if (loops_around(*match.block) != around) {
    match.remarks.push_back(fmt::format("the loop \"{}\" is {} there, not {}", name,
                                        path_of(loops_around(*match.block)), path_of(around)));
  }
  return match;
}

BlockMatch Matching::find(std::size_t file, const Block& block) {
  const auto known = found_.find(&block);
  if (known != found_.end()) return known->second;
  return found_[&block] = find_uncached(file, block);
}

BlockMatch Matching::find_uncached(std::size_t file, const Block& block) {
  BlockMatch none;
  none.reason = "it stands in no function";
  if (!block.owner) return none;
  if (!block.is_named_loop()) return find_inside(file, block);
  if (auto match = find_loop(file, block)) return *match;
  BlockMatch match = find_inside(file, block);
  if (match.block) return match;
  const std::string lacks = fmt::format("there is no loop \"{}\"", block.loop->name);
  const bool around = match.reason.starts_with("there is no loop");
  match.reason = around ? lacks : fmt::format("{}, and {}", lacks, match.reason);
  return match;
}

/// Finds the counterpart of a block by its function, or by the statement that owns it and that
/// statement's neighbours.
BlockMatch Matching::find_inside(std::size_t file, const Block& block) {
  BlockMatch match;
  const Statement& owner = *block.owner;
  const Statement* partner = nullptr;
  if (!owner.in->owner) {
    const FunctionMatch function = find_function(file, owner);
    match = {nullptr, function.file, function.remarks, function.reason};
    if (!function.function) return match;
    partner = function.function;
  } else {
    const BlockMatch outer = find(file, *owner.in);
    if (!outer.block) return outer;
    match = {nullptr, outer.file, outer.remarks, {}};
    const Comparison compare = comparison(file, piece_of(owner), outer.file);
    const BlockAlignment alignment(*owner.in, *outer.block, compare);
    const std::size_t i = index_of(owner), j = alignment.partner(i);
    const bool found = j != BlockAlignment::kNone && alignment.similarity(i, j) >= kSameStatement &&
                       alignment.is_clear(i);
    if (!found) {
      match.reason = fmt::format(
          "there is nothing like '{}' ({}) around it",
          newer_[file].source().excerpt({owner.head.front(), owner.head.front() + 12}, 48),
          place(newer_[file], owner));
      return match;
    }
    partner = outer.block->statements[j].get();
  }
  if (partner->blocks.size() != owner.blocks.size()) {
    match.reason = fmt::format("'{}' is built in another way ({})",
                               older_[match.file].source().excerpt(partner->range),
                               place(older_[match.file], *partner));
    return match;
  }
  const Block& there = *partner->blocks[block.number];
  if (block.loop && !there.loop) {
    match.reason = fmt::format("'{}' is no flor::loop ({})",
                               older_[match.file].source().excerpt(partner->range),
                               place(older_[match.file], *partner));
    return match;
  }
  if (block.is_named_loop() && there.is_named_loop() && there.loop->name != block.loop->name) {
    for (const Tree& tree : newer_) {
      if (tree.loops(there.loop->name).empty()) continue;
      match.reason = fmt::format("there is no loop \"{}\"", block.loop->name);
      return match;
    }
    match.remarks.push_back(
        fmt::format("the loop \"{}\" is called \"{}\"", block.loop->name, there.loop->name));
  }
  match.block = &there;
  return match;
}

void Matching::gather() {
  for (std::size_t file = 0; file < newer_.size(); ++file) {
    const Block& root = newer_[file].root();
    for (const auto& piece : root.statements) {
      if (!is_function(*piece)) continue;
      const FunctionMatch match = find_function(file, *piece);
      if (!match.function) continue;
      const Comparison compare = comparison(file, piece.get(), match.file);
      gather_heads(file, *piece, match.file, *match.function, compare);
      const std::size_t count = std::min(piece->blocks.size(), match.function->blocks.size());
      for (std::size_t k = 0; k < count; ++k) {
        gather_blocks(file, *piece->blocks[k], match.file, *match.function->blocks[k]);
      }
    }
    for (const Block* block : newer_[file].blocks()) {
      if (!block->is_named_loop() || gathered_.contains(block)) continue;
      const BlockMatch match = find(file, *block);
      if (!match.block) continue;
      const Comparison compare = comparison(file, piece_of(*block), match.file);
      gather_heads(file, *block->owner, match.file, *match.block->owner, compare);
      gather_blocks(file, *block, match.file, *match.block);
    }
    for (std::size_t there = 0; there < older_.size(); ++there) {
      const Block& other = older_[there].root();
      if (older_[there].source().path != newer_[file].source().path ||
          root.statements.size() * other.statements.size() > kPairsMax) {
        continue;
      }
      const Comparison compare = comparison(file, nullptr, there);
      const BlockAlignment alignment(root, other, compare);
      for (std::size_t i = 0; i < root.statements.size(); ++i) {
        const std::size_t j = alignment.partner(i);
        if (j == BlockAlignment::kNone || is_function(*root.statements[i])) continue;
        gather_heads(file, *root.statements[i], there, *other.statements[j], compare);
      }
    }
  }
}

void Matching::gather_blocks(std::size_t file, const Block& a, std::size_t file_there,
                             const Block& b) {
  if (!gathered_.insert(&a).second) return;
  const Comparison compare = comparison(file, piece_of(a), file_there);
  const BlockAlignment alignment(a, b, compare);
  for (std::size_t i = 0; i < a.statements.size(); ++i) {
    const std::size_t j = alignment.partner(i);
    if (j == BlockAlignment::kNone) continue;
    const Statement &mine = *a.statements[i], &other = *b.statements[j];
    gather_heads(file, mine, file_there, other, compare);
    const std::size_t count = std::min(mine.blocks.size(), other.blocks.size());
    for (std::size_t k = 0; k < count; ++k) {
      // A named loop corresponds only to a loop of the same name.
      const Block &inner = *mine.blocks[k], &there = *other.blocks[k];
      if (inner.is_named_loop() && there.is_named_loop() && inner.loop->name != there.loop->name) {
        continue;
      }
      gather_blocks(file, inner, file_there, there);
    }
  }
}

void Matching::gather_heads(std::size_t file, const Statement& a, std::size_t file_there,
                            const Statement& b, const Comparison& compare) {
  if (a.directive || b.directive) return;
  const auto is_loop = [](const Statement& s) {
    return std::ranges::any_of(s.blocks, [](const auto& block) { return block->loop != nullptr; });
  };
  const double needed = is_loop(a) && is_loop(b) ? kSameShapeOfLoops : kSameShape;
  if (!is_function(a) && compare.likeness(a, b) < needed) return;
  const auto &tokens = newer_[file].tokens(), &there = older_[file_there].tokens();
  const Statement* function = piece_of(a);
  const Statement* function_there = piece_of(b);
  Evidence& evidence = evidence_[function];
  const auto first_in = [](const std::vector<Token>& all, const Statement& piece, std::size_t at) {
    for (std::size_t i = piece.range.begin; i < at; ++i) {
      if (all[i].text == all[at].text && is_word(all[i])) return false;
    }
    return true;
  };
  for (const TokenPair pair : align_tokens(tokens, a.head, there, b.head, compare.names())) {
    const Token &mine = tokens[pair.a], &other = there[pair.b];
    if (!is_word(mine) || !is_word(other)) continue;
    ++evidence.votes[mine.text][other.text];
    ++everywhere_.votes[mine.text][other.text];
    if (first_in(tokens, *function, pair.a) && first_in(there, *function_there, pair.b)) {
      evidence.declared.try_emplace(mine.text, other.text);
      everywhere_.declared.try_emplace(mine.text, other.text);
    }
  }
}

/// The other name, if all evidence in both directions agrees on a single one.
std::optional<std::string_view> Matching::renamed(const Evidence& evidence,
                                                  std::string_view name) const {
  const auto votes = evidence.votes.find(name);
  if (votes == evidence.votes.end() || votes->second.size() != 1) return std::nullopt;
  const auto& [other, count] = *votes->second.begin();
  if (other == name) return std::nullopt;
  for (const auto& [rival, names] : evidence.votes) {
    if (rival != name && names.contains(other)) return std::nullopt;
  }
  const auto declared = evidence.declared.find(name);
  const bool seen = declared != evidence.declared.end() && declared->second == other;
  return count >= 2 || seen ? std::optional(other) : std::nullopt;
}

NameMatch Matching::name(std::size_t file, const Statement& function, std::string_view name,
                         std::size_t file_there, const Statement& there) const {
  const auto words = words_of(file, function.range);
  std::set<std::string_view> words_there;
  for (std::size_t i = there.range.begin; i < there.range.end; ++i) {
    const Token& token = older_[file_there].tokens()[i];
    if (is_word(token)) words_there.insert(token.text);
  }
  const auto known = evidence_.find(&function);
  const bool local = known != evidence_.end() && known->second.votes.contains(name);
  const Evidence& evidence = local ? known->second : everywhere_;
  const auto votes = evidence.votes.find(name);
  const auto ambiguous = [&](std::string_view other) {
    return NameMatch{NameMatch::Kind::ambiguous, std::string(name),
                     fmt::format("'{}' may be '{}' there, and may not", name, other)};
  };
  if (votes == evidence.votes.end()) {
    const bool there_too = words_there_.contains(name);
    return {there_too ? NameMatch::Kind::same : NameMatch::Kind::missing, std::string(name), {}};
  }
  const auto own = votes->second.find(name);
  const int kept = own == votes->second.end() ? 0 : own->second;
  std::string_view other;
  int most = 0, sum = 0;
  for (const auto& [candidate, count] : votes->second) {
    if (candidate == name) continue;
    sum += count;
    if (count > most) other = candidate;
    most = std::max(most, count);
  }
  if (sum == 0) return {NameMatch::Kind::same, std::string(name), {}};
  if (kept > 0) {
    const auto declared = evidence.declared.find(name);
    const bool declared_same = declared != evidence.declared.end() && declared->second == name;
    if (kept > sum && (declared_same || kept > 2 * sum)) {
      return {NameMatch::Kind::same, std::string(name), {}};
    }
    return ambiguous(other);
  }
  // Neither name may be used for something else: the new one here, or the old one there.
  const bool fresh = local ? !words.contains(other) && !words_there.contains(name)
                           : !words_.contains(other) && !words_there_.contains(name);
  const auto sure = renamed(evidence, name);
  if (!sure || !fresh) return ambiguous(other);
  return {NameMatch::Kind::renamed, std::string(*sure), {}};
}

}  // namespace flor::carry
