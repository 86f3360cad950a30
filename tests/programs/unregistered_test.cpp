// A recording names in one line what it will not keep although the program uses it, where the
// program knows its sources.
#include "compiled.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>

namespace flor::testing::unregistered_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kForgetting = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1, rate = 0.1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 3)) {
    double sum = 0;
    for (int step : flor::loop("train", 4)) {
      w -= rate * w;
      sum += w;
    }
    flor::log("mean", sum / 4);
    rate *= 0.5;
  }
}
)code";

class Unregistered : public CompiledPrograms {
 protected:
  /// Compiles it as flor_instrument would have: it knows how it was built, and from what.
  void build_with_stamps(const std::string& text) const {
    bench_.repository().write("src/train.cpp", text);
    const std::string source = (root() / "src/train.cpp").string();
    struct stat facts{};
    ASSERT_EQ(::stat(source.c_str(), &facts), 0);
    const auto stamps = bench_.repository().place() / "stamps.cpp";
    write_file(stamps, fmt::format("extern \"C\" {{\nextern const char flor_build_recipe[];\n"
                                   "extern const char flor_build_sources[];\n"
                                   "const char flor_build_recipe[] = "
                                   "R\"({{\"source_directory\": \"{}\"}})\";\n"
                                   "const char flor_build_sources[] = \"- {} {}.{:06} {}\\n\";\n}}\n",
                                   root().string(), facts.st_size, facts.st_mtim.tv_sec,
                                   facts.st_mtim.tv_nsec / 1000, source));
    const CommandResult result = compile("src/train.cpp", "train", stamps.string());
    ASSERT_EQ(result.status, 0) << result.out;
  }
  ProcessResult record() const { return run("train", {"--flor", "test", "--flor_every", "1"}); }
  /// What the latest run of that name logged, by name and epoch.
  std::map<std::string, store::Scalar> logged(const std::string& name) const {
    const auto store = bench_.store();
    std::map<std::string, store::Scalar> found;
    for (const store::Value& value :
         store->catalog().values({.run = store->catalog().resolve(name).id})) {
      found[fmt::format("{} {}", value.name, value.place.epoch)] = value.value;
    }
    return found;
  }
};

TEST_F(Unregistered, StateIsNamedWhenAResumedRunDoesNotGoOnAsItWouldHave) {
  std::string text = kForgetting;
  text.replace(text.find("    rate *= 0.5;"), 16,
               "    if (epoch == 2 && std::getenv(\"FLOR_TEST_DIES\")) std::raise(SIGTERM);\n"
               "    rate *= 0.5;");
  text.insert(text.find('\n') + 1, "#include <csignal>\n#include <cstdlib>\n");
  build_with_stamps(text);
  auto options = bench_.options();
  options.environment["FLOR_TEST_DIES"] = "1";
  EXPECT_EQ(run("train", {"--flor", "test", "--flor_every", "1"}, options).status, 75);
  const auto resumed = run("train", {"--flor_resume"});
  EXPECT_EQ(resumed.status, 7) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("is not what was recorded: 1 of 1 value"));
  EXPECT_THAT(resumed.err, HasSubstr("most likely because of 'rate', which the loop epoch changes "
                                     "and src/train.cpp:"));
}

/// A local of the first nested loop that is read after it, and one that the second adds up.
constexpr const char* kTwoNested = R"code(#include <flor/flor.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 3)) {
    double sum = 0, other = 0;
    for (int step : flor::loop("train", 4)) {
      w *= 0.9 + 0.01 * step;
      sum += w;
    }
    if (epoch == 1 && std::getenv("FLOR_TEST_KILLED")) std::raise(SIGKILL);
    flor::log("sum", sum);
    for (int step : flor::loop("eval", 4)) {
      other += w * step;
      const bool dies = epoch == 1 && step == 2 && std::getenv("FLOR_TEST_DIES");
      if (dies) std::raise(SIGTERM);
    }
    std::printf("%d %.9g\n", epoch, flor::log("ratio", other / sum));
  }
}
)code";

