// The regular expressions of --filter and --path: they find what those of the standard library
// find, and no pattern makes a search long.
#include "choose/pattern.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <regex>

namespace flor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool finds(const std::string& pattern, const std::string& text) {
  return Pattern("--filter", pattern).found_in(text);
}

TEST(Patterns, FindAnywhereUnlessTheySayWhere) {
  EXPECT_TRUE(finds("b", "abc"));
  EXPECT_FALSE(finds("^b", "abc"));
  EXPECT_TRUE(finds("", ""));
  EXPECT_TRUE(finds(R"(\.(pt|ckpt)$)", "model.ckpt"));
  EXPECT_FALSE(finds(R"(\.(pt|ckpt)$)", "model.ckpt.tmp"));
  EXPECT_TRUE(finds(R"(^(step|epoch)[-_]?[0-9]+$)", "epoch_12"));
  EXPECT_FALSE(finds(R"(^(step|epoch)[-_]?[0-9]+$)", "epoch_"));
  EXPECT_TRUE(finds(R"(\bstep\d{2,3}\b)", "a step123."));
  EXPECT_FALSE(finds(R"(\bstep\d{2,3}\b)", "a step1234."));
  EXPECT_TRUE(finds(R"([^\w.-])", "a b"));
}

TEST(Patterns, ThatAreNoneAreRefusedInOneShortLine) {
  for (const std::string& pattern : std::vector<std::string>{
           "(", ")", "[a", "*", "a**", "a{2,1}", "a{", "\\", "(?=a)", "(a)\\1", "[b-a]", "\\q",
           "a{1000}{1000}", std::string(200, '('), std::string(100000, 'a')}) {
    try {
      Pattern("--filter", pattern);
      ADD_FAILURE() << pattern;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("is no regular expression"));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      EXPECT_LT(std::string(error.what()).size(), 200u);
    }
  }
}

RC_GTEST_PROP(AnyPattern, FindsWhatTheStandardLibraryFinds, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "b", "ab", ".", "[ab]", "[^a]", "(a|b)", "(?:ab)", "(a*b)", "*", "+", "?", "{2}",
      "{1,2}", "|", "^", "$", "\\w", "\\d", "\\b", "\\."));
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aab.1 ")));
  std::string pattern;
  for (const std::string& piece : pieces) pattern += piece;
  if (pattern.size() > 24 || text.size() > 12) return;
  std::optional<Pattern> ours;
  std::optional<std::regex> theirs;
  try {
    ours.emplace("--filter", pattern);
    theirs.emplace(pattern);
  } catch (const std::exception&) {
    return;
  }
  RC_ASSERT(ours->found_in(text) == std::regex_search(text, *theirs));
}

// Steps are counted, not seconds.
TEST(Patterns, NoneTakesMoreStepsThanItsCodeTimesTheText) {
  const std::string text = std::string(3000, 'a') + "!";
  for (const char* pattern : {"(a+)+$", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)(.*)b", "(a?){30}a{30}$",
                              "^(([a-z])+.)+[A-Z]([a-z])+$"}) {
    std::size_t steps = 0;
    Pattern("--filter", pattern).found_in(text, &steps);
    EXPECT_LE(steps, 200 * (text.size() + 1)) << pattern;
  }
}

}  // namespace
}  // namespace flor::cli
