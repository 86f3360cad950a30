// flor sql: questions to the catalog, which nothing can change.
#include "cli/fixture.h"
#include "support/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SqlTest : public CliTest {
 protected:
  Outcome sql(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sql");
    return flor(std::move(arguments));
  }
};

TEST_F(SqlTest, AnswersInATableWithNumbersToTheRight) {
  record({});
  EXPECT_THAT(sql({"SELECT metric, count, last, NULL AS empty FROM metrics ORDER BY 1"}).lines(),
              ElementsAre("metric    count      last  empty",  //
                          "accuracy      3    0.9375  -",      //
                          "loss         12      0.55  -",      //
                          "note          1  all well  -"));
}

TEST_F(SqlTest, HasViewsThatReadAsPeopleThink) {
  const store::Run run = record({.epochs = 2, .steps = 2});
  replay(run, 2, 2);
  EXPECT_EQ(
      sql({"SELECT experiment, started, seconds, status, epochs FROM runs", "--format", "csv"}).out,
      "experiment,started,seconds,status,epochs\n"
      "linear,2023-11-14T22:13:20Z,90,finished,2\n");
  EXPECT_EQ(sql({"SELECT argument, value + 1 FROM arguments ORDER BY 1", "--format", "csv"}).out,
            "argument,value + 1\nepochs,4\nlr,1.001\n");
  EXPECT_EQ(sql({fmt::format("SELECT loop, epoch, step, value, origin FROM points WHERE run = '{}' "
                             "AND metric = 'gradient' AND epoch = 1",
                             run.key),
                 "--format", "csv"})
                .out,
            "loop,epoch,step,value,origin\n"
            "epoch/train,1,0,0.5,hindsight\nepoch/train,1,1,1.5,hindsight\n");
}

TEST_F(SqlTest, TellsARunThatGoesOnFromOneThatWasKilled) {
  store::NewRun start;
  start.experiment = "live";
  const store::Run run = catalog().add_run(start);
  auto lock = store().lock_run(run.key);
  const std::vector<std::string> question = {"SELECT status FROM runs", "--format", "csv"};
  EXPECT_EQ(sql(question).out, "status\nrunning\n");
  lock.reset();
  EXPECT_EQ(sql(question).out, "status\ninterrupted\n");
}

TEST_F(SqlTest, HasNoNanInSums) {
  const store::Run run = record({.epochs = 2});
  catalog().add_values(
      run.id,
      std::vector{value("odd", std::numeric_limits<double>::quiet_NaN(), 0), value("odd", 3, 1)});
  EXPECT_EQ(sql({"SELECT avg(value), count(*), count(value) FROM points WHERE metric = 'odd'",
                 "--format", "csv"})
                .lines()[1],
            "3,2,1");
}

TEST_F(SqlTest, WritesRowsInEveryForm) {
  record({});
  const std::string question = "SELECT 1 AS a, 'x,\"y\"' AS b, 2.5 AS a, x'00ff' AS c, NULL AS d";
  EXPECT_EQ(sql({question, "--format", "csv"}).out, "a,b,a,c,d\n1,\"x,\"\"y\"\"\",2.5,x'00ff',\n");
  EXPECT_EQ(sql({question, "--format", "jsonl"}).out,
            "{\"a\":1,\"b\":\"x,\\\"y\\\"\",\"a_2\":2.5,\"c\":\"x'00ff'\",\"d\":null}\n");
  const Json json = sql({question, "--json"}).json();
  EXPECT_EQ(json["command"], "sql");
  EXPECT_EQ(json["columns"], Json({"a", "b", "a_2", "c", "d"}));
  EXPECT_EQ(json["rows"][0]["a_2"], 2.5);
  EXPECT_EQ(sql({"SELECT 1", "--format", "xml"}).status, 2);
}

TEST_F(SqlTest, CanNeitherWriteNorAttachNorLoad) {
  record({});
  const std::string other = (work_ / "other.db").string();
  for (const std::string& statement : {
           std::string("DELETE FROM run"),
           std::string("UPDATE run SET failed = 1"),
           std::string("INSERT INTO experiment (name) VALUES ('x')"),
           std::string("DROP TABLE run"),
           std::string("CREATE TABLE x (y)"),
           std::string("CREATE TEMP TABLE x (y)"),
           "ATTACH '" + other + "' AS other",
           "VACUUM INTO '" + other + "'",
           std::string("PRAGMA journal_mode = DELETE"),
           std::string("PRAGMA user_version = 7"),
           std::string("PRAGMA writable_schema = 1"),
           std::string("BEGIN"),
           std::string("REINDEX"),
           std::string("ANALYZE"),
           std::string("DROP VIEW runs"),
       }) {
    const Outcome outcome = sql({statement});
    EXPECT_EQ(outcome.status, 2) << statement;
    EXPECT_THAT(outcome.err, HasSubstr("the catalog can only be read")) << statement;
  }
  EXPECT_EQ(sql({"SELECT load_extension('x')"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(sql({"SELECT count(*) FROM runs WHERE status = 'finished'", "--format", "csv"}).out,
            "count(*)\n1\n");
}

TEST_F(SqlTest, SaysWhereAStatementIsWrong) {
  record({});
  const Outcome typo = sql({"SELECT run FORM runs"});
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.err, HasSubstr("SQL, column "));
  EXPECT_THAT(sql({"SELECT x FROM runs"}).err, HasSubstr("no such column: x"));
  EXPECT_THAT(sql({"SELECT 1; SELECT 2"}).err, HasSubstr("more than one statement"));
  EXPECT_EQ(sql({"SELECT 1;"}).status, 0);
  EXPECT_EQ(sql({""}).status, 2);
  EXPECT_EQ(sql({}).status, 2);
  EXPECT_THAT(sql({"-- nothing"}).err, HasSubstr("no statement"));
}

TEST_F(SqlTest, ListsTablesAndViews) {
  record({});
  const auto lines = sql({"--tables"}).lines();
  EXPECT_THAT(lines[1], ::testing::StartsWith("arguments"));
  EXPECT_THAT(lines, ::testing::Contains(::testing::StartsWith("points")));
  EXPECT_THAT(lines, ::testing::Contains(::testing::StartsWith("series")));
}

TEST_F(SqlTest, CutsLongTablesAndSaysSo) {
  record({});
  const std::string many =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT x FROM n";
  const Outcome table = sql({many});
  EXPECT_THAT(table.lines(), SizeIs(10'001));
  EXPECT_THAT(table.err, HasSubstr("only the first 10000 rows"));
  EXPECT_THAT(sql({many, "-n", "3"}).lines(), SizeIs(4));
  EXPECT_THAT(sql({many, "--format", "csv"}).lines(), SizeIs(20'001));
}

TEST_F(SqlTest, EndsAtCtrlC) {
  record({});
  Process endless({FLOR_CLI, "--home", home().string(), "sql",
                   "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT "
                   "count(*) FROM n"},
                  {});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  endless.kill(SIGINT);
  const ProcessResult result = endless.wait();
  EXPECT_EQ(result.status, 130);
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace flor::testing
