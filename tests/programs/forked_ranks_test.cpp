// The ranks of a training are forked together, and end in the bits of the group that went on.
#include "ranks_fixture.h"

#include <csignal>

namespace flor::testing::forked_ranks_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ForkedRanks : public Ranks {
 protected:
  void train(const Words& more = {}) {
    plain_ = record(3, Words{"--kwargs", "epochs=5"} + more);
    parents_ = ranks();
    whole_ = records();
    ASSERT_EQ(whole_.size(), 3u);
  }
  Words from(std::int64_t epoch, const std::string& parent = {}) const {
    return {
        "--flor_from",  (parent.empty() ? parents_[0].key : parent) + "@" + std::to_string(epoch),
        "--flor",       "test",
        "--flor_every", "1"};
  }
  /// The last group is the whole training, each rank of it forked from the same rank at the epoch.
  void expect_forked(std::int64_t epoch, const std::vector<ProcessResult>& forked) const {
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(forked[i].status, 0) << forked[i].err;
      EXPECT_EQ(lines_of(forked[i].out).back(), lines_of(plain_[i].out).back());
    }
    const auto runs = ranks();
    ASSERT_EQ(runs.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_NE(runs[i].key, parents_[i].key);
      EXPECT_EQ(runs[i].start.rank, (store::RankPlace{runs[0].id, static_cast<int>(i), 3}));
      EXPECT_EQ(runs[i].start.commit, runs[0].start.commit);
      const auto origin = bench_.store()->catalog().fork(runs[i].id);
      ASSERT_TRUE(origin);
      EXPECT_EQ(origin->parent, parents_[i].key);
      EXPECT_EQ(origin->epoch, epoch + 1);
      EXPECT_TRUE(origin->exact);
    }
    EXPECT_EQ(records(), whole_);
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
  void remove_index() const {
    for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
      std::filesystem::remove(bench_.home() / file);
    }
  }

  std::vector<ProcessResult> plain_;
  std::vector<store::Run> parents_;
  std::vector<WholeRecord> whole_;
};

TEST_F(ForkedRanks, EndInTheBitsOfTheGroupThatWentOn) {
  train();
  for (const std::int64_t epoch : {0, 2, 3, 4}) {
    SCOPED_TRACE(epoch);
    // Any rank stands for its group.
    const auto forked = run_all(3, from(epoch, parents_[epoch % 3].key));
    expect_forked(epoch, forked);
    EXPECT_THAT(forked[0].err, HasSubstr("checked: epoch " + std::to_string(epoch)));
    EXPECT_THAT(forked[0].err, HasSubstr(" from the end of epoch " + std::to_string(epoch) +
                                         " of run " + parents_[0].key.substr(0, 8)));
    remove_index();
    EXPECT_EQ(records(), whole_) << "the journals say as much";
    const auto replayed = flor({"replay", "test", "--workers", "1", "--probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    EXPECT_THAT(replayed.out, HasSubstr("verified: "));
  }
}

TEST_F(ForkedRanks, OnMachinesWithIndexesOfTheirOwn) {
  on_machines_ = true;
  ::setenv("FLOR_INDEX", index_of(9).c_str(), 1);
  train();
  expect_forked(1, run_all(3, from(1)));
  ::unsetenv("FLOR_INDEX");
}

TEST_F(ForkedRanks, GoOnBeyondTheEndOfAFinishedGroup) {
  const auto longer = record(2, {"--kwargs", "epochs=6"});
  const auto whole = records();
  record(2, {"--kwargs", "epochs=3"});
  const auto forked = run_all(2, {"--flor_from", "test", "--kwargs", "epochs=6"});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(forked[i].status, 0) << forked[i].err;
    EXPECT_EQ(lines_of(forked[i].out).back(), lines_of(longer[i].out).back());
    EXPECT_FALSE(bench_.store()->catalog().fork(ranks()[i].id)->exact);
  }
  EXPECT_THAT(forked[0].err, HasSubstr("with epochs=6 (it had 3)"));
  EXPECT_THAT(forked[0].err, HasSubstr("not checked: it does not compute what run"));
  const auto records_now = records();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(records_now[i].values, whole[i].values);
    EXPECT_EQ(records_now[i].checkpoints, whole[i].checkpoints);
  }
}

/// State that no checkpoint holds is found out where it would be lost, by all of them at once.
TEST_F(ForkedRanks, AreCheckedByAllOfThem) {
  for (const int forgets : {2, 3}) {
    record(2, {"--kwargs", "forgets=" + std::to_string(forgets)});
    for (const auto& forked : run_all(2, {"--flor_from", "test@2"})) {
      EXPECT_EQ(forked.status, 7) << forked.out << forked.err;
    }
  }
}

TEST_F(ForkedRanks, GoOnExactlyAfterAKill) {
  train({"pause_ms=15"});
  for (const int victim : {0, 2}) {
    SCOPED_TRACE(victim);
    const auto killed = run_all(3, from(1), victim, {{"RAISE", "9:6"}});
    EXPECT_EQ(killed[static_cast<std::size_t>(victim)].signal, SIGKILL);
    expect_forked(1, run_all(3, {"--flor", "test", "--flor_resume"}));
  }
}

TEST_F(ForkedRanks, GoOnExactlyWhereOneOfThemHasNotEvenBegun) {
  train();
  ::setenv("PATIENCE", "1", 1);
  const auto begun = run_all(3, from(2), 2, {{"WORLD_SIZE", "2"}});  // there is no rank 2 of two
  ::unsetenv("PATIENCE");
  EXPECT_EQ(begun[2].status, 2) << begun[2].err;
  EXPECT_EQ(ranks().size(), 2u);
  expect_forked(2, run_all(3, {"--flor", "test", "--flor_resume"}));
}

#ifdef FLOR_DDP
TEST_F(ForkedRanks, OfTheExampleThatTrainsOverGlooEndInItsBits) {
  const auto plain = record(2, {"--kwargs", "epochs=3", "pictures=600", "hidden=32"}, FLOR_DDP);
  const auto whole = records();
  const auto forked = run_all(2, {"--flor_from", "test@1", "--flor_every", "1"}, -1, {}, FLOR_DDP);
  for (const auto& result : forked) EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(lines_of(forked[0].out).back(), lines_of(plain[0].out).back());
  EXPECT_EQ(records(), whole);
}
#endif

TEST_F(ForkedRanks, OfAnotherNumberAreRefused) {
  train();
  const auto two = run_all(1, from(1), 0, {{"WORLD_SIZE", "2"}});
  EXPECT_EQ(two[0].status, 2);
  EXPECT_THAT(two[0].err,
              HasSubstr("was recorded by 3 ranks, and 2 are here: fork it with as many"));
  const auto alone = bench_.run("averager", from(1));
  EXPECT_EQ(alone.status, 2) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("was recorded by 3 ranks, and there is one process here"));
  EXPECT_EQ(ranks()[0].key, parents_[0].key) << "nothing was begun";
}

}  // namespace
}  // namespace flor::testing::forked_ranks_test
