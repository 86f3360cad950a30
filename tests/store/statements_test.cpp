// Statements are prepared once and shared by all queries of a text, but never by two at a time.
#include "database/sqlite.h"
#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kEcho = "SELECT ?1";

class StatementsTest : public ::testing::Test {
 protected:
  StatementsTest() {
    connection_.execute(
        "CREATE TABLE edge (parent INTEGER, child INTEGER); INSERT INTO edge VALUES (1, 2), (1, "
        "3), "
        "(2, 4), (2, 5), (5, 6), (3, 7)");
  }

  /// As many as SQLite has prepared of the text, taken or not.
  std::int64_t prepared(std::string_view sql) {
    const auto row = connection_("SELECT count(*) FROM sqlite_stmt WHERE sql = ?1", sql);
    row->step();
    return row->integer(0);
  }

  static std::int64_t answer_of(Query& query) { return query.step() ? query.integer(0) : -1; }

  std::vector<std::int64_t> descendants(std::int64_t node) {
    std::vector<std::int64_t> all;
    const auto rows = connection_("SELECT child FROM edge WHERE parent = ?1 ORDER BY child", node);
    while (rows->step()) {
      all.push_back(rows->integer(0));
      const auto below = descendants(rows->integer(0));
      all.insert(all.end(), below.begin(), below.end());
    }
    return all;
  }

  flor::testing::TemporaryDirectory directory_;
  Connection connection_{directory_ / "index.db", Connection::Mode::create};
};

TEST_F(StatementsTest, QueriesOfOneTextThatAreBoundBeforeEitherIsStepped) {
  const auto first = connection_(kEcho, 1), second = connection_(kEcho, 2);
  EXPECT_EQ(answer_of(*first), 1);
  EXPECT_EQ(answer_of(*second), 2);
}

TEST_F(StatementsTest, AQueryThatHasGivenAllItsRowsKeepsWhatItIsBoundTo) {
  const auto first = connection_("INSERT INTO edge VALUES (?1, ?2)", 8, 9);
  first->run();
  connection_("INSERT INTO edge VALUES (?1, ?2)", 10, 11)->run();
  first->run();
  EXPECT_THAT(descendants(8), ElementsAre(9, 9));
  EXPECT_THAT(descendants(10), ElementsAre(11));
}

TEST_F(StatementsTest, AQueryWithinTheRowsOfTheSameText) {
  EXPECT_THAT(descendants(1), ElementsAre(2, 4, 5, 6, 3, 7));
}

TEST_F(StatementsTest, GivingBackInAnyOrderLeavesTheOthersAlone) {
  std::vector<int> order(4);
  std::iota(order.begin(), order.end(), 0);
  do {
    std::vector<std::unique_ptr<Query>> queries;
    for (int i = 0; i < 4; ++i) queries.push_back(connection_(kEcho, i));
    for (const int gone : order) {
      queries[static_cast<std::size_t>(gone)].reset();
      // What is given back is taken again at once.
      EXPECT_EQ(answer_of(*connection_(kEcho, 100)), 100);
    }
    for (int i = 0; i < 4; ++i) queries[static_cast<std::size_t>(i)] = connection_(kEcho, i);
    queries[static_cast<std::size_t>(order[0])].reset();
    for (int i = 0; i < 4; ++i) {
      if (i == order[0]) continue;
      EXPECT_EQ(answer_of(*queries[static_cast<std::size_t>(i)]), i);
    }
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(prepared(kEcho), 4);
}

TEST_F(StatementsTest, WhatIsGivenBackIsBoundToNothing) {
  { const auto query = connection_(kEcho, 1); }
  const auto query = connection_.prepare(kEcho);
  ASSERT_TRUE(query->step());
  EXPECT_TRUE(query->is_null(0));
}

TEST_F(StatementsTest, AStatementIsGivenBackWhenItFails) {
  connection_.execute("CREATE UNIQUE INDEX one_child ON edge (parent, child)");
  constexpr std::string_view kInsert = "INSERT INTO edge VALUES (?1, ?2)";
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(connection_(kInsert, 1, 2)->run(), StatementRefused);
  }
  EXPECT_EQ(prepared(kInsert), 1);
}

TEST_F(StatementsTest, ATextIsPreparedOnceForAllThatFollowEachOther) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(answer_of(*connection_(kEcho, i)), i);
  EXPECT_EQ(prepared(kEcho), 1);
  { const auto first = connection_(kEcho, 1), second = connection_(kEcho, 2); }
  for (int i = 0; i < 1000; ++i) {
    const auto outer = connection_(kEcho, i);
    EXPECT_EQ(answer_of(*connection_(kEcho, -i)), -i);
    EXPECT_EQ(answer_of(*outer), i);
  }
  EXPECT_EQ(prepared(kEcho), 2);
}

}  // namespace
}  // namespace flor::store
