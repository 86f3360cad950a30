#include "sources/syntax/spelling.h"

#include "sources/syntax/statements.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace flor::sources {
namespace {

const Token kOpenBrace{.text = "{"}, kCloseBrace{.text = "}"};

/// Whether the word is in capitals, as names of macros are: CHECK(...).
bool is_loud(std::string_view word) {
  return word.size() > 1 && std::ranges::none_of(word, [](unsigned char c) {
    return std::islower(c) != 0;
  });
}

bool may_expand(const std::vector<Token>& tokens, Range range, const Words& macros) {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (tokens[k].kind != TokenKind::identifier) continue;
    if (macros.contains(tokens[k].text)) return true;
    const bool called = k + 1 < range.end && tokens[k + 1].is("(");
    if ((called || k == range.begin) && is_loud(tokens[k].text)) return true;
  }
  return false;
}

/// The last token before `at` that belongs to no directive.
std::size_t code_before(const std::vector<Token>& tokens, std::size_t at, std::size_t begin) {
  while (at > begin + 1 && tokens[at - 1].directive) --at;
  return at - 1;
}

}  // namespace

Range Spelling::in_file(Range range, Range piece) const {
  if (range.empty()) {
    // Directly after the token before it, where the tokens were removed.
    const std::size_t begin = range.begin > 0        ? at[range.begin - 1].end
                              : at.empty()           ? piece.end
                                                     : at[range.begin].begin;
    return {begin, begin};
  }
  return {at[range.begin].begin, at[range.end - 1].end};
}

Spelling spell(const PieceOfSource& piece, const Words& macros, const std::vector<bool>* without) {
  const std::vector<Token>& tokens = piece.source->tokens.all;
  const Range range = piece.range;
  const auto is_out = [&](std::size_t at) { return without && (*without)[at - range.begin]; };
  std::map<std::size_t, int> opened, closed;
  for (const Range body : bare_bodies(tokens, piece.source->structure.brackets, range)) {
    if (is_out(code_before(tokens, body.begin, range.begin))) continue;
    if (may_expand(tokens, body, macros)) continue;
    ++opened[body.begin];
    ++closed[body.end];
  }
  Spelling spelling;
  const auto brace = [&](const std::map<std::size_t, int>& where, std::size_t at,
                         const Token& token) {
    const auto found = where.find(at);
    for (int i = found == where.end() ? 0 : found->second; i > 0; --i) {
      spelling.tokens.push_back(&token);
      spelling.at.push_back({at - 1, at});
    }
  };
  for (std::size_t i = range.begin; i < range.end; ++i) {
    brace(closed, i, kCloseBrace);
    brace(opened, i, kOpenBrace);
    if (is_out(i)) continue;
    spelling.tokens.push_back(&tokens[i]);
    spelling.at.push_back({i, i + 1});
  }
  brace(closed, range.end, kCloseBrace);
  return spelling;
}

void add_macros_of(const Source& source, Words& macros) {
  for (const Inner& inner : source.structure.inner) {
    if (source.tokens.all[inner.range.begin].starts_directive) macros.insert(inner.name);
  }
}

}  // namespace flor::sources
