// Files of settings, as programs that record and replay read them.
#include "workbench.h"

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  void write(const std::string& text) const {
    std::filesystem::create_directories(bench_.home());
    std::ofstream(bench_.home() / "config") << text;
  }
  Workbench bench_;
};

TEST_F(SettingsTest, SayWhatNoFlagSays) {
  write("log = off\nepsilon = 0\n");
  const Words arguments{"--flor", "test", "--kwargs", "epochs=5"};
  const auto recorded = bench_.run("trainer", arguments);
  EXPECT_EQ(recorded.status, 0);
  EXPECT_EQ(recorded.err, "");
  // The first state and the last, as --flor_epsilon 0 keeps them.
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/1"), 0u);
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/5"), 1u);
  EXPECT_EQ(bench_.run("trainer", arguments + Words{"--flor_every", "1"}).status, 0);
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/1"), 1u);
  ProcessOptions loud = bench_.options();
  loud.environment["FLOR_LOG"] = "info";
  EXPECT_THAT(bench_.run("trainer", arguments, loud).err, HasSubstr("recorded test as run"));
}

TEST_F(SettingsTest, AWrongOneIsSaidBeforeAnythingBegins) {
  write("epsilon = 0.1\nepsilom = 0.1\n");
  const auto recorded = bench_.run("trainer", {"--flor", "test"});
  EXPECT_EQ(recorded.status, 2);
  EXPECT_EQ(recorded.out, "");
  EXPECT_THAT(recorded.err, SaysOnce("config, line 2: there is no setting 'epsilom'"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home() / "catalog.db"));
  // A program without Flor's flags has nothing to do with it.
  EXPECT_EQ(bench_.run("trainer", {}).status, 0);
}

}  // namespace
}  // namespace flor::testing
