#include "carry/tree.h"

#include <algorithm>
#include <map>

namespace flor::carry {
namespace {

using sources::Brackets;

// Deeper than any author nests blocks; tokens of a deeper block belong to its statement.
constexpr int kDepthMax = 100;

class Builder {
 public:
  explicit Builder(const Source& source)
      : source_(source), tokens_(source.tokens.all), brackets_(source.structure.brackets) {
    for (const sources::ForLoop& loop : source.structure.loops) {
      if (loop.naming != sources::ForLoop::Naming::none) bodies_[loop.header.end] = &loop;
    }
  }

  std::unique_ptr<Block> run() {
    auto root = std::make_unique<Block>();
    root->inner = {0, tokens_.size()};
    for (const sources::Piece& piece : source_.structure.pieces) {
      Statement& statement = add(*root, piece.range, 0);
      statement.piece = &piece;
      statement.directive = piece.kind == sources::PieceKind::directive;
    }
    return root;
  }

 private:
  Statement& add(Block& block, Range range, int depth) {
    Statement& statement = *block.statements.emplace_back(std::make_unique<Statement>());
    statement.range = range;
    statement.in = &block;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      statement.head.push_back(i);
      if (depth < kDepthMax && is_block(i, range.end)) {
        add_block(statement, i, depth);
        i = brackets_.partner[i];
        statement.head.push_back(i);
      }
    }
    return statement;
  }

  bool is_block(std::size_t open, std::size_t end) const {
    const std::size_t close = brackets_.partner[open];
    if (!tokens_[open].is("{") || tokens_[open].directive || close == Brackets::kNone ||
        close <= open || close >= end) {
      return false;
    }
    for (std::size_t i = open + 1; i < close; ++i) {
      if (tokens_[i].is(";") && !tokens_[i].directive) return true;
    }
    if (open == 0) return false;
    const Token& before = tokens_[open - 1];
    return before.is(")") || before.is("else") || before.is("do") || before.is("try");
  }

  void add_block(Statement& statement, std::size_t open, int depth) {
    auto block = std::make_unique<Block>();
    block->inner = {open + 1, brackets_.partner[open]};
    block->owner = &statement;
    block->number = statement.blocks.size();
    if (const auto loop = bodies_.find(open); loop != bodies_.end()) block->loop = loop->second;
    for (std::size_t i = block->inner.begin; i < block->inner.end;) {
      const bool directive = tokens_[i].directive;
      std::size_t end = directive ? sources::directive_end(tokens_, i)
                                  : sources::statement_end(tokens_, brackets_, i);
      end = std::min(std::max(end, i + 1), block->inner.end);
      add(*block, {i, end}, depth + 1).directive = directive;
      i = end;
    }
    statement.blocks.push_back(std::move(block));
  }

  const Source& source_;
  const std::vector<Token>& tokens_;
  const Brackets& brackets_;
  std::map<std::size_t, const sources::ForLoop*> bodies_;  // by the opening brace
};

void collect(const Block& block, std::vector<const Block*>& out) {
  out.push_back(&block);
  for (const auto& statement : block.statements) {
    for (const auto& inner : statement->blocks) collect(*inner, out);
  }
}

}  // namespace

Tree::Tree(std::shared_ptr<const Source> source)
    : source_(std::move(source)), root_(Builder(*source_).run()) {}

std::vector<const Block*> Tree::blocks() const {
  std::vector<const Block*> all;
  collect(*root_, all);
  return all;
}

std::vector<const Block*> Tree::loops(std::string_view name) const {
  std::vector<const Block*> found = blocks();
  std::erase_if(found, [&](const Block* block) {
    return !block->is_named_loop() || block->loop->name != name;
  });
  return found;
}

const Statement* piece_of(const Block& block) {
  const Statement* owner = block.owner;
  while (owner && owner->in->owner) owner = owner->in->owner;
  return owner;
}

const Statement* piece_of(const Statement& statement) {
  return statement.in->owner ? piece_of(*statement.in) : &statement;
}

std::size_t index_of(const Statement& statement) {
  const auto& all = statement.in->statements;
  return static_cast<std::size_t>(
      std::ranges::find(all, &statement, [](const auto& s) { return s.get(); }) - all.begin());
}

std::string label_of(const Statement& piece) {
  return piece.piece ? piece.piece->label() : std::string();
}

std::vector<std::string> loops_around(const Block& block) {
  std::vector<std::string> names;
  for (const Block* at = &block; at; at = at->owner ? at->owner->in : nullptr) {
    if (at->loop) names.push_back(at->is_named_loop() ? at->loop->name : "loop");
  }
  std::ranges::reverse(names);
  return names;
}

std::string conditions_at(const Source& source, std::size_t at) {
  const auto& tokens = source.tokens.all;
  std::string text;
  for (const sources::Conditional& conditional : source.structure.brackets.conditionals) {
    const std::size_t begin = conditional.branches.front();
    const bool guard = begin == 0 && conditional.end == tokens.size();
    if (guard || at <= begin || at >= conditional.end) continue;
    for (const std::size_t branch : conditional.branches) {
      if (branch >= at) break;
      for (std::size_t i = branch; i < sources::directive_end(tokens, branch); ++i) {
        text += std::string(tokens[i].text) + ' ';
      }
    }
  }
  return text;
}

bool same_tokens(const Source& a, Range in_a, const Source& b, Range in_b) {
  if (in_a.end - in_a.begin != in_b.end - in_b.begin) return false;
  for (std::size_t i = 0; i < in_a.end - in_a.begin; ++i) {
    if (!sources::same(a.tokens.all[in_a.begin + i], b.tokens.all[in_b.begin + i])) return false;
  }
  return true;
}

}  // namespace flor::carry
