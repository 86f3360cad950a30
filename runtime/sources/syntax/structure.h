// The parts of a source file: functions, declarations and directives, which follow each other
// without gaps, and the loops, lambdas and macros inside of them. A best effort without a compiler:
// where the text is ambiguous, more is taken to be callable, never less.
#pragma once

#include "sources/syntax/brackets.h"
#include "sources/syntax/lexer.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

enum class PieceKind { function, declaration, directive };

/// A function definition, a declaration, the head of a class, or a directive outside of those.
struct Piece {
  PieceKind kind = PieceKind::declaration;
  Range range;
  std::string context;                  ///< namespaces and classes around it, "a::B::"
  std::vector<std::string_view> names;  ///< by which other code refers to it
  std::string_view owner;               ///< class whose member it is, if any
  bool anywhere = false;   ///< may be called where its name is not: operators, destructors, ...
  bool entry = false;      ///< the `main` that a program begins with
  std::string conditions;  ///< the preprocessor conditionals around it

  /// "Training::step", for messages.
  std::string label() const;
};

/// Something callable that is part of a piece: a lambda, a member of a local class, a macro.
struct Inner {
  Range range;
  std::string_view name;  ///< of the variable that holds a lambda; empty if there is none
  bool anywhere = false;
};

/// A `for`, wrapped by flor::loop or not.
struct ForLoop {
  enum class Naming { none, unnamed, literal, computed };

  Range header;  ///< with its parentheses
  Range range;   ///< from the keyword to the end of its statement
  bool over_range = false;
  Naming naming = Naming::none;  ///< none: no flor::loop is to be seen in the header
  std::string name;              ///< if it is a literal
};

struct ClassFacts {
  std::string_view name;
  bool derived = false;
  Range bases = {};
};

/// The structure of `tokens`, which must outlive it.
struct Structure {
  Brackets brackets;
  std::vector<Piece> pieces;
  std::vector<Inner> inner;
  std::vector<ForLoop> loops;  ///< in the order of their keywords
  std::vector<ClassFacts> classes;
  bool has_main = false;  ///< the one that a program begins with
};

Structure scan(const std::vector<Token>& tokens);

/// Position after the statement that begins at `at`.
std::size_t statement_end(const std::vector<Token>& tokens, const Brackets& brackets,
                          std::size_t at);

bool is_keyword(std::string_view word);

}  // namespace flor::sources
