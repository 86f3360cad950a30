// The language of --where: what it means, what it refuses, and that it survives any text.
#include "choose/asked.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace flor::cli {
namespace {

using ::testing::HasSubstr;

using Fields = std::map<std::string, Field>;

bool holds(const std::string& text, const Fields& fields) {
  return Condition(text).holds([&](const std::string& column) {
    const auto found = fields.find(column);
    return found == fields.end() ? Field{} : found->second;
  });
}

const Fields kRun = {{"lr", {"0.001", 0.001, {}}},
                     {"accuracy:max", {"0.95", 0.95, {}}},
                     {"epochs", {"8", 8.0, {}}},
                     {"status", {"finished, epoch 3 not stored", std::nullopt, {}}},
                     {"note", {"it's well", std::nullopt, {}}},
                     {"loss", {"nan", std::nan(""), {}}},
                     {"val loss", {"2", 2.0, {}}}};

TEST(Condition, BindsAndStrongerThanOrAndNotStrongest) {
  EXPECT_TRUE(holds("lr<0.01 and accuracy:max>0.9", kRun));
  EXPECT_FALSE(holds("lr<0.01 and accuracy:max>0.99", kRun));
  EXPECT_TRUE(holds("epochs=1 or lr<0.01 and epochs=8", kRun));
  EXPECT_FALSE(holds("(epochs=8 or lr<0.01) and epochs=1", kRun));
  EXPECT_TRUE(holds("epochs=8 or lr<0.01 and epochs=1", kRun));
  EXPECT_FALSE(holds("not epochs=8 or epochs=1", kRun));
  EXPECT_TRUE(holds("not (epochs=7 and lr<0.01)", kRun));
  EXPECT_TRUE(holds("not not epochs == 8.0", kRun));
}

TEST(Condition, ComparesTextsAsTextsAndNumbersAsNumbers) {
  EXPECT_TRUE(holds("status='finished, epoch 3 not stored' and epochs>7", kRun));
  EXPECT_TRUE(holds("note ~ well and note=\"it's well\"", kRun));
  EXPECT_TRUE(holds("note='it''s well'", kRun));
  EXPECT_TRUE(holds("'val loss'>=2", kRun));
  EXPECT_TRUE(holds("epochs<10", kRun)) << "as texts 8 would come after 10";
  EXPECT_FALSE(holds("epochs<'10'", kRun));
}

TEST(Condition, WhatARunLacksComparesWithNothing) {
  EXPECT_FALSE(holds("momentum>0", kRun));
  EXPECT_FALSE(holds("momentum!=0", kRun));
  EXPECT_TRUE(holds("not momentum>0", kRun));
  EXPECT_FALSE(holds("loss<1 or loss>=1 or loss=nan", kRun));
}

TEST(Condition, NamesItsColumnsOnce) {
  EXPECT_THAT(Condition("a<1 and (b>2 or not a=3)").columns(), ::testing::ElementsAre("a", "b"));
}

std::string refusal(const std::string& text) {
  try {
    Condition condition(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Condition, SaysWhereItIsWrong) {
  EXPECT_THAT(refusal("lr"),
              HasSubstr("column 3: expected one of = != < <= > >= ~, found the end"));
  EXPECT_THAT(refusal("lr<0.01 adn x>3"),
              HasSubstr("column 9: expected 'and', 'or' or the end, found 'adn'"));
  EXPECT_THAT(refusal("lr<"), HasSubstr("column 4: expected a value"));
  EXPECT_THAT(refusal("(lr<1"), HasSubstr("column 6: expected 'and', 'or' or ')'"));
  EXPECT_THAT(refusal("lr<1)"), HasSubstr("column 5"));
  EXPECT_THAT(refusal("lr<'x"), HasSubstr("column 6: expected the closing '"));
  EXPECT_THAT(refusal("lr<1 and and"), HasSubstr("column 10: expected a metric"));
  EXPECT_THAT(refusal("lr!1"), HasSubstr("column 3: expected one of"));
  EXPECT_THAT(refusal(""), HasSubstr("column 1"));
  EXPECT_THAT(refusal(std::string(5000, '(')), HasSubstr("fewer brackets"));
  EXPECT_THAT(refusal(std::string(5000, '(')), ::testing::Not(HasSubstr("\n")));
  EXPECT_LT(refusal(std::string(60000, '(')).size(), 300u);
  EXPECT_THAT(refusal(std::string(70000, 'a')), HasSubstr("at most 65536 bytes"));
  const std::string late = refusal("lr<0.01 and " + std::string(500, 'x') + "<1 adn y>3");
  EXPECT_THAT(late, HasSubstr("column 516"));
  EXPECT_THAT(late, HasSubstr("x<1 adn y>3'"));
  EXPECT_LT(late.size(), 300u);
}

/// A random condition with its value for a run that has a=0, b=1, ... e=4.
std::pair<std::string, bool> random_condition(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 1);
  if (kind == 0) {
    const int column = *rc::gen::inRange(0, 5), value = *rc::gen::inRange(0, 5);
    const int op = *rc::gen::inRange(0, 6);
    const char* ops[] = {"=", "!=", "<", " <= ", " >", ">="};
    const bool results[] = {column == value, column != value,
                            column<value, column <= value, column> value, column >= value};
    return {std::string(1, static_cast<char>('a' + column)) + ops[op] + std::to_string(value),
            results[op]};
  }
  const auto [first, a] = random_condition(depth - 1);
  if (kind == 1) return {"not (" + first + ")", !a};
  const auto [second, b] = random_condition(depth - 1);
  if (kind == 2) return {"(" + first + ") and (" + second + ")", a && b};
  return {"(" + first + " ) or ( " + second + ")", a || b};
}

Fields five() {
  Fields fields;
  for (int i = 0; i < 5; ++i) {
    fields[std::string(1, static_cast<char>('a' + i))] = {
        std::to_string(i), static_cast<double>(i), {}};
  }
  return fields;
}

RC_GTEST_PROP(ConditionProperty, MeansTheSameWithoutItsSpareBrackets, ()) {
  const auto [text, value] = random_condition(*rc::gen::inRange(0, 5));
  const Condition condition(text);
  RC_ASSERT(holds(text, five()) == value);
  RC_ASSERT(holds(condition.text(), five()) == value);
  RC_ASSERT(Condition(condition.text()).text() == condition.text());
}

RC_GTEST_PROP(ConditionProperty, AnyTextIsReadOrRefusedInOneLine, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
      rc::gen::element<std::string>("and", "or", "not", "(", ")", "<", ">=", "!", "=", "'", "\"",
                                    "a", "lr", "0.1", " ", "~", "x:max", "\n", "\x01"),
      rc::gen::arbitrary<std::string>()));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  try {
    const Condition condition(text);
    RC_ASSERT(Condition(condition.text()).text() == condition.text());
  } catch (const UsageError& error) {
    const std::string what = error.what();
    RC_ASSERT(what.find('\n') == what.npos);
    const std::size_t at = what.rfind("', column ");
    RC_ASSERT(at != what.npos);
    const int column = std::stoi(what.substr(at + 10));
    RC_ASSERT(column >= 1 && static_cast<std::size_t>(column) <= text.size() + 1);
  }
}

}  // namespace
}  // namespace flor::cli
