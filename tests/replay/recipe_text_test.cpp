// What of a recorded recipe reaches CMake: with the real one, every value as it was, and nothing
// else.
#include "build/recipe_text.h"

#include "support/git_repository.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {
namespace {

using detail::BuildRecipe;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::read_file;
using testing::run_command;
using testing::TemporaryDirectory;
using testing::write_file;

BuildRecipe recipe_with(std::vector<detail::CacheVariable> cache) {
  BuildRecipe recipe;
  recipe.target = "train";
  recipe.generator = "Ninja";
  recipe.cache = std::move(cache);
  return recipe;
}

/// What a project sees of V0, V1, ... when it is configured, and when it is configured again.
std::vector<std::string> seen_by_cmake(const std::vector<std::string>& values, int times) {
  const TemporaryDirectory place;
  std::vector<detail::CacheVariable> cache;
  for (std::size_t i = 0; i < values.size(); ++i) {
    cache.push_back({fmt::format("V{}", i), i % 2 == 0 ? "STRING" : "BOOL", values[i]});
  }
  const BuildRecipe recipe = recipe_with(std::move(cache));
  check_recipe(recipe);
  write_file(place / "cache.cmake", cache_file(recipe));
  write_file(place / "source" / "CMakeLists.txt",
             fmt::format("cmake_minimum_required(VERSION 3.25)\nproject(seen LANGUAGES NONE)\n"
                         "foreach(i RANGE {})\n"
                         "  file(WRITE ${{CMAKE_BINARY_DIR}}/seen/${{i}} \"${{V${{i}}}}\")\n"
                         "endforeach()\n",
                         values.size() - 1));
  const std::string build = (place / "build").string();
  for (int i = 0; i < times; ++i) {
    std::vector<std::string> words{"cmake", "-S", (place / "source").string(), "-B", build};
    if (i == 0) words.insert(words.end(), {"-C", (place / "cache.cmake").string()});
    const auto result = run_command(words, place / "source");
    EXPECT_EQ(result.status, 0) << result.out;
  }
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    seen.push_back(read_file(place / "build" / "seen" / std::to_string(i)));
  }
  std::error_code error;
  // A command that was in a value would have been executed in one of these.
  for (const auto& directory : {place / "source", place / "build"}) {
    EXPECT_FALSE(std::filesystem::exists(directory / "PWNED", error));
  }
  return seen;
}

/// Pieces of CMake's language, and letters.
std::string hostile_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{
      "]",      "[",    "=",         "==",           "]]",   "]=]",   "]==]",     "[==[",
      "\"",     "\\",   "$",         "${V0}",        "$ENV{PATH}", "@V0@", ";",  " ",
      "\t",     "#",    "#[[",       ")",            "(",    "a",     "/",        "'",
      "`x`",    "\\n",  "$<1:x>",    "//",           ":",    "%",     "\xc3\xa4", "&&",
      "|",      ">",    "CACHE",     "FORCE",        "]==] CACHE STRING \"\")",
      ") execute_process(COMMAND touch PWNED) #"};
  std::string text;
  for (std::size_t count = random() % 12; count > 0; --count) {
    text += kPieces[random() % kPieces.size()];
  }
  return text;
}

TEST(RecipeText, EveryValueComesThroughCMakeAsItWasAndNothingIsExecuted) {
  std::mt19937 random(20261123);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> values;
    for (int i = 0; i < 250; ++i) values.push_back(hostile_text(random));
    EXPECT_EQ(seen_by_cmake(values, 2), values);
  }
}

TEST(RecipeText, WhatEndsLikeABracketDoesNotEndIt) {
  const std::vector<std::string> values{
      "]", "]=", "a]", "a]=", "a]==", "]]", "]=]", "x]==] y", "[[", "=", "[=[a]=]",
      "]==] CACHE STRING \"\")\texecute_process(COMMAND touch PWNED)\t#"};
  EXPECT_EQ(seen_by_cmake(values, 2), values);
}

