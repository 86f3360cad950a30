// The journals are the truth: an index that is gone, damaged or behind is made again from them, and
// says the same.
#include "golden_text.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "run_fixture.h"
#include "store_impl.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// The whole index as if it were gone.
void remove_index(const fs::path& home) {
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    fs::remove(home / file);
  }
}

/// Every line by itself, so that a difference is one line; without what evaluators found, which no
/// journal says.
std::vector<std::string> lines_of(const Store& store) {
  std::vector<std::string> lines;
  std::istringstream in(golden_runs(store));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("evaluated by job")) lines.push_back(line);
  }
  return lines;
}

std::string difference(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string a = i < one.size() ? one[i] : "(nothing)";
    const std::string b = i < other.size() ? other[i] : "(nothing)";
    if (a != b) return a + "\n is not \n" + b;
  }
  return {};
}

class JournalTest : public StoreTest {
 protected:
  void take_golden() {
    fs::copy(fs::path(FLOR_GOLDEN_STORES) / "format-2", home(), fs::copy_options::recursive);
    expected_ = lines_of(*open(OpenMode::read_only));
    ASSERT_GT(expected_.size(), 100u);
  }
  std::vector<std::string> expected_;
};

TEST_F(JournalTest, AnIndexThatIsGoneIsMadeAgain) {
  take_golden();
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing, OpenMode::create}) {
    remove_index(home());
    const auto store = open(mode);
    EXPECT_EQ(difference(lines_of(*store), expected_), "");
    EXPECT_EQ(damage(*store), "");
  }
}

/// Each byte of the index, and each cut of it: no run and no checkpoint is lost, and no command
/// fails twice.
TEST_F(JournalTest, ADamagedIndexIsMadeAgain) {
  take_golden();
  open(OpenMode::create);  // leaves all in the file
  std::string bytes;
  {
    std::ifstream in(home() / "catalog.db", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::minstd_rand random(3);
  const auto damaged = [&](const std::string& what, const std::string& with) {
    remove_index(home());
    std::ofstream(home() / "catalog.db", std::ios::binary) << with;
    for (int i = 0;; ++i) {
      ASSERT_LT(i, 3) << what;
      try {
        const auto store = open(OpenMode::existing);
        const auto now = lines_of(*store);
        if (!damage(*store, false).empty() && i == 0) continue;
        if (difference(now, expected_).empty()) break;
      } catch (const Error&) {
        // The next command makes it again.
      }
    }
  };
  for (const std::size_t page : {0u, 1u, 2u, 5u, 9u}) {
    std::string with = bytes;
    const std::size_t at = page * 4096;
    if (at + 4096 > with.size()) break;
    for (std::size_t i = 0; i < 4096; ++i) with[at + i] = static_cast<char>(random());
    damaged("page " + std::to_string(page), with);
  }
  for (const std::size_t size : {0u, 1u, 100u, 4096u, 40'000u}) {
    damaged("cut at " + std::to_string(size), bytes.substr(0, size));
  }
}

/// The index as it was before a process that was killed between its journal and the index.
TEST_F(JournalTest, AnIndexThatIsBehindIsBroughtUpToDate) {
  const fs::path before = home().parent_path() / "before";
  std::vector<std::string> expected;
  std::int64_t run = 0;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run()).id;
    CheckpointWriter writer(*store, run);
    writer.write(boundary(0), make_snapshot(1, 0, 1000));
  }
  fs::copy(home() / "catalog.db", before);
  {
    const auto store = open();
    CheckpointWriter writer(*store, run);
    writer.write(boundary(1), make_snapshot(1, 1, 1000));
    store->catalog().add_argument(run, {"lr", "real", "0.5"});
    Value value;
    value.name = "loss";
    value.value = 0.25;
    store->catalog().add_values(run, std::span(&value, 1));
    store->catalog().finish_run(run, 5, false, "");
    expected = lines_of(*store);
  }
  remove_index(home());
  fs::copy(before, home() / "catalog.db");
  // Without the announcement nobody knows of the second writer; a process that was killed leaves
  // it.
  const Run known = open(OpenMode::read_only)->catalog().runs().at(0);
  std::ofstream(Paths{home()}.announced() / (known.key + ".0000000000000000"));
  const auto store = open(OpenMode::read_only);
  EXPECT_EQ(difference(lines_of(*store), expected), "");
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoints(known.id).at(1).id, make_snapshot(1, 1, 1000));
}

TEST_F(JournalTest, ARunThatWasDroppedStaysAway) {
  {
    const auto store = open();
    const Run gone = store->catalog().add_run(new_run("gone"));
    store->catalog().add_run(new_run("stays"));
    store->catalog().drop_run(gone.id);
  }
  remove_index(home());
  const auto store = open();
  ASSERT_EQ(store->catalog().runs().size(), 1u);
  EXPECT_EQ(store->catalog().runs()[0].start.experiment, "stays");
}

/// A flipped bit of a journal is undone; what a damaged page held is lost, and the rest is not.
TEST_F(JournalTest, DamageOfAJournalCostsWhatItHeld) {
  Run run;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run());
    for (int i = 0; i < 50; ++i) {
      store->catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
    }
  }
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  std::string bytes;
  {
    std::ifstream in(journal, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto arguments_with = [&](const std::string& with) {
    std::ofstream(journal, std::ios::binary) << with;
    remove_index(home());
    const auto store = open();
    return store->catalog().arguments(store->catalog().runs().at(0).id).size();
  };
  std::minstd_rand random(5);
  for (int i = 0; i < 20; ++i) {
    std::string with = bytes;
    with[random() % with.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_EQ(arguments_with(with), 50u);
  }
  std::string with = bytes;
  for (std::size_t i = 0; i < 200; ++i) with[with.size() / 2 + i] = 'x';
  const std::size_t left = arguments_with(with);
  EXPECT_GE(left, 46u);
  EXPECT_LT(left, 50u);
  EXPECT_EQ(arguments_with(bytes.substr(0, bytes.size() - 3)), 49u) << "a torn tail";
}

TEST_F(JournalTest, AStoreOfAnOlderFormIsRefusedInOneLine) {
  fs::create_directories(home());
  {
    Connection connection(home() / "catalog.db", Connection::Mode::create);
    connection.execute("CREATE TABLE run (id INTEGER); PRAGMA user_version=1; PRAGMA "
                       "application_id=1179406162");
  }
  for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
    EXPECT_THAT([&] { open(mode); },
                ::testing::ThrowsMessage<Error>(HasSubstr("has the form of an older Flor")));
  }
}

}  // namespace
}  // namespace flor::store
