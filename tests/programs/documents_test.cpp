// Values of iterations: recorded with what is logged in them, compared in replays, and columns of
// every answer, whatever became of the run in between.
#include "workbench.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

namespace flor::testing::documents_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;

class Documents : public ::testing::Test {
 protected:
  ~Documents() override {
    for (const char* name : {"DOCUMENTS", "DIES_AT", "FLOR_HOME"}) ::unsetenv(name);
  }

  ProcessResult record(const std::string& what, const std::string& name) const {
    const ProcessResult result = bench_.run(
        "documents", {"--flor", name, "--flor_every", "1", "--kwargs", "what=" + what});
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  ProcessResult flor(const Words& words, const std::filesystem::path& home = {}) const {
    ProcessOptions options = bench_.options();
    if (!home.empty()) options.environment["FLOR_HOME"] = home.string();
    const ProcessResult result = run_process(Words{FLOR_CLI} + words, options);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  std::vector<std::string> lines(const Words& words) const { return lines_of(flor(words).out); }
  /// The rows of a query, each as its loops and the values.
  std::vector<std::string> rows(const Words& words, const std::filesystem::path& home = {}) const {
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(flor(Words{"query", "--jsonl"} + words, home).out)) {
      const Json row = Json::parse(line);
      rows.push_back(row["loops"].dump() + row["values"].dump());
    }
    return rows;
  }
  std::vector<std::string> features(const std::filesystem::path& home = {}) const {
    return rows({"feature", "--run", "parse"}, home);
  }

  /// Of each page of b.pdf, a.pdf and c.pdf.
  const std::vector<std::string> features_{
      R"({"document":0,"document_value":"b.pdf","page":0}{"feature":98.0})",
      R"({"document":0,"document_value":"b.pdf","page":1}{"feature":196.5})",
      R"({"document":1,"document_value":"a.pdf","page":0}{"feature":293.5})",
      R"({"document":1,"document_value":"a.pdf","page":1}{"feature":391.0})",
      R"({"document":2,"document_value":"c.pdf","page":0}{"feature":490.0})",
      R"({"document":2,"document_value":"c.pdf","page":1}{"feature":589.5})"};
  Workbench bench_;
};

TEST_F(Documents, EveryLoopIsAColumnWithItsValues) {
  record("parse", "parse");
  EXPECT_EQ(features(), features_);
  EXPECT_THAT(lines({"query", "feature", "--run", "parse"}),
              ElementsAre("document  document_value  page  feature  origin    verdict",
                          "       0           b.pdf     0       98  recorded  recorded",
                          "       0           b.pdf     1    196.5  recorded  recorded",
                          "       1           a.pdf     0    293.5  recorded  recorded",
                          "       1           a.pdf     1      391  recorded  recorded",
                          "       2           c.pdf     0      490  recorded  recorded",
                          "       2           c.pdf     1    589.5  recorded  recorded"));
  const auto csv = lines({"query", "length", "total", "--run", "parse", "--csv"});
  const std::string key = bench_.last_run().key;
  ASSERT_THAT(csv, SizeIs(13));
  EXPECT_EQ(csv[0],
            "run,experiment,loop,epoch,step,document,document_value,page,word,word_value,ordinal,"
            "length,total,origin,verdict");
  EXPECT_EQ(csv[2], key + ",parse,document/page/word,0,0,0,b.pdf,0,1,two,0,3,196.5,recorded,"
                          "recorded");
  const auto exported = lines({"export", "parse", "--format", "csv"});
  ASSERT_THAT(exported, SizeIs(1 + 6 + 12 + 3));
  EXPECT_EQ(exported[0],
            "run,experiment,metric,loop,epoch,step,document,document_value,page,word,word_value,"
            "ordinal,type,value,origin,verdict");
  EXPECT_EQ(exported[1],
            key + ",parse,feature,document/page,0,0,0,b.pdf,0,,,0,real,98,recorded,recorded");
}

TEST_F(Documents, AnswersOfPeopleHaveThePlaceThatTheyNameAndMeetTheFeaturesByTheValue) {
  record("parse", "parse");
  record("label", "label");
  EXPECT_THAT(rows({"label", "--run", "label"}),
              ElementsAre(R"({"document":0,"document_value":"b.pdf","page":0}{"label":"bill0"})",
                          R"({"document":0,"document_value":"b.pdf","page":1}{"label":"bill1"})",
                          R"({"document":1,"document_value":"a.pdf","page":0}{"label":"letter0"})",
                          R"({"document":1,"document_value":"a.pdf","page":0}{"label":"bill0"})",
                          R"({"document":1,"document_value":"a.pdf","page":1}{"label":"letter1"})",
                          R"({"document":1,"document_value":"a.pdf","page":1}{"label":"bill1"})"));
  // What was logged beside the loop is repeated in it, what stands outside of all in every row.
  EXPECT_THAT(rows({"by", "answers", "--run", "label"}),
              ElementsAre(R"({"document":0,"document_value":"b.pdf"}{"by":"me","answers":3})",
                          R"({"document":1,"document_value":"a.pdf"}{"by":"me","answers":3})",
                          R"({"document":1,"document_value":"a.pdf"}{"by":"me","answers":3})"));
  EXPECT_THAT(lines({"query", "by", "--run", "label"}),
              ElementsAre("document  document_value  ordinal  by  origin    verdict",
                          "       0           b.pdf        0  me  recorded  recorded",
                          "       1           a.pdf        0  me  recorded  recorded",
                          "       1           a.pdf        1  me  recorded  recorded"));
  const auto replayed = bench_.replay("documents", {"--flor_run", "label"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

TEST_F(Documents, ElementsOfEveryKindAreTheirOwnValuesOrHaveNone) {
  record("kinds", "kinds");
  const auto of = [&](const std::string& metric) { return rows({metric, "--run", "kinds"}); };
  EXPECT_THAT(of("year_seen"), ElementsAre(R"({"year":0,"year_value":2024}{"year_seen":2024})",
                                           R"({"year":1,"year_value":2025}{"year_seen":2025})"));
  EXPECT_THAT(of("rate_seen"), ElementsAre(R"({"rate":0,"rate_value":0.5}{"rate_seen":0.5})",
                                           R"({"rate":1,"rate_value":0.25}{"rate_seen":0.25})"));
  EXPECT_THAT(of("kind_seen"), ElementsAre(R"({"kind":0,"kind_value":7}{"kind_seen":7})",
                                           R"({"kind":1,"kind_value":8}{"kind_seen":8})"));
  EXPECT_THAT(of("plain_seen"), ElementsAre(R"({"plain":0}{"plain_seen":0})",
                                            R"({"plain":1}{"plain_seen":1})"));
  EXPECT_THAT(of("sparse_seen"),
              ElementsAre(R"({"sparse":0,"sparse_value":0}{"sparse_seen":0})",
                          R"({"sparse":1,"sparse_value":5}{"sparse_seen":5})"));
  EXPECT_THAT(of("letter_seen"), ElementsAre(R"({"letter":0}{"letter_seen":97})",
                                             R"({"letter":1}{"letter_seen":98})"));
  EXPECT_THAT(of("batch_seen"),
              ElementsAre(R"({"batch":0}{"batch_seen":1})", R"({"batch":1}{"batch_seen":2})"));
  // Each element was asked for once.
  EXPECT_THAT(of("computed_seen"),
              ElementsAre(R"({"computed":0,"computed_value":10}{"computed_seen":10})",
                          R"({"computed":1,"computed_value":20}{"computed_seen":20})"));
  EXPECT_EQ(of("down_seen")[3],
            R"({"from_one":1,"from_one_value":2,"down":1,"down_value":1,"hand":2,)"
            R"("hand_value":"left"}{"down_seen":1})");
  const auto replayed = bench_.replay("documents", {"--flor_run", "kinds"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

TEST_F(Documents, TextsAreKeptBoundedAsUtf8AndWithoutSecrets) {
  const ProcessResult recorded = record("texts", "texts");
  EXPECT_THAT(recorded.err, HasSubstr("a value of the loop \"text\" has more than 1024 bytes"));
  std::vector<std::string> values;
  for (const std::string& line :
       lines_of(flor({"query", "--jsonl", "bytes", "--run", "texts"}).out)) {
    values.push_back(Json::parse(line)["loops"].value("text_value", "none"));
  }
  EXPECT_THAT(values, ElementsAre("h\xc3\xa9", "bad\\xff byte", "***", "two\nlines",
                                  std::string(1020, 'x') + "...", std::string(1024, 'y'), ""));
  EXPECT_THAT(rows({"length", "--run", "texts"}),
              ElementsAre(R"({"password":0,"password_value":"***"}{"length":11})"));
  const auto replayed = bench_.replay("documents", {"--flor_run", "texts"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

TEST_F(Documents, AReplayOverOtherFilesDiffersAndOneThatSkipsLoopsNeedsNoValues) {
  record("parse", "parse");
  const auto replayed = bench_.replay("documents", {"--flor_run", "parse"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  for (const char* part : {"0/2", "1/2"}) {
    const auto one = bench_.run("documents", {"--replay_flor", part, "--flor_run", "parse"});
    EXPECT_EQ(one.status, 0) << one.err;
  }
  ::setenv("DOCUMENTS", "b.pdf x.pdf c.pdf", 1);
  const auto other = bench_.replay("documents", {"--flor_run", "parse"});
  EXPECT_EQ(other.status, 7) << other.err;
  EXPECT_THAT(other.err, HasSubstr("the value of the iteration at document 1: recorded 'a.pdf', "
                                   "replayed 'x.pdf'"));
  EXPECT_EQ(features(), features_);
}

TEST_F(Documents, ValuesGoWhereTheRunGoes) {
  ::setenv("DIES_AT", "1", 1);
  const auto killed = bench_.run("documents", {"--flor", "parse", "--flor_every", "1"});
  EXPECT_NE(killed.status, 0);
  ::unsetenv("DIES_AT");
  const auto resumed = bench_.run("documents", {"--flor", "parse", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(features(), features_);

  flor({"gc"});
  std::filesystem::remove(bench_.home() / "catalog.db");
  EXPECT_EQ(features(), features_);

  const MemoryDirectory elsewhere, archive;
  const std::string url = "file://" + archive.path().string();
  flor({"spool", "parse", url});
  flor({"fetch", "parse", url}, elsewhere.path());
  EXPECT_EQ(features(elsewhere.path()), features_);

  const auto forked =
      bench_.run("documents", {"--flor", "fork", "--flor_from", "parse@1", "--flor_every", "1"});
  EXPECT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(rows({"feature", "--run", "fork"}), features_);
  flor({"fsck", "--repair"});
  EXPECT_EQ(features(), features_);
}

TEST_F(Documents, ValuesOfIterationsAreNoMetrics) {
  record("parse", "parse");
  EXPECT_THAT(flor({"show", "parse"}).out, Not(HasSubstr("flor:value")));
  EXPECT_THAT(flor({"list"}).out, Not(HasSubstr("flor:value")));
  EXPECT_THAT(flor({"export", "parse", "--format", "jsonl"}).out,
              Not(HasSubstr("flor:value")));
}

TEST_F(Documents, ANegativeNumberIsRefused) {
  EXPECT_THAT(record("wrong", "wrong").out,
              HasSubstr("flor::iteration(\"document\", -1): iterations are counted from 0"));
}

}  // namespace
}  // namespace flor::testing::documents_test
