// A source file as a tree: the pieces of the file, the statements of their blocks, and so on
// inwards.
#pragma once

#include "sources/syntax/source.h"

#include <memory>
#include <string>
#include <vector>

namespace flor::carry {

using sources::Range;
using sources::Source;
using sources::Token;

struct Statement;

/// The part between two braces, or the whole file.
struct Block {
  Range inner;  ///< tokens, without the braces
  std::vector<std::unique_ptr<Statement>> statements;
  const sources::ForLoop* loop = nullptr;  ///< the flor::loop whose body it is
  Statement* owner = nullptr;              ///< null: the file
  std::size_t number = 0;                  ///< among the blocks of its owner

  /// Whether it is the body of a flor::loop with a literal name.
  bool is_named_loop() const {
    return loop && loop->naming == sources::ForLoop::Naming::literal && !loop->name.empty();
  }
};

/// A statement with the blocks in it; at the top a function, a declaration or a directive.
struct Statement {
  Range range;
  std::vector<std::size_t> head;  ///< its tokens outside of its blocks
  std::vector<std::unique_ptr<Block>> blocks;
  Block* in = nullptr;
  const sources::Piece* piece = nullptr;  ///< at the top of the file
  bool directive = false;
};

class Tree {
 public:
  explicit Tree(std::shared_ptr<const Source> source);
  Tree(Tree&&) = default;

  const Source& source() const { return *source_; }
  const std::vector<Token>& tokens() const { return source_->tokens.all; }
  Block& root() { return *root_; }
  const Block& root() const { return *root_; }

  /// Every block, outer ones first.
  std::vector<const Block*> blocks() const;
  /// The bodies of flor::loops of that name.
  std::vector<const Block*> loops(std::string_view name) const;

 private:
  std::shared_ptr<const Source> source_;
  std::unique_ptr<Block> root_;
};

/// The function or declaration of the file that holds it.
const Statement* piece_of(const Block& block);
const Statement* piece_of(const Statement& statement);
/// Index of a statement among those of its block.
std::size_t index_of(const Statement& statement);
/// "Training::step"; empty for what has no name.
std::string label_of(const Statement& piece);
/// Names of the flor::loops around the statements of `block`, the innermost last.
std::vector<std::string> loops_around(const Block& block);
/// The directives #if and #else that the token at `at` depends on, as text; without include guards.
std::string conditions_at(const Source& source, std::size_t at);
/// Whether both ranges have the same tokens in the same order.
bool same_tokens(const Source& a, Range in_a, const Source& b, Range in_b);

}  // namespace flor::carry
