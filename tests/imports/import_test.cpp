// flor import: a log of another program is a run that is listed, queried, plotted, moved and made
// again like others, and of which nothing is executed.
#include "cli/fixture.h"
#include "imports/event_bytes.h"
#include "store/made_again.h"
#include "support/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kSlurm = R"(2024-05-01T12:00:00Z starting on node7
Epoch 1/3
2024-05-01T12:00:10Z loss=1.500
2024-05-01T12:00:20Z loss=1.250
Epoch 2/3
2024-05-01T12:00:40Z loss=1.000
Epoch 3/3
2024-05-01T12:01:00Z loss=0.750
)";

class ImportLogs : public CliTest {
 protected:
  void TearDown() override {
    close();
    if (std::filesystem::exists(home() / "runs")) store::expect_same_when_made_again(home());
  }
  std::string write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = work_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return name;
  }
  std::string said(std::vector<std::string> words) {
    const Outcome outcome = flor(std::move(words));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(int status, std::vector<std::string> words) {
    const Outcome outcome = flor(std::move(words));
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
    return outcome.err;
  }
  std::vector<std::string> ids() { return flor({"list", "-q", "--all"}).lines(); }
  store::Run only_run() {
    const auto runs = catalog().runs();
    EXPECT_THAT(runs, SizeIs(1));
    return runs.at(0);
  }
};

TEST_F(ImportLogs, ATextIsWhatTheRunPrinted) {
  write("slurm-123.out", kSlurm);
  EXPECT_THAT(said({"import", "slurm-123.out", "--name", "mnist", "--extract", R"(loss=(\d+\.\d+))",
                    "--arg", "lr=0.01", "--arg", "optimizer=adam"}),
              ::testing::MatchesRegex("run [0-9a-f]{8} \\(mnist\\): slurm-123.out: 4 values of 1 "
                                      "metric in 3 epochs, 8 lines\n"));
  const store::Run run = only_run();
  EXPECT_EQ(run.state, store::RunState::imported);
  EXPECT_EQ(run.start.started_us, 1714564800'000'000);
  EXPECT_EQ(run.epochs, 3);
  EXPECT_EQ(run.origin.kind, store::RunOrigin::Kind::imported);
  EXPECT_THAT(run.origin.from, ::testing::EndsWith("/slurm-123.out"));
  const Json listed = flor({"list", "--json"}).json()["runs"][0];
  EXPECT_EQ(listed["status"], "imported");
  EXPECT_EQ(listed["finished"], nullptr);
  EXPECT_EQ(listed["arguments"]["lr"], 0.01);
  EXPECT_EQ(listed["arguments"]["optimizer"], "adam");
  EXPECT_EQ(listed["metrics"]["loss"]["min"], 0.75);
  EXPECT_THAT(said({"list"}), HasSubstr("imported"));
  EXPECT_THAT(flor({"list", "-q", "--where", "status=imported and lr<0.1 and loss:min<1"}).lines(),
              SizeIs(1));
  EXPECT_EQ(said({"sql", "SELECT status FROM runs"}), "status\nimported\n");
  EXPECT_THAT(flor({"query", "loss", "--run", "mnist"}).lines(),
              ElementsAre("epoch  ordinal  loss  origin    verdict",   //
                          "    0        0   1.5  recorded  recorded",  //
                          "    0        1  1.25  recorded  recorded",  //
                          "    1        0     1  recorded  recorded",  //
                          "    2        0  0.75  recorded  recorded"));
  // What it printed is searched, and asked afterwards.
  EXPECT_EQ(said({"show", "mnist", "--grep", "loss=1.0"}), "1: 2024-05-01T12:00:40Z loss=1.000\n");
  EXPECT_THAT(said({"extract", "mnist", R"(node(\d+))"}), HasSubstr("1 value of node, verified"));
  const Json lines = flor({"show", "mnist", "--printed", "--json"}).json()["printed"];
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0]["time"], "2024-05-01T12:00:00.000000Z");
  EXPECT_EQ(lines[0]["epoch"], nullptr);
  EXPECT_EQ(lines[1]["epoch"], 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"show", "mnist"},
                                             {"show", "mnist", "--all"},
                                             {"plot", "mnist", "-m", "loss"},
                                             {"plot", "mnist", "-m", "loss", "--by", "time"},
                                             {"tag", "mnist", "good"},
                                             {"doctor"},
                                             {"fsck"},
                                             {"export", "mnist", "values.csv"},
                                             {"report", "mnist", "-o", "page.html"},
                                             {"log"}}) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 0) << words.front() << outcome.out << outcome.err;
  }
}

