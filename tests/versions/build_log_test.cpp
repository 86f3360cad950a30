// The line of a build's log that matters.
#include "build/build_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BuildLog, ACompilersFirstErrorCountsAndNotWhatFollowsFromIt) {
  const FoundError found = find_error(
      "[1/3] Building CXX object a.o\n/tree/a.h:3:1: warning: unused\n"
      "[2/3] Building CXX object b.o\nFAILED: b.o \n/usr/bin/c++ -c /tree/b.cpp\n"
      "/tree/b.cpp: In function 'int f()':\n/tree/b.cpp:7:10: error: 'x' was not declared\n"
      "    7 |   return x;\n      |          ^\n/tree/b.cpp:9:1: error: expected '}'\n"
      "ninja: build stopped: subcommand failed.\n",
      "/tree");
  EXPECT_EQ(found.line, "b.cpp:7:10: error: 'x' was not declared");
  EXPECT_EQ(found.excerpt,
            "b.cpp:7:10: error: 'x' was not declared\n    7 |   return x;\n      |          ^\n");
}

TEST(BuildLog, CMakeSaysItInTheFollowingLines) {
  const FoundError found = find_error(
      "-- The CXX compiler is GNU\nCMake Error at CMakeLists.txt:3 (find_package):\n"
      "  Could not find a package configuration file provided by \"flor\"\n\n-- Configuring "
      "incomplete, errors occurred!\n",
      "/tree");
  EXPECT_EQ(found.line,
            "CMake Error at CMakeLists.txt:3 (find_package): Could not find a package "
            "configuration file provided by \"flor\"");
  EXPECT_THAT(found.excerpt, Not(HasSubstr("incomplete")));
}

TEST(BuildLog, PathsAreThoseInsideOfTheTree) {
  EXPECT_EQ(find_error("../../flor-tree/src/a.cpp:1:2: error: x\n", "/home/1/flor-tree").line,
            "src/a.cpp:1:2: error: x");
}

TEST(BuildLog, TheLinkerAndMake) {
  EXPECT_EQ(find_error("/usr/bin/ld: a.o: in function `main':\na.cpp:(.text+0x5): undefined "
                       "reference to `f()'\ncollect2: error: ld returned 1 exit status\n",
                       "/tree")
                .line,
            "a.cpp:(.text+0x5): undefined reference to `f()'");
  EXPECT_EQ(find_error("make: *** No rule to make target 'train'.  Stop.\n", "/tree").line,
            "make: *** No rule to make target 'train'.  Stop.");
}

TEST(BuildLog, OfAnythingElseTheEndCounts) {
  std::string log;
  for (int i = 0; i < 40; ++i) log += "line " + std::to_string(i) + "\n";
  const FoundError found = find_error(log, "");
  EXPECT_EQ(found.line, "line 39");
  EXPECT_THAT(found.excerpt, HasSubstr("line 28\n"));
  EXPECT_THAT(found.excerpt, Not(HasSubstr("line 27\n")));
  EXPECT_EQ(find_error("", "").line, "");
}

}  // namespace
}  // namespace flor::cli
