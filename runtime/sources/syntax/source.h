// A source file together with its tokens and structure.
#pragma once

#include "sources/syntax/lexer.h"
#include "sources/syntax/structure.h"

#include <memory>
#include <string>
#include <utility>

namespace flor::sources {

/// One source file. Cannot be moved, since tokens and structure refer to the text.
struct Source {
  Source(std::string own_path, std::string own_text)
      : path(std::move(own_path)),
        text(std::move(own_text)),
        tokens(lex(text)),
        structure(scan(tokens.all)) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// The line of the token at `at`; if there is none, of the last token.
  std::uint32_t line(std::size_t at) const {
    if (tokens.all.empty()) return 1;
    return at < tokens.all.size() ? tokens.all[at].line : tokens.all.back().line;
  }
  /// The text of `range` in one line, cut to about `length` characters.
  std::string excerpt(Range range, std::size_t length = 40) const;

  std::string path;  ///< relative to the repository
  std::string text;
  Tokens tokens;
  Structure structure;
};

using SourcePointer = std::unique_ptr<const Source>;

}  // namespace flor::sources
