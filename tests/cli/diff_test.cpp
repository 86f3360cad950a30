// flor diff, without and with the recorded sources.
#include "cli/repository.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DiffTest : public RepositoryTest {};

TEST_F(DiffTest, ShowsWhatIsDifferentAndCountsWhatIsEqual) {
  RunPlan plan;
  record(plan);
  plan.arguments[1].value = "0.01";
  plan.arguments.push_back({"momentum", "real", "0.9"});
  plan.loss = 0.5;
  record(plan);
  const Outcome outcome = flor({"diff", "linear~1", "linear"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("lr         0.001     0.01\n"));
  EXPECT_THAT(outcome.out, HasSubstr("momentum   -         0.9\n"));
  EXPECT_THAT(outcome.out, HasSubstr("and 1 equal\n"));
  EXPECT_THAT(outcome.out, HasSubstr("0.9375   0.96875  +0.0312\n"));
  EXPECT_THAT(outcome.out, HasSubstr("environment  equal (2)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("sources  unknown\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("note")));
}

TEST_F(DiffTest, ShowsTheShapesOfObjectsAndThatTheyDiffer) {
  for (const char* counts : {"[3,1]", "[2,2]"}) {
    store::Value weights = value("weights", 0);
    weights.type = store::ValueType::histogram;
    weights.value = std::string(R"({"edges":[-1.0,0.0,2.0],"counts":)") + counts + "}";
    catalog().add_values(record({}).id, std::vector{weights});
  }
  const Outcome outcome = flor({"diff", "linear~1", "linear"});
  EXPECT_THAT(outcome.out,
              HasSubstr("weights  histogram of 2 bins  histogram of 2 bins  differs\n"));
}

TEST_F(DiffTest, PromisesItsJsonFieldByField) {
  RunPlan plan;
  const store::Run a = record(plan);
  plan.arguments[1].value = "0.01";
  plan.loss = 0.5;
  const store::Run b = record(plan);
  const Json json = flor({"diff", a.key, b.key, "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "diff");
  EXPECT_EQ(json["a"]["id"], a.key);
  EXPECT_EQ(json["b"]["id"], b.key);
  EXPECT_EQ(json["arguments"]["lr"], (Json{{"a", 0.001}, {"b", 0.01}, {"equal", false}}));
  EXPECT_EQ(json["arguments"]["epochs"]["equal"], true);
  EXPECT_EQ(json["metrics"]["accuracy"], (Json{{"a", 0.9375}, {"b", 0.96875}, {"equal", false}}));
  EXPECT_EQ(json["environment"]["host"]["equal"], true);
  EXPECT_EQ(json["sources"]["known"], false);
  EXPECT_TRUE(json["sources"]["changes"].is_null());
}

TEST_F(DiffTest, ComparesTheRecordedSources) {
  write("train.cpp", "int main() {}\n");
  RunPlan plan;
  plan.commit = commit("first");
  record(plan);
  write("train.cpp", "int main() { return 0; }\n");
  write("net.h", "#pragma once\n");
  plan.commit = commit("second");
  record(plan);
  const Outcome outcome = flor({"diff", "linear~1", "linear", "--patch"});
  EXPECT_THAT(outcome.out, HasSubstr("sources  2 files, +2 -1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("A  net.h      +1  -0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("M  train.cpp  +1  -1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n-int main() {}\n+int main() { return 0; }\n"));
  const Json sources = flor({"diff", "linear~1", "linear", "--json"}).json()["sources"];
  EXPECT_EQ(sources["known"], true);
  EXPECT_EQ(sources["equal"], false);
  EXPECT_EQ(sources["changes"][0],
            (Json{{"kind", "A"}, {"path", "net.h"}, {"added", 1}, {"removed", 0}}));
  EXPECT_FALSE(sources.contains("patch"));
  EXPECT_THAT(flor({"diff", "linear", "linear"}).out, HasSubstr("sources  equal\n"));
}

TEST_F(DiffTest, SaysThatTheRepositoryIsGone) {
  RunPlan plan;
  plan.repository = (directory_ / "gone").string();
  plan.commit = std::string(40, 'a');
  record(plan);
  plan.commit = std::string(40, 'b');
  record(plan);
  const Outcome outcome = flor({"diff", "linear~1", "linear"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("is gone: its sources cannot be compared"));
  EXPECT_THAT(outcome.out, HasSubstr("sources  unknown"));
}

TEST_F(DiffTest, RefusesAnEpoch) {
  record({});
  const Outcome outcome = flor({"diff", "linear", "linear@1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("leave out @1"));
}

}  // namespace
}  // namespace flor::testing
