// What programs read and write, and which runs that connects.
#include "workbench.h"

#include <flor/store/used_files.h>

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace flor::testing::used_files_test {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class UsedFiles : public ::testing::Test {
 protected:
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  fs::path file(const std::string& name) const { return bench_.repository().root() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(file(name).parent_path());
    std::ofstream(file(name)) << text;
  }
  store::Run record(const std::string& name, const Words& kwargs) const {
    const auto result =
        bench_.run("pipeline", Words{"--flor", name, "--flor_every", "1", "--kwargs"} + kwargs);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("warning"))) << result.err;
    return bench_.last_run();
  }
  json shown(const std::string& run, const Words& more = {}) const {
    const auto result = flor(Words{"show", run, "--json"} + more);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["run"];
  }
  std::string short_key(const store::Run& run) const { return run.key.substr(0, 8); }
  std::string digest(const std::string& name) const { return store::file_digest(file(name)); }
  /// The inputs and outputs of the run, each as "use kind name bytes epoch".
  Words files(const store::Run& run) const {
    Words texts;
    for (const store::UsedFile& file : store::files_of(*bench_.store(), run.id)) {
      texts.push_back((file.use == store::FileUse::input ? "input " : "output ") +
                      std::string(to_string(file.kind)) + " " + file.name + " " +
                      std::to_string(file.bytes) + " " + std::to_string(file.epoch));
    }
    return texts;
  }

  Workbench bench_;
};

