// Pages of a database have checksums: whatever a disk does to one, or in whatever place it puts it,
// what is read is what was written, or Damaged.
#include "database/sqlite.h"
#include "support/process.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::size_t kPage = 4096;

class PageChecksumsTest : public ::testing::Test {
 protected:
  using Mode = Connection::Mode;

  std::filesystem::path path() const { return directory_ / "some.db"; }

  /// Tables with rows, with texts on pages of their own, with an index and with free pages.
  void fill(Connection& connection) const {
    connection.execute(
        "CREATE TABLE row (id INTEGER PRIMARY KEY, name TEXT, number REAL);"
        "CREATE INDEX row_name ON row (name);"
        "CREATE TABLE long (id INTEGER PRIMARY KEY, text TEXT);"
        "CREATE TABLE gone (text TEXT)");
    Transaction transaction(connection);
    for (int i = 0; i < 300; ++i) {
      connection("INSERT INTO row VALUES (?1, ?2, ?3)", i, fmt::format("name {}", i * 7919), i / 3.)
          ->run();
    }
    for (int i = 0; i < 3; ++i) {
      connection("INSERT INTO long VALUES (?1, ?2)", i, std::string(9000, 'a'))->run();
      connection("INSERT INTO gone VALUES (?1)", std::string(9000, 'b'))->run();
    }
    transaction.commit();
    connection.execute("DROP TABLE gone");
  }
  /// Makes the database, and leaves all of it in its file.
  std::string make() {
    {
      Connection connection(path(), Mode::create);
      fill(connection);
    }
    return content();
  }

  std::string content() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  static std::string all_rows(Connection& connection) {
    std::string rows;
    for (const char* sql : {"SELECT id, name, number FROM row", "SELECT id, text FROM long",
                            "SELECT name FROM row ORDER BY name", "PRAGMA user_version"}) {
      const auto query = connection(sql);
      while (query->step()) rows += query->text(0) + "," + query->text(1) + ";";
    }
    return rows;
  }
  bool has_checksums() const { return Connection(path(), Mode::read_only).has_checksums(); }
  /// Nothing if it is damaged.
  std::optional<std::string> answer() const {
    try {
      Connection connection(path(), Mode::read_only);
      return all_rows(connection);
    } catch (const Damaged&) {
      return std::nullopt;
    }
  }

  flor::testing::TemporaryDirectory directory_{flor::testing::fast_parent()};
};

TEST_F(PageChecksumsTest, FindAnyBitThatIsFlipped) {
  const std::string sound = make();
  const auto expected = answer();
  ASSERT_TRUE(expected);
  int found = 0;
  for (std::size_t at = 0; at < sound.size(); at += 61) {
    std::string flipped = sound;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    put(flipped);
    // Where this leaves no checksums, the database is one of an older form.
    const auto got = has_checksums() ? answer() : std::nullopt;
    found += got ? 0 : 1;
    if (got) {
      EXPECT_EQ(got, expected) << "bit " << at % 8 << " of byte " << at;
    }
  }
  std::printf("found: %d, in free pages: %d\n", found, static_cast<int>(sound.size() / 61) - found);
  EXPECT_GT(found, static_cast<int>(sound.size() / 61 / 2));
}

TEST_F(PageChecksumsTest, FindAnyPageInThePlaceOfAnother) {
  const std::string sound = make();
  const auto expected = answer();
  const std::size_t pages = sound.size() / kPage;
  ASSERT_GT(pages, 15u);
  for (std::size_t from = 0; from < pages; ++from) {
    for (std::size_t to = 0; to < pages; ++to) {
      std::string moved = sound;
      moved.replace(to * kPage, kPage, sound.substr(from * kPage, kPage));
      put(moved);
      if (const auto got = answer()) {
        EXPECT_EQ(got, expected) << "page " << from << " in the place of " << to;
      } else {
        EXPECT_NE(from, to);
      }
    }
  }
}

