// Recorded recipes as CMake gets them: names, types and values that can be nothing else. A recipe
// is text from a catalog, so none of it is put into a file that CMake reads before it has been
// checked.
#pragma once

#include "protocol/build_recipe.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The text as an argument that CMake takes word for word: between brackets of a length that does
/// not occur in it. Not for text with newlines, since CMake drops the first.
std::string bracket_argument(std::string_view text);

/// Throws Error, naming the entry, for anything that no recipe has: a variable whose name or type
/// is not of the usual form, control characters in a value, a generator or an environment variable
/// that flor_instrument does not write.
void check_recipe(const detail::BuildRecipe& recipe);

/// Removes entries of a recipe from elsewhere that select programs, scripts or directories, since
/// those are another machine's, unless one of `ours` has the same entry or the tool is the one on
/// PATH here. Kept are the build type, flags for code, options that are on or off, numbers and
/// words. Returns the names of the removed entries.
std::vector<std::string> leave_out_foreign(detail::BuildRecipe& recipe,
                                           std::span<const detail::BuildRecipe> ours);

/// The text that `cmake -C` reads. `recipe` has been checked.
std::string cache_file(const detail::BuildRecipe& recipe);

}  // namespace flor::cli
