// What the lexer makes of the corners of C++'s lexical grammar.
#include "sources/syntax/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> texts(const std::string& source) {
  std::vector<std::string> result;
  for (const Token& token : lex(source).all) result.emplace_back(token.text);
  return result;
}

TEST(Lexer, CommentsAndSpaceAreGone) {
  EXPECT_THAT(texts("a /* b \" { */ c // d }\n e"), ElementsAre("a", "c", "e"));
  EXPECT_THAT(texts("a // continued \\\n b\nc"), ElementsAre("a", "c"));
  EXPECT_THAT(texts("/* never closed"), IsEmpty());
  EXPECT_THAT(texts("a /*/ b */ c"), ElementsAre("a", "c"));
}

TEST(Lexer, StringsAreWhole) {
  EXPECT_THAT(texts(R"("a \" b // {" u8"x" L"y" 'z' '\'' u'"')"),
              ElementsAre(R"("a \" b // {")", "u8\"x\"", "L\"y\"", "'z'", "'\\''", "u'\"'"));
  EXPECT_THAT(texts("\"1\"_km 'c'_x"), ElementsAre("\"1\"_km", "'c'_x"));
  EXPECT_THAT(texts("\"two \\\nlines\" x"), ElementsAre("\"two lines\"", "x"));
  EXPECT_THAT(texts("\"open\nx"), ElementsAre("\"open", "x"));
}

TEST(Lexer, RawStringsEndAtTheirOwnDelimiter) {
  EXPECT_THAT(texts("R\"(a \" ) b)\" x"), ElementsAre("R\"(a \" ) b)\"", "x"));
  EXPECT_THAT(texts("u8R\"xy()\" )x\" )xy\";"), ElementsAre("u8R\"xy()\" )x\" )xy\"", ";"));
  EXPECT_THAT(texts("R\"(a\\\nb)\""), ElementsAre("R\"(a\\\nb)\""));
  EXPECT_THAT(texts("xR\"(a)\""), ElementsAre("xR", "\"(a)\""));
  const Tokens two = lex("R\"(1\n2\n3)\"\nx");
  EXPECT_EQ(two.all.at(1).line, 4u);
}

TEST(Lexer, NumbersHaveSeparatorsExponentsAndSuffixes) {
  EXPECT_THAT(texts("1'000'000 0x1p-3f 1e+5 .5 1.0_km 1..2 3-4"),
              ElementsAre("1'000'000", "0x1p-3f", "1e+5", ".5", "1.0_km", "1..2", "3", "-", "4"));
  EXPECT_THAT(texts("0x'a'"), ElementsAre("0x'a", "'"));
}

TEST(Lexer, ContinuedLinesAreOne) {
  const Tokens tokens = lex("ab\\\ncd e\\\r\nf +\\\n+ g");
  std::vector<std::string> found;
  for (const Token& token : tokens.all) found.emplace_back(token.text);
  EXPECT_THAT(found, ElementsAre("abcd", "ef", "++", "g"));
  EXPECT_EQ(tokens.all.back().line, 4u);
}

TEST(Lexer, PunctuatorsAreAsLongAsPossible) {
  EXPECT_THAT(texts("a<=>b->*c<<=d...e"),
              ElementsAre("a", "<=>", "b", "->*", "c", "<<=", "d", "...", "e"));
  EXPECT_THAT(texts("v<w<int>>"), ElementsAre("v", "<", "w", "<", "int", ">", ">"));
  EXPECT_THAT(texts("<% a<:0:> %> a<::b>"),
              ElementsAre("{", "a", "[", "0", "]", "}", "a", "<", "::", "b", ">"));
}

TEST(Lexer, DirectivesAreMarkedToTheirEnd) {
  const Tokens tokens = lex("a\n # define X(y) \\\n  y // z\nb # c\n#include <don't.h>\nd");
  std::vector<std::string> directive, starts;
  for (const Token& token : tokens.all) {
    if (token.directive) directive.emplace_back(token.text);
    if (token.starts_directive) starts.emplace_back(token.text);
  }
  EXPECT_THAT(directive,
              ElementsAre("#", "define", "X", "(", "y", ")", "y", "#", "include", "<don't.h>"));
  EXPECT_EQ(starts.size(), 2u);
}

TEST(Lexer, AnApostropheInADirectiveThatIsNoCodeEndsWithTheLine) {
  EXPECT_THAT(texts("#error don't\nx"), ElementsAre("#", "error", "don", "'t", "x"));
}

TEST(Lexer, PositionsAreLinesAndColumnsInBytes) {
  const Tokens tokens = lex("\xEF\xBB\xBFint x;\r\n\t\xC3\xA9 = 'a';");
  ASSERT_EQ(tokens.all.size(), 7u);
  EXPECT_EQ(tokens.all[0].column, 1u);
  EXPECT_EQ(tokens.all[1].column, 5u);
  EXPECT_EQ(tokens.all[3].line, 2u);
  EXPECT_EQ(tokens.all[3].column, 2u);
  EXPECT_EQ(tokens.all[4].column, 5u);
}

TEST(Lexer, LineEndingsMakeNoDifference) {
  const std::string unix_text = "#define A \\\n  1\nR\"(x\ny)\" a; // b\n";
  std::string dos_text;
  for (const char c : unix_text) dos_text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(texts(unix_text), texts(dos_text));
}

TEST(Lexer, AnyBytesGiveTokens) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_FALSE(lex(bytes).all.empty());
  EXPECT_THAT(texts("\\"), ElementsAre("\\"));
  EXPECT_THAT(texts("R\"("), ElementsAre("R\"("));
}

}  // namespace
}  // namespace flor::sources