TEST_F(PageChecksumsTest, FindAPageOfZerosAlsoWhereATextGoesOn) {
  const std::string sound = make();
  const auto expected = answer();
  for (std::size_t page = 0; page < sound.size() / kPage; ++page) {
    std::string zeroed = sound;
    zeroed.replace(page * kPage, kPage, kPage, '\0');
    put(zeroed);
    if (const auto got = answer()) {
      EXPECT_EQ(got, expected) << "page " << page;
    }
  }
}

TEST_F(PageChecksumsTest, StayRightWhateverIsDoneWithTheDatabase) {
  for (const char* journal : {"WAL", "DELETE", "PERSIST", "MEMORY", "TRUNCATE", "OFF"}) {
    SCOPED_TRACE(journal);
    std::filesystem::remove(path());
    Connection connection(path(), Mode::create);
    connection.execute(
        fmt::format("PRAGMA journal_mode={}; PRAGMA cache_size=10", journal).c_str());
    fill(connection);
    const std::string before = all_rows(connection);
    if (std::string_view(journal) != "OFF") {
      const Transaction rolled_back(connection);
      // More than fits into the cache, so that it reaches the file before it is undone.
      connection.execute(
          "UPDATE row SET name = name || name; DELETE FROM long; DROP INDEX row_name");
    }
    EXPECT_EQ(all_rows(connection), before);
    connection.execute("DELETE FROM row WHERE id % 3 = 0; VACUUM; PRAGMA user_version=7");
    connection.execute("INSERT INTO long VALUES (9, replace(hex(zeroblob(9000)), '00', 'c'))");
    const std::string after = all_rows(connection);
    Connection other(path(), Mode::existing);
    EXPECT_EQ(all_rows(other), after);
    const auto check = other("PRAGMA integrity_check");
    ASSERT_TRUE(check->step());
    EXPECT_EQ(check->text(0), "ok");
  }
}

TEST_F(PageChecksumsTest, AreThereInWhatAnotherConnectionMadeMeanwhile) {
  Connection early(path(), Mode::create);  // when the file is empty
  {
    Connection maker(path(), Mode::existing);
    maker.execute("PRAGMA journal_mode=WAL");
    fill(maker);
  }
  const std::string rows = all_rows(early);
  early.execute("UPDATE row SET number = 1; PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_TRUE(has_checksums());
  Connection late(path(), Mode::read_only);
  EXPECT_EQ(all_rows(late), rows);
}

// A process loses its locks on a file when it closes any descriptor of it. The next process that
// closes the database would take itself for the last, and delete the log.
TEST_F(PageChecksumsTest, AreAskedForWithoutLettingGoOfALock) {
  make();
  Connection connection(path(), Mode::existing);
  connection.execute("PRAGMA journal_mode=WAL; UPDATE row SET number = 1");
  EXPECT_TRUE(connection.has_checksums());
  EXPECT_TRUE(has_checksums());
  const auto other = flor::testing::run_process(
      {"python3", "-c",
       "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
       "print(c.execute('SELECT sum(number) FROM row').fetchone()[0]); c.close()",
       path().string()});
  EXPECT_EQ(other.out, "300.0\n") << other.err;
  EXPECT_TRUE(std::filesystem::exists(path().string() + "-wal"));
}

TEST_F(PageChecksumsTest, AreNotWantedOfADatabaseThatLeavesNoRoomForThem) {
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &plain), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(plain, "CREATE TABLE t (a); INSERT INTO t VALUES (41)", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(plain);
  EXPECT_FALSE(has_checksums());
  Connection connection(path(), Mode::create);
  connection.execute("UPDATE t SET a = a + 1");
  const auto query = connection("SELECT a FROM t");
  ASSERT_TRUE(query->step());
  EXPECT_EQ(query->integer(0), 42);
}

TEST_F(PageChecksumsTest, AreWrongAfterAProgramThatKnowsNothingOfThemHasWritten) {
  make();
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &plain), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(plain, "UPDATE row SET number = 0", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(plain);
  EXPECT_EQ(answer(), std::nullopt);
}

}  // namespace
}  // namespace flor::store
