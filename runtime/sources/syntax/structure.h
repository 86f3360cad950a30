// The parts of a source file: functions, declarations and directives, which follow each other
// without gaps, and the loops, lambdas and macros inside them. This is a best effort without a
// compiler: ambiguous text is taken to be callable rather than not.
#pragma once

#include "sources/syntax/brackets.h"
#include "sources/syntax/lexer.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

enum class PieceKind { function, declaration, directive };

/// A function definition, a declaration, the head of a class, or a directive outside of these.
struct Piece {
  PieceKind kind = PieceKind::declaration;
  Range range;
  std::string context;                  ///< enclosing namespaces and classes, e.g. "a::B::"
  std::vector<std::string_view> names;  ///< names by which other code refers to it
  std::string_view owner;               ///< class of which it is a member, if any
  /// May be called where its name does not appear: operators, destructors, ...
  bool anywhere = false;
  bool entry = false;      ///< the `main` function of a program
  std::string conditions;  ///< the enclosing preprocessor conditionals

  /// The name with its context for messages, e.g. "Training::step".
  std::string label() const;
};

/// Something callable inside a piece: a lambda, a member of a local class, a macro.
struct Inner {
  Range range;
  std::string_view name;  ///< of the variable that holds a lambda; empty if there is none
  bool anywhere = false;
};

/// A `for`, wrapped by flor::loop or not.
struct ForLoop {
  enum class Naming { none, unnamed, literal, computed };

  Range header;  ///< including its parentheses
  Range range;   ///< from the keyword to the end of its statement
  bool over_range = false;
  Naming naming = Naming::none;  ///< none: the header has no flor::loop
  std::string name;              ///< if `naming` is literal
};

struct ClassFacts {
  std::string_view name;
  bool derived = false;
  Range bases = {};
};

/// The structure of `tokens`. The tokens must outlive it.
struct Structure {
  Brackets brackets;
  std::vector<Piece> pieces;
  std::vector<Inner> inner;
  std::vector<ForLoop> loops;  ///< in the order of their keywords
  std::vector<ClassFacts> classes;
  bool has_main = false;  ///< some piece is the `main` function of a program
};

Structure scan(const std::vector<Token>& tokens);

/// The position after the statement that begins at `at`.
std::size_t statement_end(const std::vector<Token>& tokens, const Brackets& brackets,
                          std::size_t at);

bool is_keyword(std::string_view word);

}  // namespace flor::sources
