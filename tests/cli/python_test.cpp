// What docs/python.md shows: the scripts there are those of examples/python, and they run.
#include "cli/fixture.h"
#include "support/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kSource = FLOR_SOURCE_DIR;

class PythonTest : public CliTest {
 protected:
  /// The distribution's interpreter first, which sees the distribution's packages.
  ProcessResult python(std::vector<std::string> arguments) {
    const bool packaged = std::filesystem::exists("/usr/bin/python3");
    arguments.insert(arguments.begin(), packaged ? "/usr/bin/python3" : "python3");
    return beside_flor(std::move(arguments));
  }
  ProcessResult beside_flor(std::vector<std::string> arguments) {
    const std::string commands = std::filesystem::path(FLOR_CLI).parent_path();
    return Process(std::move(arguments),
                   {.directory = work_,
                    .environment = {{"FLOR_HOME", home().string()},
                                    {"PATH", commands + ":" + std::getenv("PATH")}}})
        .wait();
  }
  static std::string script(const char* name) {
    return (kSource / "examples/python" / name).string();
  }
};

TEST_F(PythonTest, TheScriptsInTheDocumentAreThoseThatAreTested) {
  const std::string document = content_of(kSource / "docs/python.md");
  for (const char* name : {"read_runs.py", "read_frame.py", "load_checkpoint.py"}) {
    EXPECT_THAT(document, HasSubstr("```python\n" + content_of(script(name)) + "```\n")) << name;
  }
}

TEST_F(PythonTest, TheStandardLibraryReadsRunsArgumentsAndValues) {
  const store::Run run = record({});
  replay(run, 3, 4);
  catalog().add_values(
      run.id,
      std::vector{value("odd", 1, 0), value("odd", std::numeric_limits<double>::quiet_NaN(), 1)});
  // Not the distribution's: any Python will do.
  const ProcessResult read =
      beside_flor({"python3", script("read_runs.py"), "loss", "gradient", "odd"});
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_EQ(read.out, fmt::format("{} linear 3 epochs {{'epochs': 3, 'lr': 0.001}}\n"
                                  "  loss: 12 values, last 0.55\n"
                                  "  gradient: 12 values, last 4 (hindsight)\n"
                                  "  odd: 2 values, last nan\n",
                                  run.key.substr(0, 8)));
}

TEST_F(PythonTest, WhereThereIsNoStoreFlorsLineIsAllThatIsSaid) {
  const ProcessResult read = beside_flor({"python3", script("read_runs.py"), "loss"});
  EXPECT_EQ(read.status, 3);  // flor's own
  EXPECT_THAT(read.err, HasSubstr("no store at"));
  EXPECT_EQ(std::ranges::count(read.out + read.err, '\n'), 1);
}

TEST_F(PythonTest, PandasMakesAFrameOfAMetric) {
  if (python({"-c", "import pandas"}).status != 0) {
    GTEST_SKIP() << "needs Python's pandas (Debian: python3-pandas)";
  }
  const store::Run first = record({.epochs = 2, .steps = 2});
  const store::Run second = record({.epochs = 2, .steps = 2, .loss = 3});
  const ProcessResult read = python({script("read_frame.py"), "loss"});
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr(first.key.substr(0, 8)));
  EXPECT_THAT(read.out, HasSubstr(second.key.substr(0, 8)));
  EXPECT_THAT(read.out, HasSubstr("1.05"));  // the mean of 1 and 1.1
  EXPECT_THAT(read.out, HasSubstr("3.05"));
}

TEST_F(PythonTest, TorchLoadsACheckpointThatWasExported) {
  if (python({"-c", "import torch"}).status != 0) {
    GTEST_SKIP() << "needs Python's torch (Debian: python3-torch)";
  }
  record({});
  ASSERT_EQ(flor({"export", "linear@1", "model.pt"}).status, 0);
  const ProcessResult read = python({script("load_checkpoint.py"), "model.pt"});
  ASSERT_EQ(read.status, 0) << read.err;
  // The fixture's state of epoch 1 is 1, 1.25, 1.5, ...
  EXPECT_EQ(read.out, "model/weight [16, 16] torch.float32 mean 32.875\n");
}

}  // namespace
}  // namespace flor::testing
