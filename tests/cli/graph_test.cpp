// flor list --graph: which runs were forked from which.
#include "cli/fixture.h"
#include "view/run_graph.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> drawn(const std::vector<cli::GraphNode>& nodes) {
  std::vector<std::string> lines;
  for (const cli::GraphLine& line : cli::draw_graph(nodes)) lines.push_back(line.text);
  return lines;
}

TEST(RunGraph, OfRunsWithoutParentsIsAColumn) {
  EXPECT_THAT(drawn({}), IsEmpty());
  EXPECT_THAT(drawn({{3}, {2}, {1}}), ElementsAre("*", "*", "*"));
}

TEST(RunGraph, AForkHasAnEdgeToItsParent) {
  EXPECT_THAT(drawn({{3, 1}, {2}, {1}}), ElementsAre("*", "@", "| *", "*"));
  EXPECT_THAT(drawn({{3, 2}, {2, 1}, {1}}), ElementsAre("*", "@", "*", "@", "*"));
}

TEST(RunGraph, ForksOfOneRunComeTogether) {
  EXPECT_THAT(drawn({{4, 1}, {3, 1}, {2, 1}, {1}}),
              ElementsAre("*", "@", "| *", "| @", "| | *", "| | @", "| |/", "|/", "*"));
}

TEST(RunGraph, EdgesPassEachOther) {
  EXPECT_THAT(drawn({{6, 1}, {5, 2}, {4, 1}, {2}, {1}}),
              ElementsAre("*", "@", "| *", "| @", "| | *", "| | @", "| * |", "|__/", "*"));
  EXPECT_THAT(drawn({{6, 1}, {5, 2}, {4, 1}, {1}, {2}}),
              ElementsAre("*", "@", "| *", "| @", "| | *", "| | @", "|_|/", "* |", "  *"));
}

TEST(RunGraph, AParentThatIsNotShownEndsTheEdge) {
  EXPECT_THAT(drawn({{3, 0}, {2}}), ElementsAre("*", "@", "*"));
  // It came first: a bucket was fetched in another order.
  EXPECT_THAT(drawn({{1}, {2, 1}, {3}}), ElementsAre("*", "*", "@", "*"));
}

TEST(RunGraph, ResumptionsHaveLines) {
  EXPECT_THAT(drawn({{2, 1, 2}, {1, std::nullopt, 1}}), ElementsAre("*", ":", ":", "@", "*", ":"));
}

class GraphTest : public CliTest {
 protected:
  store::Run fork(const store::Run& parent, std::int64_t epoch) {
    store::NewRun start;
    start.experiment = "linear";
    start.started_us = parent.start.started_us + 1'000'000;
    return catalog().fork_run({.parent = parent.key, .iteration = epoch, .epoch = epoch}, start, {},
                              {});
  }
  static std::string id(const store::Run& run) { return run.key.substr(0, 8); }
};

TEST_F(GraphTest, ListsForksAndResumedRuns) {
  const store::Run first = record({});
  const store::Run second = fork(first, 2), third = fork(second, 1);
  const store::Run other = record({.epochs = 1});
  store::Resumption resumption;
  resumption.resumed_us = second.start.started_us + 5;
  resumption.point.epoch = resumption.point.iteration = 2;
  catalog().resume_run(second.id, resumption);
  EXPECT_THAT(flor({"list", "--graph", "-c", "run,epochs"}).lines(),
              ElementsAre("   run                  epochs",            //
                          "*  " + id(other) + "                  1",   //
                          "*  " + id(third) + "                  1",   //
                          "@  epoch 0 of " + id(second),               //
                          "*  " + id(second) + "                  2",  //
                          ":  epoch 2, resumed",                       //
                          "@  epoch 1 of " + id(first),                //
                          "*  " + id(first) + "                  3"));
  const Json runs = flor({"list", "-g", "--json"}).json()["runs"];
  EXPECT_EQ(runs[1]["forked_from"], (Json{{"run", second.key}, {"epoch", 0}}));
  EXPECT_EQ(runs[2]["resumed_at"], Json::array({2}));
  EXPECT_TRUE(runs[3]["forked_from"].is_null());
}

TEST_F(GraphTest, GoesWithNoOtherOrder) {
  record({});
  EXPECT_EQ(flor({"list", "-g", "--sort", "loss"}).status, 2);
  EXPECT_EQ(flor({"list", "-g", "-r"}).status, 2);
  EXPECT_EQ(flor({"list", "-g", "-q"}).status, 2);
  EXPECT_THAT(flor({"list", "-g"}).lines(), SizeIs(2));
}

}  // namespace
}  // namespace flor::testing
