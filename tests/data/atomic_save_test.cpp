// Files that are whole or absent: what is in them, what a crash at any system call leaves, and what
// a failing disk or a failing object does not destroy.
#include "support/syscall_tracer.h"
#include "support/temporary_directory.h"

#include <flor/save/atomic_save.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace flor::atomic_save_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Fails when a part of it has been saved.
struct HalfSaved {
  void save(const StateWriter& writer) const {
    writer.bytes("first", "half");
    throw Error("there is no other half");
  }
  void load(const StateReader&) {}
};

class AtomicSaveTest : public ::testing::Test {
 protected:
  fs::path file() const { return directory_ / "state.safetensors"; }
  const fs::path& directory() const { return directory_.path(); }
  void save(int number) const {
    std::vector<int> many(50'000, number);
    atomic_save(file(), many);
  }
  int load() const {
    std::vector<int> many;
    atomic_load(file(), many);
    EXPECT_EQ(many.size(), 50'000u);
    EXPECT_EQ(std::set<int>(many.begin(), many.end()).size(), 1u);
    return many.at(0);
  }

 private:
  testing::TemporaryDirectory directory_{testing::fast_parent()};
};

TEST_F(AtomicSaveTest, GivesBackWhateverCheckpointsTake) {
  double rate = 0.25;
  std::string text("a\0b", 3);
  std::map<std::string, std::vector<float>> table{{"x", {1, 2}}, {"y", {}}};
  std::mt19937 engine(4);
  engine.discard(10);
  std::optional<int> none;
  std::unique_ptr<int> null;
  atomic_save(file(), rate, text, table, flor::named("engine", engine), none, null);
  double rate2 = 0;
  std::string text2;
  std::map<std::string, std::vector<float>> table2;
  std::mt19937 engine2;
  std::optional<int> none2 = 3;
  auto null2 = std::make_unique<int>(3);
  atomic_load(file(), rate2, text2, table2, flor::named("engine", engine2), none2, null2);
  EXPECT_EQ(rate2, rate);
  EXPECT_EQ(text2, text);
  EXPECT_EQ(table2, table);
  EXPECT_EQ(engine2, engine);
  EXPECT_FALSE(none2);
  EXPECT_FALSE(null2);
}

TEST_F(AtomicSaveTest, SaysWhatDoesNotFit) {
  double rate = 0.25;
  atomic_save(file(), rate);
  std::int32_t wrong = 0;
  EXPECT_THAT([&] { atomic_load(file(), wrong); },
              ThrowsMessage<Error>(HasSubstr("'value' was recorded as f64, but is i32 here")));
  double other = 0;
  EXPECT_THAT([&] { atomic_load(file(), other, rate); },
              ThrowsMessage<Error>(HasSubstr("there is no 'value2' in it")));
  EXPECT_THROW(atomic_load(directory() / "missing", rate), Error);
  std::ofstream(file()) << "nonsense";
  EXPECT_THROW(atomic_load(file(), rate), UsageError);
  EXPECT_EQ(rate, 0.25);
}

TEST_F(AtomicSaveTest, AnObjectThatCannotBeSavedLeavesTheOldFile) {
  save(1);
  HalfSaved half;
  EXPECT_THAT([&] { atomic_save(file(), half); },
              ThrowsMessage<Error>(HasSubstr("there is no other half")));
  EXPECT_THROW(atomic_write(file(),
                            [](std::ostream& out) {
                              out << "half";
                              throw Error("no more");
                            }),
               Error);
  EXPECT_EQ(load(), 1);
  EXPECT_THAT(names_in(directory()), ElementsAre("state.safetensors"));
}

TEST_F(AtomicSaveTest, AnyBytesCanBeWritten) {
  atomic_write(file(), [](std::ostream& out) { out << "text"; });
  EXPECT_EQ(read(file()), "text");
  const fs::path before = fs::current_path();
  fs::current_path(directory());
  atomic_write("relative", [](std::ostream& out) { out << "there"; });
  EXPECT_EQ(read("relative"), "there");
  fs::current_path(before);
}

TEST_F(AtomicSaveTest, AFileThatMayGrowNoFurtherKeepsTheOldOne) {
  save(1);
  const auto result = testing::SyscallTracer::run(
      [&] {
        const rlimit limit{100'000, 100'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::signal(SIGXFSZ, SIG_IGN);
      },
      [&] { EXPECT_THROW(save(2), Error); }, 1 << 30);
  if (result.refused) GTEST_SKIP() << "the system does not allow tracing";
  EXPECT_EQ(load(), 1);
  EXPECT_THAT(names_in(directory()), ElementsAre("state.safetensors"));
}

TEST_F(AtomicSaveTest, AtAnySystemCallACrashLeavesTheOldFileOrTheNewOneAndTheNextSaveCleansUp) {
  int crashes = 0, old_ones = 0;
  for (int stop = 1;; ++stop) {
    save(1);
    const auto result = testing::SyscallTracer::run([] {}, [&] { save(2); }, stop);
    if (result.refused) GTEST_SKIP() << "the system does not allow tracing";
    if (result.finished) break;
    ++crashes;
    const int found = load();
    ASSERT_TRUE(found == 1 || found == 2) << found;
    old_ones += found == 1;
    save(3);
    ASSERT_EQ(load(), 3);
    ASSERT_THAT(names_in(directory()), ElementsAre("state.safetensors"));
  }
  fmt::print("{} crashes: {} left the old file, {} the new one\n", crashes, old_ones,
             crashes - old_ones);
  EXPECT_GT(crashes, 15);
}

TEST_F(AtomicSaveTest, SeveralWritersOfOneFileDoNotDisturbEachOther) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 0; round < 25; ++round) save(10 * i + round % 10);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_LT(load(), 40);
  EXPECT_THAT(names_in(directory()), ElementsAre("state.safetensors"));
}

TEST_F(AtomicSaveTest, FilesThatOnlyLookLikeLeftoversStay) {
  std::ofstream(directory() / ".state.safetensors.notes.tmp") << "mine";
  std::ofstream(directory() / ".state.safetensors.12-3.tmp") << "of a killed process";
  std::ofstream(directory() / ".other.12-3.tmp") << "of another file";
  save(1);
  EXPECT_THAT(names_in(directory()),
              ElementsAre(".other.12-3.tmp", ".state.safetensors.notes.tmp", "state.safetensors"));
}

}  // namespace
}  // namespace flor::atomic_save_test
