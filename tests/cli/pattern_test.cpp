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

std::string group(const std::string& pattern, const std::string& text, std::size_t from = 0) {
  const auto found = Pattern("REGEX", pattern).group_in(text, from);
  return found ? text.substr(found->begin, found->end - found->begin) : "none";
}

TEST(Patterns, GiveWhatTheirFirstBracketsMatch) {
  EXPECT_EQ(group(R"(loss=(\d+\.\d+))", "step 3: loss=0.125, lr=0.5"), "0.125");
  EXPECT_EQ(group("(a+)(b)", "xaaab"), "aaa");
  EXPECT_EQ(group("(?:x|y)(a*?)b", "yaab"), "aa");
  EXPECT_EQ(group("(a|ab)(c|bcd)", "abcd"), "a");
  EXPECT_EQ(group("a(b)?c", "ac"), "");
  EXPECT_EQ(group("(a{2})", "aaaaa"), "aa");
  EXPECT_EQ(group("(b)", "abab", 2), "b");
  EXPECT_EQ(group("^(b)", "ab", 1), "none");
  EXPECT_FALSE(Pattern("REGEX", "(?:a)").has_group());
  EXPECT_TRUE(Pattern("REGEX", "(?:a)(b)").has_group());
}

RC_GTEST_PROP(Patterns, GiveTheBracketsOfTheStandardLibrary, ()) {
  const auto letters = [](const char* of) {
    return rc::gen::container<std::string>(rc::gen::elementOf(std::string(of)));
  };
  const std::string inner = *rc::gen::element<std::string>("a+", "a*b", "[ab]{1,2}", "a|b", "a??b",
                                                           "(?:a|ab)c?", "b*?");
  const std::string pattern = *rc::gen::element<std::string>("", "a", "c*", "b?") + "(" + inner +
                              ")" + *rc::gen::element<std::string>("", "c", "a*", "b");
  const std::string text = *letters("abc");
  std::smatch expected;
  const bool has = std::regex_search(text, expected, std::regex(pattern));
  const auto found = Pattern("REGEX", pattern).group_in(text);
  RC_ASSERT(found.has_value() == has);
  if (!has) return;
  RC_ASSERT(text.substr(found->begin, found->end - found->begin) == expected.str(1));
  RC_ASSERT(found->match_end ==
            static_cast<std::size_t>(expected.position(0) + expected.length(0)));
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
