// Several programs in one repository: which run each means, what counts as its version, and which
// files of the work tree are nothing of it.
#include "compiled.h"

namespace flor::testing::right_run_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string training(const std::string& registered, const std::string& more = "") {
  return "#include <flor/flor.h>\n#include <fstream>\n#include <stdexcept>\n"
         "int main(int argc, char** argv) {\n"
         "  auto session = flor::init(argc, argv);\n"
         "  double a = 1, b = 2;\n"
         "  auto state = flor::checkpoints(" +
         registered +
         ");\n"
         "  for (int epoch : flor::loop(\"epoch\", 4)) {\n"
         "    for (int s : flor::loop(\"train\", 3)) a += s;\n"
         "    flor::log(\"a\", a);\n" +
         more + "  }\n}\n";
}

class RightRun : public CompiledPrograms {
 protected:
  std::string record(const std::string& program, const Words& flags = {}) const {
    const auto recorded = run(program, Words{"--flor", "x", "--flor_every", "1"} + flags);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    return bench_.last_run().key.substr(0, 8);
  }
  void commit() const { bench_.repository().commit_all("programs"); }
};

TEST_F(RightRun, IsThatOfThisProgramWhateverItsName) {
  build("one", training("a"));
  build("two", training("a, b"));
  commit();
  const std::string one = record("one"), two = record("two");
  const auto replayed = run("one", {"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("replaying run " + one));
  EXPECT_THAT(run("two", {"--replay_flor"}).err, HasSubstr("replaying run " + two));
  // Named all the same, it is said whose it is.
  const auto other = run("one", {"--replay_flor", "--flor_run", two});
  EXPECT_NE(other.status, 0);
  EXPECT_THAT(other.err, HasSubstr("run " + two + " was recorded by "));
  EXPECT_THAT(other.err, HasSubstr("whose latest run is " + one + ": --flor_run " + one));
}

TEST_F(RightRun, ThatIsResumedIsThatOfThisProgram) {
  const std::string fails =
      "    if (epoch == 2 && std::ifstream(\"fail\")) throw std::runtime_error(\"x\");\n";
  build("one", training("a", fails));
  build("two", training("a, b", fails));
  commit();
  bench_.repository().write("fail", "");
  EXPECT_NE(run("one", {"--flor", "x", "--flor_every", "1"}).status, 0);
  const std::string one = bench_.last_run().key.substr(0, 8);
  EXPECT_NE(run("two", {"--flor", "x", "--flor_every", "1"}).status, 0);
  std::filesystem::remove(root() / "fail");
  const auto resumed = run("one", {"--flor", "x", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resuming run " + one));
  // A file that came or went is no change of the sources.
  EXPECT_THAT(resumed.err, Not(HasSubstr("sources changed")));
}

TEST_F(RightRun, RecordedWithoutGitIsResumedWithoutGit) {
  build("one", training("a",
                        "    if (epoch == 2 && std::ifstream(\"fail\")) throw "
                        "std::runtime_error(\"x\");\n"));
  bench_.repository().write("sub/fail", "");
  auto options = bench_.options();
  options.directory = root() / "sub";
  EXPECT_NE(run("one", {"--flor", "x", "--flor_no_git"}, options).status, 0);
  std::filesystem::remove(root() / "sub/fail");
  const auto resumed = run("one", {"--flor", "x", "--flor_resume"}, options);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("sources changed")));
  EXPECT_EQ(bench_.run_count(), 1u);
  EXPECT_NE(run_command({"git", "rev-parse", "-q", "--verify", "flor.shadow"}, root()).status, 0);
}

TEST_F(RightRun, WhatIsCommittedForTheFirstTimeIsCountedAndBuildsAreLeftOut) {
  bench_.repository().write("out/build/CMakeCache.txt", "x");
  bench_.repository().write("out/build/train.o", std::string(5000, 'o'));
  bench_.repository().write("notes.txt", std::string(2048, 'n'));
  bench_.repository().write("in-source/CMakeLists.txt", "x");
  bench_.repository().write("in-source/CMakeCache.txt", "x");
  build("one", training("a"));
  const auto recorded = run("one", {"--flor", "x"});
  EXPECT_THAT(recorded.err, HasSubstr("committed for the first time: 4 files, "));
  EXPECT_THAT(recorded.err, HasSubstr("the largest notes.txt (2.0 KiB); .gitignore leaves"));
  const auto files = bench_.repository().run_git({"ls-tree", "-r", "--name-only", "flor.shadow"});
  EXPECT_THAT(files, AllOf(HasSubstr("src/one.cpp"), HasSubstr("in-source/CMakeLists.txt"),
                           Not(HasSubstr("out/build"))));
  EXPECT_THAT(run("one", {"--flor", "x"}).err, Not(HasSubstr("for the first time")));
}

TEST_F(RightRun, WhatTheProgramWritesMakesNoVersionsOfIt) {
  const std::string writes =
      "    std::ofstream(\"out.txt\", std::ios::app) << epoch << a << \"\\n\";\n"
      "    std::ofstream(\"pictures/\" + std::to_string(epoch) + \".pgm\") << a;\n"
      "    if (auto* file = std::fopen(\"model.tmp\", \"w\")) {\n"
      "      std::fprintf(file, \"%d %g\", epoch, a);\n"
      "      std::fclose(file);\n"
      "      std::rename(\"model.tmp\", \"model.bin\");\n"
      "    }\n"
      "    std::ofstream(\"tracked.txt\") << a << epoch;\n"
      "    std::ofstream(\"made.h\") << \"// \" << epoch << \"\\n\";\n";
  std::string text = training("a", writes);
  text.insert(text.find('\n') + 1, "#include <cstdio>\n#include <string>\n");
  build("one", text);
  std::filesystem::create_directory(root() / "pictures");
  bench_.repository().write("tracked.txt", "before\n");
  commit();
  bench_.repository().write("notes.txt", "of the user's\n");
  const auto files = [&] {
    return bench_.repository().run_git({"ls-tree", "-r", "--name-only", "flor.shadow"});
  };
  const std::string first = record("one");
  EXPECT_THAT(files(), AllOf(HasSubstr("notes.txt"), Not(HasSubstr("out.txt"))));
  const auto second = run("one", {"--flor", "x"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("not committed: 6 files that the program wrote in earlier "
                                    "runs, "));
  EXPECT_THAT(files(), AllOf(HasSubstr("notes.txt"), HasSubstr("tracked.txt"), HasSubstr("made.h"),
                             Not(HasSubstr("out.txt")), Not(HasSubstr("pictures/")),
                             Not(HasSubstr("model."))));
  // The tracked file changes with each run; without it nothing would.
  bench_.repository().run_git({"rm", "-q", "--cached", "tracked.txt"});
  bench_.repository().run_git({"commit", "-q", "-m", "not tracked any more"});
  record("one");
  const std::string version = bench_.last_run().start.commit;
  for (int again = 0; again < 2; ++again) {
    record("one");
    EXPECT_EQ(bench_.last_run().start.commit, version);
  }
  // What the user adds is the user's again, and so is what flor.exclude includes.
  bench_.repository().run_git({"add", "model.bin"});
  bench_.repository().write("flor.exclude", "!out.txt\n");
  record("one");
  EXPECT_THAT(files(), AllOf(HasSubstr("model.bin"), HasSubstr("out.txt")));
  // Of another program they are inputs.
  build("two", training("a"));
  record("two");
  EXPECT_THAT(files(), HasSubstr("pictures/"));
}

TEST_F(RightRun, WhatARunThatWasKilledWroteIsKnown) {
  build("one", training("a",
                        "    std::ofstream(\"out.txt\") << epoch;\n"
                        "    if (epoch == 3) {\n"
                        "      (void)flor::latest_checkpoint();  // what was taken is durable\n"
                        "      std::_Exit(1);\n    }\n"));
  commit();
  EXPECT_EQ(run("one", {"--flor", "x", "--flor_every", "1"}).status, 1);
  EXPECT_TRUE(std::filesystem::exists(root() / "out.txt"));
  EXPECT_EQ(run("one", {"--flor", "x", "--flor_every", "1"}).status, 1);
  EXPECT_THAT(bench_.repository().run_git({"ls-tree", "-r", "--name-only", "flor.shadow"}),
              Not(HasSubstr("out.txt")));
}

TEST_F(RightRun, OfFlorReplayIsThatOfTheProgramThatIsNamed) {
  build("one", training("a"));
  build("two", training("a, b"));
  commit();
  const std::string one = record("one"), two = record("two");
  const auto replay = [&](const Words& words) {
    return run_process(Words{FLOR_CLI, "replay"} + words, bench_.options());
  };
  const auto own = replay({"--", path_of("one")});
  EXPECT_EQ(own.status, 0) << own.err;
  EXPECT_THAT(own.out + own.err, AllOf(HasSubstr(one), Not(HasSubstr(two))));
  // Both recorded as "x".
  const auto by_name = replay({"x", "--", path_of("one")});
  EXPECT_THAT(by_name.out + by_name.err, AllOf(HasSubstr(one), Not(HasSubstr(two))));
  const auto none = replay({});
  EXPECT_THAT(none.err, AllOf(HasSubstr("run " + two + " is of "),
                              HasSubstr("also recorded here: " + one + " of ")));
  const auto other = replay({two, "--", path_of("one")});
  EXPECT_NE(other.status, 0);
  EXPECT_THAT(other.err, AllOf(HasSubstr("run " + two + " was recorded by "),
                               HasSubstr("whose latest run is " + one + ": flor replay " + one)));
  EXPECT_THAT(run("one", {"--replay_flor", "--flor_run", "x"}).err,
              HasSubstr("replaying run " + one));
}

TEST_F(RightRun, WithoutANameIsOfThisRepository) {
  build("one", training("a"));
  commit();
  const std::string here = record("one");
  const GitRepository elsewhere;
  elsewhere.write("a.txt", "a");
  elsewhere.commit_all("first");
  auto options = bench_.options();
  options.directory = elsewhere.root();
  EXPECT_EQ(run("one", {"--flor", "x"}, options).status, 0);
  const std::string there = bench_.last_run().key.substr(0, 8);
  const auto shown = run_process({FLOR_CLI, "show"}, bench_.options());
  EXPECT_THAT(shown.out, AllOf(HasSubstr(here), Not(HasSubstr(there)))) << shown.err;
}

TEST_F(RightRun, AReplayLeavesTheFilesOfTheRecordingAlone) {
  const std::string writes =
      "    std::ofstream(flor::output(\"out/model.txt\")) << epoch;\n"
      "    if (std::ifstream(\"careless\")) std::ofstream(\"log.txt\") << epoch << \"again\";\n";
  build("one", training("a", writes));
  record("one");
  EXPECT_EQ(read_file(root() / "out/model.txt"), "3");
  const auto replayed = run("one", {"--replay_flor", "0/2"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(read_file(root() / "out/model.txt"), "3");
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("files of this replay are in " +
                                            (bench_.home() / "outputs").string()),
                                  Not(HasSubstr("overwritten"))));
  bench_.repository().write("careless", "");
  bench_.repository().write("log.txt", "3");
  const auto careless = run("one", {"--replay_flor", "0/2"});
  EXPECT_THAT(careless.err, HasSubstr("log.txt was overwritten while this replay ran: write such "
                                      "files to flor::output(path)"));
}

}  // namespace
}  // namespace flor::testing::right_run_test
