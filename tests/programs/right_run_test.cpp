// Several programs in one repository: which run each means, what counts as its version, and which
// files of the work tree are nothing of it.
#include "compiled.h"

namespace flor::testing {
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
}  // namespace flor::testing