TEST(RecipeText, WhatNoRecipeHasIsRefused) {
  EXPECT_NO_THROW(check_recipe(recipe_with({{"CMAKE_BUILD_TYPE", "STRING", "Release"}})));
  for (const detail::CacheVariable& wrong : std::vector<detail::CacheVariable>{
           {"A B", "STRING", "x"},  {"A)", "STRING", "x"},        {"", "STRING", "x"},
           {"-A", "STRING", "x"},   {"A\nB", "STRING", "x"},      {"$ENV{X}", "STRING", "x"},
           {"A", "INTERNAL", "x"},  {"A", "STRING \"\")", "x"},   {"A", "", "x"},
           {"A", "STRING", "x\ny"}, {"A", "STRING", {"\0", 1}},   {"A", "STRING", "x\r"}}) {
    EXPECT_THROW(check_recipe(recipe_with({wrong})), Error) << wrong.name << " " << wrong.type;
  }
  for (const auto& [field, text] : std::vector<std::pair<std::string BuildRecipe::*, std::string>>{
           {&BuildRecipe::target, "--config"},
           {&BuildRecipe::target, ""},
           {&BuildRecipe::target, "x y"},
           {&BuildRecipe::generator, "Ninja;x"},
           {&BuildRecipe::generator, ""},
           {&BuildRecipe::configuration, "-j"},
           {&BuildRecipe::configuration, "a b"}}) {
    BuildRecipe recipe = recipe_with({});
    recipe.*field = text;
    EXPECT_THROW(check_recipe(recipe), Error) << text;
  }
  for (const char* variable : {"LD_PRELOAD", "PATH", "CXX", "BASH_ENV", "CMAKE_TOOLCHAIN_FILE"}) {
    BuildRecipe recipe = recipe_with({});
    recipe.environment[variable] = "x";
    EXPECT_THROW(check_recipe(recipe), Error) << variable;
  }
}

TEST(RecipeText, OfAnotherMachineOnlyWhatNamesNoPlaceCounts) {
  const std::vector<detail::CacheVariable> harmless{
      {"CMAKE_BUILD_TYPE", "STRING", "Release"},
      {"CMAKE_CXX_FLAGS", "STRING", "-O3 -march=native -DNDEBUG -fno-math-errno -Wall -DX=1.5"},
      {"CMAKE_CXX_FLAGS_RELEASE", "STRING", "-O3 -ffast-math -std=c++20 -g"},
      {"FASTER", "BOOL", "ON"},
      {"GIVEN", "STRING", "a b"}};
  const std::vector<detail::CacheVariable> foreign{
      {"CMAKE_CXX_COMPILER", "FILEPATH", "/tmp/evil"},
      {"CMAKE_CXX_COMPILER", "FILEPATH", "evil"},
      {"CMAKE_CXX_COMPILER_LAUNCHER", "STRING", "touch;x"},
      {"CMAKE_MAKE_PROGRAM", "FILEPATH", "/tmp/ninja"},
      {"CMAKE_TOOLCHAIN_FILE", "FILEPATH", "x.cmake"},
      {"CMAKE_PROJECT_INCLUDE", "STRING", "x"},
      {"CMAKE_CXX_CLANG_TIDY", "STRING", "x"},
      {"CMAKE_LINKER", "FILEPATH", "x"},
      {"Torch_DIR", "PATH", "/opt/torch"},
      {"SCRIPT", "FILEPATH", "x"},
      {"GIVEN", "STRING", "$(touch x)"},
      {"CMAKE_CXX_FLAGS", "STRING", "-fplugin=evil"},
      {"CMAKE_CXX_FLAGS", "STRING", "-fplugin=/tmp/evil.so"},
      {"CMAKE_CXX_FLAGS", "STRING", "-B/tmp"},
      {"CMAKE_CXX_FLAGS", "STRING", "-wrapper sh"},
      {"CMAKE_CXX_FLAGS", "STRING", "-Wl,-plugin,x"},
      {"CMAKE_CXX_FLAGS", "STRING", "-fuse-ld=x"},
      {"CMAKE_CXX_FLAGS", "STRING", "@file"},
      {"CMAKE_CXX_FLAGS", "STRING", "-specs=x"},
      {"CMAKE_CXX_FLAGS", "STRING", "-include x"}};
  BuildRecipe recipe = recipe_with(harmless);
  EXPECT_THAT(leave_out_foreign(recipe, {}), IsEmpty());
  EXPECT_EQ(recipe.cache, harmless);
  for (const detail::CacheVariable& variable : foreign) {
    recipe = recipe_with({variable});
    EXPECT_THAT(leave_out_foreign(recipe, {}), ElementsAre(variable.name)) << variable.value;
    EXPECT_THAT(recipe.cache, IsEmpty());
    // A run recorded here says the same.
    recipe = recipe_with({variable});
    const std::vector<BuildRecipe> ours{recipe};
    EXPECT_THAT(leave_out_foreign(recipe, ours), IsEmpty());
  }
}

}  // namespace
}  // namespace flor::cli
