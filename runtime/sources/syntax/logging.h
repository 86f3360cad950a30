// Distinguishes statements that only look at the computation (log, print, and the variables made
// for that) from those that are part of it.
#pragma once

#include "sources/syntax/structure.h"

#include <set>
#include <string_view>
#include <vector>

namespace flor::sources {

using Words = std::set<std::string_view>;

/// The identifiers among the tokens of `range`.
Words identifiers(const std::vector<Token>& tokens, Range range);

/// The variables that count as a statement's own.
enum class Own {
  new_names,     ///< names that the other version does not have
  block_locals,  ///< and those declared in its own blocks and headers; only for text that one
                 ///< version has and the other lacks
};

/// For each token of `piece`: whether it belongs to a statement that computes nothing which
/// `known`, the identifiers of the other version of this piece, could see. In `flor::log("name",
/// value)` within an expression this is all but the value.
std::vector<bool> only_looking(const std::vector<Token>& tokens, const Structure& structure,
                               Range piece, const Words& known, Own own = Own::new_names);

/// Functions of the library that only print.
bool is_print(std::string_view function);

/// `logs "name"`, `prints`; empty if the tokens do neither.
std::string what_is_shown(const std::vector<Token>& tokens, Range range);

}  // namespace flor::sources