TEST_F(Unregistered, LocalsThatWouldBeLostInsideAnEpochAreComputedAgainFromItsBeginning) {
  const std::string attached = [] {
    std::string text = kTwoNested;
    text.replace(text.find("\"train\", 4)"), 11, "\"train\", 4, flor::with(sum))");
    text.replace(text.find("\"eval\", 4)"), 10, "\"eval\", 4, flor::with(other))");
    return text;
  }();
  for (const bool keeps : {false, true}) {
    SCOPED_TRACE(keeps);
    build_with_stamps(keeps ? attached : kTwoNested);
    const std::string whole = run("train", {"--flor", "whole", "--flor_every", "1"}).out;
    auto options = bench_.options();
    options.environment["FLOR_TEST_DIES"] = "1";
    const auto first = run("train", {"--flor", "test", "--flor_every", "1"}, options);
    EXPECT_EQ(first.status, 75) << first.err;
    const auto resumed = run("train", {"--flor", "test", "--flor_resume"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    const char* told =
        "epoch 1 is computed again from its beginning, since what is not registered "
        "would be lost inside it: 'sum' of train (src/train.cpp:";
    for (const auto& result : {first, resumed}) {
      EXPECT_EQ(result.err.find(told) != std::string::npos, !keeps) << result.err;
    }
    EXPECT_THAT(resumed.err, HasSubstr(keeps ? " at epoch 1, step 3 of eval; follow" : " at epoch 1; follow"));
    EXPECT_TRUE(whole.ends_with(resumed.out.substr(resumed.out.find("1 "))))
        << whole << resumed.out;
    EXPECT_EQ(logged("test").size(), 6u);
    EXPECT_EQ(logged("test"), logged("whole"));
  }
}

/// Without its sources nothing but what the program logs on its way tells.
TEST_F(Unregistered, LocalsThatAreLostInsideAnEpochShowInWhatIsLoggedOnTheWayThere) {
  build("train", kTwoNested);
  ASSERT_EQ(run("train", {"--flor", "whole", "--flor_every", "1"}).status, 0);
  auto options = bench_.options();
  options.environment["FLOR_TEST_DIES"] = "1";
  ASSERT_EQ(run("train", {"--flor", "test", "--flor_every", "1"}, options).status, 75);
  options.environment = bench_.options().environment;
  options.environment["FLOR_TEST_KILLED"] = "1";
  EXPECT_EQ(run("train", {"--flor", "test", "--flor_resume"}, options).signal, SIGKILL);
  const auto refused = run("train", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(refused.status, 75) << "job scripts start it again";
  EXPECT_THAT(refused.err, HasSubstr("not resumed inside epoch 1, since what leads there is not "
                                     "what was recorded: sum at epoch 1: recorded 2."));
  EXPECT_THAT(refused.err, HasSubstr("the same command goes on at the beginning of epoch 1"));
  const auto resumed = run("train", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr(" at epoch 1; follow"));
  EXPECT_EQ(logged("test"), logged("whole"));
  EXPECT_EQ(logged("test").size(), 6u);
}

TEST_F(Unregistered, WithoutACheckWhatWasRecordedOnTheWayStaysAndALineSaysWhatDiffers) {
  build("train", kTwoNested);
  auto options = bench_.options();
  options.environment["FLOR_TEST_DIES"] = "1";
  ASSERT_EQ(run("train", {"--flor", "test", "--flor_every", "1"}, options).status, 75);
  const auto before = logged("test");
  const auto resumed = run("train", {"--flor", "test", "--flor_resume", "--flor_check", "none"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("what leads to the step is not what was recorded, which "
                                     "stays: sum at epoch 1: recorded 2."));
  const auto after = logged("test");
  int sums = 0;
  for (const auto& [place, value] : before) {
    if (!place.starts_with("sum")) continue;
    EXPECT_EQ(after.at(place), value) << place;
    ++sums;
  }
  EXPECT_EQ(sums, 2);
}

TEST_F(Unregistered, TheyShowInTensorsThatAreLoggedThereToo) {
  std::string text = kTwoNested;
  const std::string sum = "flor::log(\"sum\", sum);";
  text.replace(text.find(sum), sum.size(),
               "flor::log_tensor(\"sums\", std::vector<double>{w, sum}, {2});");
  build("train", "#include <vector>\n" + text);
  ASSERT_EQ(run("train", {"--flor", "whole", "--flor_every", "1"}).status, 0);
  auto options = bench_.options();
  options.environment["FLOR_TEST_DIES"] = "1";
  ASSERT_EQ(run("train", {"--flor", "test", "--flor_every", "1"}, options).status, 75);
  const auto refused = run("train", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(refused.status, 75);
  EXPECT_THAT(refused.err, HasSubstr("was recorded: sums at epoch 1: its content is another"));
  const auto resumed = run("train", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(logged("test"), logged("whole"));
  EXPECT_EQ(logged("test").size(), 6u);
}

TEST_F(Unregistered, StateIsNamedInOneLineBeforeTheFirstEpoch) {
  build_with_stamps(kForgetting);
  const auto recorded = record();
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(recorded.err,
              HasSubstr("flor: src/train.cpp:10 reads 'rate', which the loop epoch changes and "
                        "which is not registered: a replay or a resume would see another value; "
                        "flor::loop(\"epoch\", ..., flor::with(rate)) keeps it; so for 'sum' of "
                        "train (src/train.cpp:13)\n"));
  const std::string told = "not registered: a replay";
  EXPECT_THAT(run("train", {"--replay_flor"}).err, Not(HasSubstr(told)));
  write_file(root() / "src/train.cpp", "int other;\n");
  EXPECT_THAT(record().err, Not(HasSubstr(told))) << "these are not the sources that run";
}

}  // namespace
}  // namespace flor::testing::unregistered_test
