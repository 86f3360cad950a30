// Distinguishes statements that only look at the computation (log, print, and variables made for
// that) from statements that are part of it.
#pragma once

#include "sources/syntax/structure.h"

#include <set>
#include <string_view>
#include <vector>

namespace flor::sources {

using Words = std::set<std::string_view>;

/// The identifiers among the tokens of `range`.
Words identifiers(const std::vector<Token>& tokens, Range range);

/// Which variables count as made by a statement for itself.
enum class Own {
  new_names,     ///< those whose names the other version does not have
  block_locals,  ///< and those declared in its own blocks and headers; only for text that one
                 ///< version has and the other lacks
};

/// For each token of `piece`, tells whether it belongs to a statement that computes nothing which
/// the other version of the piece could see. `known` are the identifiers of that version. If
/// `flor::log("name", value)` stands inside an expression, the result is true for all its tokens
/// but those of the value.
std::vector<bool> only_looking(const std::vector<Token>& tokens, const Structure& structure,
                               Range piece, const Words& known, Own own = Own::new_names);

/// Whether the function of that name belongs to the standard library and only prints.
bool is_print(std::string_view function);

/// The effect that the tokens show: `logs "name"` or `prints`; empty if they do neither.
std::string what_is_shown(const std::vector<Token>& tokens, Range range);

}  // namespace flor::sources
