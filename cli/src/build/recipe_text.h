// Build recipes as input for CMake. A recipe is text from a catalog and may come from another
// machine, so everything in it is checked before it is written to a file that CMake executes.
#pragma once

#include "protocol/build_recipe.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Quotes the text as a CMake bracket argument, which CMake takes word for word. The text must not
/// begin with a newline, since CMake drops that one.
std::string bracket_argument(std::string_view text);

/// Throws Error, naming the entry, for anything that flor_instrument does not write: a variable
/// with an unusual name or type, control characters in a value, another generator, another
/// environment variable.
void check_recipe(const detail::BuildRecipe& recipe);

/// Removes entries that select programs, scripts or directories from a recipe of another machine.
/// Such an entry stays if a recipe in `ours` has the same one, or if it names the tool that is on
/// PATH here. Build type, compiler flags, on/off options, numbers and words always stay. Returns
/// the names of the removed entries.
std::vector<std::string> leave_out_foreign(detail::BuildRecipe& recipe,
                                           std::span<const detail::BuildRecipe> ours);

/// The initial cache file for `cmake -C`. `recipe` must have passed check_recipe.
std::string cache_file(const detail::BuildRecipe& recipe);

}  // namespace flor::cli
