// Several evaluators, arguments, GPUs, modules, and watches that only help.
#include "watch_fixture.h"

#include <map>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class WatchGroupTest : public WatchTest {
 protected:
  /// A program that notes its name and what it is called with.
  std::string named(const std::string& name) {
    return script(name + ".sh", "#!/bin/sh\necho \"" + name + " $(basename $1)\" >> '" +
                                    (directory_ / "judged").string() + "'\necho '{\"n\": 1}'\n");
  }
};

TEST_F(WatchGroupTest, EachDirectoryMayHaveItsOwnEvaluatorAndAllOfThemAnother) {
  fs::create_directories(directory_ / "more");
  const std::string all = named("all"), here = named("here"), there = named("there");
  const Words words = command({"watch", "runs", "more", "-e", all, "-e", "runs=" + here, "-e",
                               "more=" + there, "--until-idle"});
  EXPECT_EQ(run(words).status, 0);
  publish("a.safetensors", tensors(1));
  write_file(directory_ / "more/b.safetensors", tensors(2));
  const auto result = run(words);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(judged(), UnorderedElementsAre("all a.safetensors", "here a.safetensors",
                                             "all b.safetensors", "there b.safetensors"));
}

TEST_F(WatchGroupTest, AnEvaluatorThatJoinsLaterLeavesAloneWhatWasThereForIt) {
  const std::string old = named("old"), late = named("late");
  settle(old);
  publish("a.safetensors", tensors(1));
  settle(old, {"-e", late});
  EXPECT_THAT(judged(), ElementsAre("old a.safetensors"));
  publish("b.safetensors", tensors(2));
  settle(old, {"-e", late});
  EXPECT_THAT(judged(),
              UnorderedElementsAre("old a.safetensors", "old b.safetensors", "late b.safetensors"));
}

TEST_F(WatchGroupTest, AWatchWithoutADirectoryJudgesWhatOthersFind) {
  const std::string slow = script("judge.sh",
                                  "#!/bin/sh\nsleep 0.2\necho \"$PPID\" >> judged\n"
                                  "echo '{\"n\": 1}'\n");
  Process finder(watch(slow, {"--existing"}), options());
  Process helper(command({"watch", "--evaluator", slow, "--workers", "2"}), options());
  for (int i = 0; i < 20; ++i) publish(i);
  EXPECT_TRUE(soon([&] { return judged().size() == 20; }));
  EXPECT_TRUE(soon([&] { return count("done") == 20; }));
  EXPECT_THAT(judged(), SizeIs(20));
  const auto workers = judged();
  EXPECT_EQ(std::set(workers.begin(), workers.end()).size(), 3u) << "all three had work";
  stop(finder);
  stop(helper);
}

TEST_F(WatchGroupTest, AFunctionOfAModuleIsFoundAsPythonFindsIt) {
  fs::create_directories(directory_ / "package/inner");
  script("package/inner/judge.py",
         "from . import constant\ndef f(path): return {'n': constant.N}\n");
  script("package/inner/constant.py", "N = 7\n");
  settle("package.inner.judge.f");
  publish(1);
  const auto result = settle("package.inner.judge.f");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("n=7"));
  EXPECT_EQ(jobs()[0]["evaluator"], "package.inner.judge.f");
  settle("package.inner.judge.f", {"--existing"});
  EXPECT_THAT(jobs(), SizeIs(1));
  script("package/inner/judge.py", "def f(path): return 8\n");
  settle("package.inner.judge.f", {"--existing"});
  EXPECT_THAT(jobs(), SizeIs(2)) << "its file has changed";
  const auto missing = settle("package.missing.f");
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("finds no module package.missing"));
}

TEST_F(WatchGroupTest, ArgumentsReachEveryKindAndMakeOtherJobs) {
  const std::string python =
      script("judge.py", "def f(path, split='train', k=1): return {'text': split * k}\n") + ":f";
  const std::string program =
      script("judge.sh", "#!/bin/sh\necho \"{\\\"told\\\": $FLOR_ARGUMENTS}\"\n");
  publish(1);
  const auto plain = settle(python, {"--existing"});
  EXPECT_THAT(plain.out, HasSubstr("text=train"));
  const auto told = settle(python, {"--existing", "--arguments", R"({"split": "test", "k": 2})"});
  EXPECT_THAT(told.out, HasSubstr("text=testtest"));
  const auto other = settle(program, {"--existing", "--arguments", R"({"split": "test"})"});
  EXPECT_THAT(other.out, HasSubstr("told.split=test"));
  EXPECT_EQ(settle(program, {"--arguments", "test"}).status, 2);
}

TEST_F(WatchGroupTest, GpusAreDealtToTheWorkers) {
  const std::string python =
      script("judge.py",
             "import os, time\ndef f(path):\n    time.sleep(0.05)\n"
             "    gpu = os.environ['CUDA_VISIBLE_DEVICES']\n"
             "    open('judged', 'a').write('{} {}\\n'.format(gpu, os.getpid()))\n    return 1\n") +
      ":f";
  for (int i = 0; i < 20; ++i) publish(i);
  EXPECT_EQ(settle(python, {"--existing", "--gpus", "3,5", "--workers", "4"}).status, 0);
  std::map<std::string, std::set<std::string>> workers;
  for (const std::string& line : judged()) {
    workers[line.substr(0, line.find(' '))].insert(line);
  }
  EXPECT_THAT(workers, UnorderedElementsAre(::testing::Pair("3", SizeIs(2)),
                                            ::testing::Pair("5", SizeIs(2))));
  EXPECT_EQ(settle(python, {"--gpus", "0,,1"}).status, 2);
}

}  // namespace
}  // namespace flor::testing
