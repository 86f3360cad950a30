// Recorded recipes as CMake gets them: names, types and values that can be nothing but that. A recipe
// is text that a catalog had, so that none of it is put into a file that CMake reads before it has
// been looked at.
#pragma once

#include "protocol/build_recipe.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The text as an argument that CMake takes word for word: between brackets of a length that does
/// not occur in it. Not of text with newlines, of which CMake drops the first.
std::string bracket_argument(std::string_view text);

/// Throws Error, which names it, for anything in the recipe that none has: a variable whose name or
/// type is not of the usual form, control characters in a value, a generator or an environment
/// variable that flor_instrument does not write down.
void check_recipe(const detail::BuildRecipe& recipe);

/// Takes out of a recipe from elsewhere what says which program, script or directory is used, since
/// those are another machine's, unless one of `ours` says the same or the tool is the one on PATH
/// here. What stays: build type, flags for code, options that are on or off, numbers and words.
/// Returns the names of what went.
std::vector<std::string> leave_out_foreign(detail::BuildRecipe& recipe,
                                           std::span<const detail::BuildRecipe> ours);

/// The text that `cmake -C` reads. `recipe` has been checked.
std::string cache_file(const detail::BuildRecipe& recipe);

}  // namespace flor::cli