TEST_F(ImportLogs, NothingOfThemIsExecuted) {
  write("a.csv", "epoch,loss\n0,1\n1,2\n");
  said({"import", "a.csv", "--name", "a"});
  EXPECT_THAT(refused(3, {"replay", "a"}),
              HasSubstr("was not recorded by a program: there is nothing to replay"));
  EXPECT_NE(flor({"build", "a"}).status, 0);
  const store::Run before = only_run();
  close();
  // Nor does a program go on with it, or begin with it.
  for (const auto& [flags, work] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--replay_flor", "--flor_run", before.key}, "replay"},
           {{"--flor_resume", "--flor_run", before.key}, "resume"},
           {{"--flor", "b", "--flor_from", before.key + "@1"}, "fork"}}) {
    std::vector<std::string> words{FLOR_PRINTER, "--flor_no_git"};
    words.insert(words.end(), flags.begin(), flags.end());
    const ProcessResult outcome =
        Process(words, {.directory = work_, .environment = {{"FLOR_HOME", home().string()}}})
            .wait();
    EXPECT_EQ(outcome.status, 3) << work << outcome.err;
    EXPECT_THAT(outcome.err,
                HasSubstr("run " + before.key.substr(0, 8) +
                          " was not recorded by a program: there is nothing to " + work));
  }
  EXPECT_THAT(catalog().values({.run = before.id, .names = {"loss"}}), SizeIs(2));
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(ImportLogs, ATextWithoutTimesBeginsWhenItWasChanged) {
  write("train.log", "epoch 0\nloss 1\n");
  const std::filesystem::path path = work_ / "train.log";
  const auto time = std::chrono::file_clock::from_sys(
      std::chrono::sys_seconds(std::chrono::seconds(1'600'000'000)));
  std::filesystem::last_write_time(path, time);
  const Outcome outcome = flor({"import", "train.log"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("train.log tells no time: the run begins when the file was last "
                        "changed"));
  EXPECT_THAT(outcome.err, HasSubstr("makes a metric of its numbers"));
  const store::Run run = only_run();
  EXPECT_EQ(run.start.experiment, "import");
  EXPECT_EQ(run.start.started_us, 1'600'000'000'000'000);
  const Json lines = flor({"show", "import", "--printed", "--json"}).json()["printed"];
  EXPECT_EQ(lines[0]["time"], nullptr);
}

TEST_F(ImportLogs, TheSameLogIsImportedOnce) {
  write("a.csv", "epoch,loss\n0,1\n");
  said({"import", "a.csv"});
  std::filesystem::copy(work_ / "a.csv", work_ / "b.csv");
  const std::string key = ids().at(0);
  EXPECT_EQ(said({"import", "b.csv", "--name", "other"}),
            "b.csv is run " + key.substr(0, 8) + " already; --again makes another run of it\n");
  const Json again = flor({"import", "a.csv", "--json"}).json()["runs"][0];
  EXPECT_EQ(again["run"], key);
  EXPECT_EQ(again["new"], false);
  EXPECT_THAT(ids(), SizeIs(1));
  said({"import", "a.csv", "--again"});
  EXPECT_THAT(ids(), SizeIs(2));
  // One that grew is another log, and one whose run was removed is imported anew.
  write("a.csv", "epoch,loss\n0,1\n1,2\n");
  said({"import", "a.csv"});
  EXPECT_THAT(ids(), SizeIs(3));
  for (const std::string& id : ids()) said({"rm", id});
  said({"import", "a.csv"});
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(ImportLogs, AnImportThatWasKilledDoesNotCount) {
  write("a.csv", "epoch,loss\n0,1\n");
  said({"import", "a.csv"});
  const store::Run whole = only_run();
  store::NewRun begun = whole.start;
  begun.key.clear();
  said({"rm", whole.key});
  catalog().add_run(begun, {}, whole.origin);
  close();
  const Outcome outcome = flor({"import", "a.csv"});
  EXPECT_THAT(outcome.out, HasSubstr("1 value of 1 metric"));
  EXPECT_THAT(outcome.err,
              HasSubstr("has a part of a.csv alone, as its import did not end: flor rm"));
}

TEST_F(ImportLogs, EventFilesOfADirectoryAreOneRun) {
  std::string first = session_start(1.7e9);
  for (int step = 0; step < 50; ++step)
    first += scalar(1.7e9 + step, step, "loss", 1 / (1.F + static_cast<float>(step)));
  std::string second;
  for (int step = 50; step < 100; ++step) {
    second += tensor_scalar(1.7e9 + step, step, "loss", 1 / (1.F + static_cast<float>(step)));
  }
  write("logs/a/events.out.tfevents.1.host", first);
  write("logs/a/events.out.tfevents.2.host", second + session_end(1.7e9 + 99, 1, 1.7e9 + 100));
  write("logs/b/events.out.tfevents.1.host", scalar(1.7e9, 7, "accuracy", 0.5F));
  const Outcome outcome = flor({"import", "logs", "--name", "tb", "--arg", "lr=0.5"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.lines(),
              ElementsAre(HasSubstr("(tb): logs/a: 100 values of 1 metric in 1 epoch"),
                          HasSubstr("logs/b/events.out.tfevents.1.host: 1 value of 1 metric")));
  const std::string a = flor({"list", "-q", "--where", "optimizer=adam"}).lines().at(0);
  const store::Run run = catalog().resolve(a);
  EXPECT_EQ(run.state, store::RunState::finished);
  EXPECT_EQ(run.finished_us, 1'700'000'100'000'000);
  EXPECT_EQ(run.start.started_us, 1'700'000'000'000'000);
  const Json shown = flor({"show", a, "--json"}).json()["run"];
  EXPECT_EQ(shown["arguments"]["lr"], 0.5) << "what the user says counts";
  EXPECT_EQ(shown["metrics"]["loss"]["count"], 100);
  const auto rows = flor({"query", "loss", "--run", a}).lines();
  ASSERT_THAT(rows, SizeIs(101));
  EXPECT_EQ(rows.at(0), "epoch  step       loss  origin    verdict");
  EXPECT_EQ(rows.at(100), "    0    99       0.01  recorded  recorded");
  EXPECT_EQ(flor({"plot", a, "-m", "loss", "--by", "step"}).status, 0);
}

/// What a run is exported as is imported as the same values.
TEST_F(ImportLogs, WhatIsExportedComesBack) {
  record({});
  const std::string experiment = "linear";
  said({"export", experiment, "--format", "tensorboard", "-o", "logs"});
  said({"import", "logs", "--name", "back"});
  const auto losses = [&](const std::string& name) {
    const store::Run run = catalog().resolve(name);
    std::vector<double> result;
    for (const store::Value& value : catalog().values({.run = run.id, .names = {"loss"}})) {
      result.push_back(static_cast<float>(std::get<double>(value.value)));
    }
    return result;
  };
  EXPECT_EQ(losses("back"), losses(experiment));
  EXPECT_THAT(losses("back"), SizeIs(12));
}

TEST_F(ImportLogs, TheyGoThroughABucket) {
  write("slurm.out", kSlurm);
  std::string table = "epoch,step,loss,phase\n";
  for (int i = 0; i < 3000; ++i) table += fmt::format("{},{},{},train\n", i / 1000, i, i / 7.0);
  write("a.csv", table);
  said({"import", "slurm.out", "a.csv", "--name", "moved", "--extract", R"(loss=(\d+\.\d+))"});
  const std::string url = "file://" + (directory_ / "bucket").string();
  said({"spool", "moved", url});
  const auto query = [&] { return said({"query", "loss", "--experiment", "moved", "--csv"}); };
  const auto printed = [&] {
    std::string all;
    for (const std::string& id : ids()) all += flor({"show", id, "--printed"}).out;
    return all;
  };
  const std::string values = query(), lines = printed();
  const auto before = ids();
  EXPECT_EQ(said({"list", "--where", "epochs=3", "-q"}), before.at(0) + "\n" + before.at(1) + "\n");
  close();
  std::filesystem::remove_all(home());
  said({"fetch", "moved", url});
  EXPECT_EQ(ids(), before);
  EXPECT_EQ(query(), values);
  EXPECT_EQ(printed(), lines);
  EXPECT_NE(flor({"replay", before.at(0)}).status, 0);
  said({"remote", "verify", url});
}

TEST_F(ImportLogs, OneThatCannotBeReadDoesNotKeepTheOthersOut) {
  write("a.csv", "epoch,loss\n0,1\n");
  write("b.csv", "1,2\n");
  write("empty.log", "");
  const Outcome outcome = flor({"import", "b.csv", "a.csv"});
  EXPECT_EQ(outcome.status, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("b.csv: it has no header"));
  EXPECT_THAT(ids(), SizeIs(1));
  EXPECT_THAT(refused(2, {"import", "b.csv"}), HasSubstr("b.csv: it has no header"));
  EXPECT_THAT(refused(2, {"import", "empty.log"}), HasSubstr("empty.log has nothing to import"));
  EXPECT_THAT(refused(3, {"import", "none.csv"}), HasSubstr("there is no file none.csv"));
  EXPECT_THAT(refused(2, {"import", "."}), HasSubstr("has no event files of TensorBoard"));
  EXPECT_THAT(refused(2, {"import", "a.csv", "--arg", "lr"}), HasSubstr("write NAME=VALUE"));
  EXPECT_THAT(refused(2, {"import", "a.csv", "--format", "csw"}), HasSubstr("did you mean 'csv'?"));
  EXPECT_THAT(refused(2, {"import"}), HasSubstr("needs FILE|DIR"));
  EXPECT_THAT(refused(2, {"import", "a.csv", "--extract", "a(.)"}),
              HasSubstr("--extract asks texts, and a.csv is read as csv"));
  EXPECT_THAT(refused(2, {"import", "a.csv", "--again", "--epoch", "epoc"}),
              HasSubstr("a.csv: it has no column 'epoc': did you mean 'epoch'?"));
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(ImportLogs, WhatReadsLikeASecretIsMasked) {
  write("a.csv", "epoch,loss\n0,1\n");
  said({"import", "a.csv", "--arg", "password=hunter2secret"});
  EXPECT_THAT(said({"show", "import", "--json"}), Not(HasSubstr("hunter2secret")));
}

class TensorBoardItself : public ImportLogs {};

TEST_F(TensorBoardItself, WritesWhatIsImported) {
  const ProcessResult written =
      Process({"/usr/bin/env", "python3", FLOR_WRITE_EVENTS, (work_ / "logs").string()}, {}).wait();
  if (written.status == 77) GTEST_SKIP() << "needs TensorBoard: pip install tensorboard";
  ASSERT_EQ(written.status, 0) << written.err;
  const Outcome outcome = flor({"import", "logs"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("200 values of 2 metrics"));
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(only_run().start.started_us, 1'700'000'000'000'000);
  const Json shown = flor({"show", "import", "--json"}).json()["run"];
  EXPECT_EQ(shown["arguments"]["lr"], 0.01);
  EXPECT_EQ(shown["arguments"]["nesterov"], true);
  EXPECT_EQ(shown["arguments"]["optimizer"], "adam");
  EXPECT_EQ(shown["metrics"]["accuracy"]["last"], 99.0 / 128);
}

class LargeLogs : public ImportLogs {
  void TearDown() override {}
};

/// A million lines of each kind, read in the time that one waits for.
TEST_F(LargeLogs, TakeSeconds) {
  constexpr int kLines = 1'000'000;
  std::string text, table, json, events;
  for (int i = 0; i < kLines; ++i) {
    const double loss = 1.0 / (1 + i);
    text += fmt::format("epoch {} step {} loss={:.6f}\n", i / 10000, i, loss);
    table += fmt::format("{},{},{:.6f}\n", i / 10000, i, loss);
    json += fmt::format("{{\"epoch\": {}, \"step\": {}, \"loss\": {:.6f}}}\n", i / 10000, i, loss);
    events += scalar(1.7e9 + i, i, "loss", static_cast<float>(loss));
  }
  write("a.log", text);
  write("a.csv", "epoch,step,loss\n" + table);
  write("a.jsonl", json);
  write("a.tfevents", events);
  for (const char* name : {"a.log", "a.csv", "a.jsonl", "a.tfevents"}) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::string> words{"import", name};
    if (std::string(name) == "a.log") {
      words.insert(words.end(), {"--extract", R"(loss=(\d+\.\d+))", "--step", R"(step (\d+))"});
    }
    EXPECT_THAT(said(words), HasSubstr("1000000 values of 1 metric"));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print("{}: {:.2f} s\n", name, took.count());
    EXPECT_LT(took.count(), 60) << name;
  }
}

}  // namespace
}  // namespace flor::testing