TEST_F(UsedFiles, AreRecordedAndConnectRuns) {
  write("data/train.txt", "1 2 3\n");
  const store::Run first = record("first", {"reads=data/train.txt", "writes=out/model.txt"});
  const store::Run second = record("second", {"reads=" + file("out/model.txt").string()});
  const store::Run other = record("other", {"reads=data/train.txt"});
  const auto expect_all = [&] {
    EXPECT_THAT(files(first),
                ElementsAre("input file data/train.txt 6 -1",
                            "output file out/model.txt " +
                                std::to_string(fs::file_size(file("out/model.txt"))) + " -1"));
    const json one = shown(first.key), two = shown(second.key);
    ASSERT_THAT(one["inputs"], SizeIs(1));
    EXPECT_EQ(one["inputs"][0]["place"], file("data/train.txt").string());
    EXPECT_EQ(one["inputs"][0]["digest"], digest("data/train.txt"));
    EXPECT_THAT(one["inputs"][0]["from"], IsEmpty());
    ASSERT_THAT(one["outputs"], SizeIs(1));
    ASSERT_THAT(one["outputs"][0]["read_by"], SizeIs(1));
    EXPECT_EQ(one["outputs"][0]["read_by"][0]["run"], second.key);
    EXPECT_EQ(one["outputs"][0]["read_by"][0]["name"], "out/model.txt");
    ASSERT_THAT(two["inputs"][0]["from"], SizeIs(1));
    EXPECT_EQ(two["inputs"][0]["from"][0]["run"], first.key);
    EXPECT_EQ(two["inputs"][0]["from"][0]["experiment"], "first");
    EXPECT_THAT(flor({"show", first.key}).out,
                AllOf(HasSubstr("data/train.txt"), HasSubstr(short_key(second) + " (second)")));
    EXPECT_THAT(flor({"show", second.key}).out, HasSubstr(short_key(first) + " (first)"));
    EXPECT_THAT(shown(other.key)["inputs"][0]["from"], IsEmpty());
  };
  expect_all();
  for (const char* index : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    fs::remove(bench_.home() / index);
  }
  expect_all();
  ASSERT_EQ(flor({"gc"}).status, 0);
  fs::remove(bench_.home() / "catalog.db");
  ASSERT_EQ(flor({"fsck", "--repair"}).status, 0);
  expect_all();
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(UsedFiles, TravelWithRuns) {
  write("data/train.txt", "1 2 3\n");
  const store::Run first = record("first", {"reads=data/train.txt", "writes=out/model.txt"});
  const store::Run second = record("second", {"reads=out/model.txt"});
  const std::string bucket = "file://" + file("bucket").string();
  const std::string other = file("other").string();
  for (const char* run : {"first", "second"}) {
    ASSERT_EQ(flor({"spool", run, bucket}).status, 0);
    const auto fetched = flor({"--home", other, "fetch", run, bucket});
    ASSERT_EQ(fetched.status, 0) << fetched.err;
  }
  const json here = shown(second.key), there = shown(second.key, {"--home", other});
  EXPECT_EQ(here["inputs"], there["inputs"]);
  EXPECT_THAT(there["inputs"][0]["from"], SizeIs(1));
  EXPECT_EQ(shown(first.key)["outputs"], shown(first.key, {"--home", other})["outputs"]);
  // Spooled again, nothing contradicts.
  EXPECT_EQ(flor({"spool", "first", bucket}).status, 0);
}

TEST_F(UsedFiles, AReplayThatReadsOtherDataIsDoubtfulAndNamesTheFile) {
  write("data/train.txt", "1 2 3\n");
  record("test", {"reads=data/train.txt", "ignores=1"});
  const auto same = bench_.replay("pipeline_hindsight", {"--flor_probe", "train"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.err, AllOf(HasSubstr("verified"), Not(HasSubstr("train.txt"))));

  write("data/train.txt", "1 2 3 4\n");
  const auto other = bench_.replay("pipeline_hindsight", {"--flor_probe", "train"});
  EXPECT_THAT(other.err, AllOf(HasSubstr("doubtful: input data/train.txt has other content than "
                                         "was recorded: 6 B of digest "),
                               Not(HasSubstr("verified:"))));
  ASSERT_FALSE(bench_.replays().empty());
  EXPECT_EQ(bench_.replays().back().result->verdict, store::Verdict::doubtful);
  const auto command = flor({"replay", "test", "--again", "--workers", "2", "--probe", "train",
                             "--", program("pipeline_hindsight").string()});
  EXPECT_THAT(command.out, HasSubstr("doubtful: input data/train.txt has other content"))
      << command.err;
}

TEST_F(UsedFiles, AReplayWhoseValuesDifferNamesTheOtherData) {
  write("data/train.txt", "1 2 3\n");
  record("test", {"reads=data/train.txt"});
  write("data/train.txt", "1 2 4\n");
  const auto other = bench_.replay("pipeline", {"--flor_probe", "train"});
  EXPECT_EQ(other.status, 7);
  EXPECT_THAT(other.err, AllOf(HasSubstr("DIFFERS"), HasSubstr("input data/train.txt has other")));
}

TEST_F(UsedFiles, ADirectoryIsWhatIsInIt) {
  write("data/a.txt", "1\n");
  write("data/b/c.txt", "2\n");
  const store::Run run = record("test", {"reads=data", "epoch=1", "ignores=1"});
  EXPECT_THAT(files(run), ElementsAre("input directory data 4 1"));
  fs::rename(file("data/a.txt"), file("data/d.txt"));
  const auto replay = bench_.replay("pipeline", {"--flor_probe", "train"});
  EXPECT_THAT(replay.err, HasSubstr("doubtful: input data has other content"));
  EXPECT_EQ(shown(run.key)["inputs"][0]["files"], 2);
}

TEST_F(UsedFiles, WhatCannotBeReadIsNoInputAndTheProgramGoesOn) {
  const auto result = bench_.run("pipeline", {"--flor", "test", "--kwargs", "reads=nowhere.txt"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("it is not known as an input"));
  EXPECT_THAT(files(bench_.last_run()), IsEmpty());
  const auto device = bench_.run("pipeline", {"--flor", "test", "--kwargs", "reads=/dev/null"});
  EXPECT_THAT(device.err, HasSubstr("neither a file nor a directory"));
}

TEST_F(UsedFiles, ThatAReplayCannotReadMakeItDoubtful) {
  write("data/train.txt", "1 2 3\n");
  ASSERT_EQ(bench_
                .run("pipeline", {"--flor", "test", "--kwargs", "reads=data/train.txt", "ignores=1",
                                  "--flor_every", "1"})
                .status,
            0);
  std::filesystem::remove(file("data/train.txt"));
  EXPECT_THAT(bench_.replay("pipeline", {"--flor_probe", "train"}).err,
              HasSubstr("doubtful: input data/train.txt, which the run read, cannot be read now"));
}

TEST_F(UsedFiles, BehindALinkAreThoseThatTheProgramOpens) {
  std::filesystem::create_directories(file("real/sub"));
  std::filesystem::create_directory_symlink(file("real/sub"), file("link"));
  write("real/x.txt", "1 2\n");
  write("x.txt", "1 2 3\n");
  ASSERT_EQ(bench_
                .run("pipeline",
                     {"--flor", "test", "--kwargs", "reads=link/../x.txt", "--flor_every", "1"})
                .status,
            0);
  EXPECT_THAT(files(bench_.last_run()), ElementsAre("input file real/x.txt 4 -1"));
}

TEST_F(UsedFiles, OfAResumedRunAreThoseOfItsWay) {
  write("data/train.txt", "1 2 3\n");
  auto options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":5";
  const Words words{
      "--flor",  "test",           "--flor_every", "1",       "--kwargs", "reads=data/train.txt",
      "epoch=1", "writes=out.txt", "ignores=1",    "epochs=4"};
  bench_.run("pipeline", words, options);
  EXPECT_THAT(files(bench_.last_run()), ElementsAre("input file data/train.txt 6 1"));
  write("data/train.txt", "1 2 3 4\n");
  const auto resumed =
      bench_.run("pipeline", {"--flor", "test", "--flor_resume", "--flor_check", "none"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const store::Run run = bench_.last_run();
  // Read in the epoch before the point, it is not read again, unless a check computes that epoch.
  EXPECT_EQ(files(run).front(), "input file data/train.txt 6 1");
  EXPECT_THAT(files(run), SizeIs(2));
}

TEST_F(UsedFiles, ThatChangedSayItWhereARunIsResumedOrForked) {
  write("data/train.txt", "1 2 3\n");
  auto options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":5";
  const Words words{
      "--flor",         "test",      "--flor_every", "1", "--kwargs", "reads=data/train.txt",
      "writes=out.txt", "ignores=1", "epochs=4"};
  bench_.run("pipeline", words, options);
  write("data/train.txt", "1 2 3 4\n");
  const auto resumed = bench_.run("pipeline", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("data/train.txt has other content than was recorded: 6 B"));
  const store::Run parent = bench_.last_run();
  EXPECT_THAT(files(parent),
              ElementsAre("input file data/train.txt 6 -1", "input file data/train.txt 8 -1",
                          HasSubstr("output file out.txt")));
  // A replay can read only one of the two.
  EXPECT_THAT(bench_.replay("pipeline", {"--flor_probe", "train"}).err,
              HasSubstr("was read with two contents"));

  write("data/train.txt", "1\n");
  const auto forked = bench_.run("pipeline", {"--flor_from", parent.key + "@1", "--kwargs",
                                              "reads=data/train.txt", "writes="});
  EXPECT_EQ(forked.status, 0) << forked.err;
  EXPECT_THAT(forked.err, HasSubstr("data/train.txt has other content than was recorded"));
  EXPECT_THAT(files(bench_.last_run()), ElementsAre("input file data/train.txt 2 -1"));
}

TEST_F(UsedFiles, ALoadedCheckpointIsAnInputFromItsRun) {
  const store::Run first = record("first", {"epochs=2"});
  const store::Run second = record("second", {"load=first@1"});
  EXPECT_THAT(files(second), ElementsAre(HasSubstr("input checkpoint " + first.key + "@1")));
  const json two = shown(second.key), one = shown(first.key);
  EXPECT_EQ(two["inputs"][0]["from"][0]["run"], first.key);
  EXPECT_EQ(one["read_by"][0]["run"], second.key);
  EXPECT_THAT(flor({"show", first.key}).out, HasSubstr("checkpoints read by"));
  ASSERT_EQ(flor({"rm", first.key}).status, 0);
  EXPECT_EQ(shown(second.key)["inputs"][0]["from"][0]["run"], first.key);
}

}  // namespace
}  // namespace flor::testing::used_files_test
