#include "build/recipe_text.h"

#include "choose/pattern.h"
#include "output/terminal_text.h"
#include "process/child.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace flor::cli {
namespace {

using detail::BuildRecipe;
using detail::CacheVariable;

constexpr std::array<std::string_view, 4> kTypes{"BOOL", "STRING", "PATH", "FILEPATH"};
constexpr std::array<std::string_view, 3> kGenerators{"Ninja", "Ninja Multi-Config",
                                                      "Unix Makefiles"};
/// Environment variables by which CMake and pkg-config find packages.
constexpr std::array<std::string_view, 2> kVariables{"CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH"};

bool is_among(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

/// Whether the text has the form of a name of a variable, target or configuration.
bool is_name(std::string_view text) {
  constexpr std::size_t kLength = 128;
  const auto fits = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '_' || c == '.' || c == '+' || c == '-');
  };
  return !text.empty() && text.size() <= kLength && text[0] != '-' &&
         std::ranges::all_of(text, fits);
}

/// Whether the text can be a value: CMake's cache files end a value at the end of the line.
bool is_value(std::string_view text) {
  const auto is_control = [](unsigned char c) { return (c < 32 && c != '\t') || c == 127; };
  return std::ranges::none_of(text, is_control);
}

[[noreturn]] void refuse(std::string_view what, std::string_view text) {
  throw Error(
      fmt::format("the recorded recipe has {} that no recipe has, {}: say with --build what builds "
                  "the program",
                  what, printable(text)));
}

/// A pattern that matches a whole text of this form in linear time, because the text may come from
/// another machine.
Pattern whole(std::string_view form) {
  return Pattern("recipe", fmt::format("^({})$", form));
}

/// Whether all words are compiler flags that affect only the generated code and name no file or
/// program.
bool are_flags_for_code(const std::string& value) {
  static const Pattern kFlag = whole(
      "-O[0-9a-z]*|-g[0-9a-z]*|-std=[a-z0-9+]+|-pthread|-pipe|-[DU][A-Za-z_][A-Za-z0-9_]*"
      "(=[A-Za-z0-9_.+-]*)?|-m[a-z0-9.+-]+(=[A-Za-z0-9.+-]+)?|-W[a-z0-9+-]*(=[a-z0-9]+)?|"
      "-f(no-)?[a-z0-9-]+(=[a-z0-9-]+)?");
  static const Pattern kLoads("recipe", "^-f(plugin|pass-plugin|use-ld)");
  std::istringstream words(value);
  for (std::string word; words >> word;) {
    if (!kFlag.found_in(word) || kLoads.found_in(word)) return false;
  }
  return true;
}

bool is_tool_of_here(const std::string& path) {
  const auto found = find_on_path(path.substr(path.rfind('/') + 1));
  return found && *found == path;
}

/// Whether the variable has the same meaning on every machine and its value contains no path.
bool is_of_any_machine(const CacheVariable& variable) {
  static const Pattern kFlags = whole("CMAKE_(C|CXX|CUDA|HIP)_FLAGS(_[A-Z]+)?");
  static const Pattern kTools = whole("CMAKE_((C|CXX|CUDA|HIP)_COMPILER(_LAUNCHER)?|MAKE_PROGRAM)");
  static const Pattern kWords = whole(
      "CMAKE_(BUILD_TYPE|POSITION_INDEPENDENT_CODE|INTERPROCEDURAL_OPTIMIZATION|(C|CXX|CUDA|HIP)_"
      "(STANDARD|STANDARD_REQUIRED|EXTENSIONS|ARCHITECTURES))");
  static const Pattern kWord = whole("[A-Za-z0-9_.,;+ -]*");
  if (kFlags.found_in(variable.name)) return are_flags_for_code(variable.value);
  if (kTools.found_in(variable.name)) return is_tool_of_here(variable.value);
  const bool is_option = variable.type == "BOOL" || variable.type == "STRING";
  return is_option && kWord.found_in(variable.value) &&
         (kWords.found_in(variable.name) || !variable.name.starts_with("CMAKE_"));
}

}  // namespace

std::string bracket_argument(std::string_view text) {
  for (std::string level;; level += '=') {
    const std::string end = "]" + level + "]", whole = std::string(text) + end;
    if (whole.find(end) == text.size()) return "[" + level + "[" + whole;
  }
}

void check_recipe(const BuildRecipe& recipe) {
  for (const CacheVariable& variable : recipe.cache) {
    if (!is_name(variable.name)) refuse("a variable", variable.name);
    if (!is_among(kTypes, variable.type)) refuse("a type", variable.name + ":" + variable.type);
    if (!is_value(variable.value)) refuse("a value", variable.name + "=" + variable.value);
  }
  for (const auto& [name, value] : recipe.environment) {
    if (!is_among(kVariables, name)) refuse("an environment variable", name);
    if (!is_value(value)) refuse("a value", name + "=" + value);
  }
  if (!is_among(kGenerators, recipe.generator)) refuse("a generator", recipe.generator);
  if (!is_name(recipe.target)) refuse("a target", recipe.target);
  if (!recipe.configuration.empty() && !is_name(recipe.configuration)) {
    refuse("a configuration", recipe.configuration);
  }
}

std::vector<std::string> leave_out_foreign(BuildRecipe& recipe, std::span<const BuildRecipe> ours) {
  std::vector<std::string> gone;
  std::erase_if(recipe.cache, [&](const CacheVariable& variable) {
    const bool is_ours = std::ranges::any_of(ours, [&](const BuildRecipe& own) {
      return std::ranges::find(own.cache, variable) != own.cache.end();
    });
    if (is_ours || is_of_any_machine(variable)) return false;
    gone.push_back(variable.name);
    return true;
  });
  std::erase_if(recipe.environment, [&](const auto& entry) {
    const char* here = std::getenv(entry.first.c_str());
    if (here && entry.second == here) return false;
    gone.push_back(entry.first);
    return true;
  });
  return gone;
}

std::string cache_file(const BuildRecipe& recipe) {
  std::string text = "# What the program was configured with when it was recorded.\n";
  for (const CacheVariable& variable : recipe.cache) {
    text += fmt::format("set({} {} CACHE {} \"recorded\")\n", variable.name,
                        bracket_argument(variable.value), variable.type);
  }
  return text;
}

}  // namespace flor::cli
