// A source file as a tree: the file has pieces (functions, declarations, directives), a piece has
// blocks, a block has statements, which have blocks again.
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

/// The part between two braces, or a whole file.
struct Block {
  Range inner;  ///< tokens between the braces
  std::vector<std::unique_ptr<Statement>> statements;
  const sources::ForLoop* loop = nullptr;  ///< the flor::loop whose body this is, or null
  Statement* owner = nullptr;              ///< null for the whole file
  std::size_t number = 0;                  ///< index among the blocks of its owner

  /// Whether it is the body of a flor::loop with a literal name.
  bool is_named_loop() const {
    return loop && loop->naming == sources::ForLoop::Naming::literal && !loop->name.empty();
  }
};

/// A statement with its blocks; at the top of the file a function, a declaration or a directive.
struct Statement {
  Range range;
  std::vector<std::size_t> head;  ///< indices of its tokens outside of its blocks
  std::vector<std::unique_ptr<Block>> blocks;
  Block* in = nullptr;
  const sources::Piece* piece = nullptr;  ///< set at the top of the file only
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
  /// The bodies of the flor::loops of this name.
  std::vector<const Block*> loops(std::string_view name) const;

 private:
  std::shared_ptr<const Source> source_;
  std::unique_ptr<Block> root_;
};

/// The function or declaration at the top of the file that contains the argument.
const Statement* piece_of(const Block& block);
const Statement* piece_of(const Statement& statement);
/// Index of a statement in its block.
std::size_t index_of(const Statement& statement);
/// Its name for the user, "Training::step"; empty if it has none.
std::string label_of(const Statement& piece);
/// Names of the flor::loops around the statements of `block`, the innermost last.
std::vector<std::string> loops_around(const Block& block);
/// The directives #if and #else that enclose token `at`, as text, without include guards.
std::string conditions_at(const Source& source, std::size_t at);
/// Whether both ranges have the same tokens in the same order.
bool same_tokens(const Source& a, Range in_a, const Source& b, Range in_b);

}  // namespace flor::carry
