// A recording names in one line what it will not keep although the program uses it, where the
// program knows its sources.
#include "compiled.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace flor::testing {
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
};

TEST_F(Unregistered, StateIsNamedWhenAResumedRunDoesNotGoOnAsItWouldHave) {
  std::string text = kForgetting;
  text.replace(text.find("    rate *= 0.5;"), 16,
               "    if (epoch == 2 && std::getenv(\"FLOR_TEST_DIES\")) std::raise(SIGTERM);\n"
               "    rate *= 0.5;");
  text.insert(0, "#include <csignal>\n#include <cstdlib>\n");
  build_with_stamps(text);
  auto options = bench_.options();
  options.environment["FLOR_TEST_DIES"] = "1";
  const std::string program = (bench_.repository().place() / "train").string();
  EXPECT_EQ(run_process({program, "--flor", "test", "--flor_every", "1"}, options).status, 75);
  const auto resumed = run("train", {"--flor_resume"});
  EXPECT_EQ(resumed.status, 7) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("is not what was recorded: 1 of 1 value"));
  EXPECT_THAT(resumed.err, HasSubstr("most likely because of 'rate', which the loop epoch changes "
                                     "and src/train.cpp:"));
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
}  // namespace flor::testing
