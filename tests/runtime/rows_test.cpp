// The canonical form of rows: equal rows have equal bytes, others have others, and nothing else is
// read.
#include "load/rows_text.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Cell = Rows::Cell;

constexpr std::size_t kAll = SIZE_MAX;

/// To the last bit, unlike ==.
bool is_same(const Cell& a, const Cell& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x && y) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}
bool is_same(const Rows& a, const Rows& b) {
  return a.columns() == b.columns() &&
         std::ranges::equal(a.cells(), b.cells(),
                            [](const Cell& x, const Cell& y) { return is_same(x, y); });
}

rc::Gen<Cell> any_cell() {
  const auto bits = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                                 [](std::uint64_t b) { return Cell(std::bit_cast<double>(b)); });
  return rc::gen::oneOf(
      rc::gen::just(Cell()), rc::gen::just(Cell(true)), rc::gen::just(Cell(false)), bits,
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t i) { return Cell(i); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double d) { return Cell(d); }),
      rc::gen::map(rc::gen::string<std::string>(), [](std::string s) { return Cell(s); }));
}

Rows any_rows() {
  auto columns = *rc::gen::unique<std::vector<std::string>>(rc::gen::string<std::string>());
  const std::size_t rows = columns.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, 6);
  auto cells = *rc::gen::container<std::vector<Cell>>(rows * columns.size(), any_cell());
  return {std::move(columns), std::move(cells)};
}

TEST(RowsText, IsWhatTheFormatSays) {
  const Rows rows({"document value", "loss"},
                  {std::string("a b\n.pdf"), 1.0, Cell(), -0.0, std::int64_t{-7}, true});
  EXPECT_EQ(encode_rows(rows, kAll),
            "flor rows 1\ncolumns 2\n14:document value\n4:loss\nrows 3\n"
            "t8:a b\n.pdf r3ff0000000000000\n- r8000000000000000\ni-7 b1\n");
}

RC_GTEST_PROP(RowsText, ComesBackToTheLastBit, ()) {
  const Rows rows = any_rows();
  RC_ASSERT(is_same(decode_rows(encode_rows(rows, kAll)), rows));
}

RC_GTEST_PROP(RowsText, DiffersWhereRowsDiffer, ()) {
  const Rows a = any_rows(), b = any_rows();
  RC_ASSERT((encode_rows(a, kAll) == encode_rows(b, kAll)) == is_same(a, b));
}

/// Hostile bytes are refused, or are the only form of what they mean.
RC_GTEST_PROP(RowsText, HasOneFormAndRefusesTheRest, ()) {
  std::string bytes = encode_rows(any_rows(), kAll);
  const auto edits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < edits && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        bytes[at] = *rc::gen::elementOf(std::string("0179:-+birtf \n\xff"));
        break;
      case 1:
        bytes.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
        break;
      default:
        bytes.insert(at, 1, *rc::gen::elementOf(std::string("0179:-+birtf \n\xff")));
    }
  }
  try {
    RC_ASSERT(encode_rows(decode_rows(bytes), kAll) == bytes);
  } catch (const Damaged&) {  // refused
  }
}

TEST(RowsText, RefusesSizesThatTheBytesDoNotHave) {
  const std::string head = "flor rows 1\n";
  for (const std::string& tail :
       {std::string("columns 18446744073709551615\n"),
        std::string("columns 1\n99999999:a\nrows 0\n"),
        std::string("columns 1\n1:a\nrows 18446744073709551615\n"),
        std::string("columns 0\nrows 9\n"), std::string("columns 2\n1:a\n1:a\nrows 0\n"),
        std::string("columns 1\n1:a\nrows 1\ni01\n"), std::string("columns 1\n1:a\nrows 1\nb2\n"),
        std::string("columns 1\n1:a\nrows 0\n "), std::string("columns 1\n1:a\nrows 1\nrFF\n")}) {
    EXPECT_THROW(decode_rows(head + tail), Damaged) << tail;
  }
  EXPECT_THROW(decode_rows("flor rows 2\ncolumns 0\nrows 0\n"), Damaged);
  EXPECT_THROW(decode_rows(""), Damaged);
}

TEST(RowsText, IsBounded) {
  const Rows rows({"a"}, {std::string(100, 'x'), std::string(100, 'x')});
  EXPECT_NO_THROW(encode_rows(rows, encode_rows(rows, kAll).size()));
  EXPECT_THROW(encode_rows(rows, encode_rows(rows, kAll).size() - 1), Error);
}

TEST(Rows, AreReadByNameAndType) {
  const Rows rows({"n", "x", "t"}, {std::int64_t{3}, 0.5, std::string("a"), true, Cell(), Cell()});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].integer("n"), 3);
  EXPECT_EQ(rows[0].number("n"), 3.0);
  EXPECT_EQ(rows[0].number("x"), 0.5);
  EXPECT_EQ(rows[0].text("t"), "a");
  EXPECT_TRUE(rows[1].boolean("n"));
  EXPECT_THAT(rows.numbers("n"), ElementsAre(3.0, 1.0));
  EXPECT_FALSE(rows[1].has("x"));
  EXPECT_FALSE(rows[1].has("y"));
  std::size_t count = 0;
  for (const auto row : rows) count += row.has("n") ? 1 : 0;
  EXPECT_EQ(count, 2u);
  const auto message = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message([&] { (void)rows[1].number("x"); }),
            "row 1, column 'x' is empty, and a number is asked for");
  EXPECT_EQ(message([&] { (void)rows[0].text("n"); }),
            "row 0, column 'n' is an integer, and a text is asked for");
  EXPECT_EQ(message([&] { (void)rows.integers("n"); }),
            "row 1, column 'n' is a boolean, and an integer is asked for");
  EXPECT_EQ(message([&] { (void)rows.numbers("y"); }),
            "these rows have no column 'y', but n, x, t");
  EXPECT_THROW(Rows({"a", "a"}, {}), UsageError);
  EXPECT_THROW(Rows({"a", "b"}, {Cell()}), UsageError);
  EXPECT_THROW(Rows({}, {Cell()}), UsageError);
}

}  // namespace
}  // namespace flor::detail
