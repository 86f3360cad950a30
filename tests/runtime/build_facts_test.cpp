// What a program knows of how it was built.
#include "git/shadow.h"
#include "session/build_facts.h"
#include "support/git_repository.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(BuildRecipe, ComesBackAsItWasWritten) {
  const BuildRecipe recipe{.target = "train",
                           .source_directory = "/a b/\"quoted\"",
                           .build_directory = "/b\\c",
                           .program = "/b/train",
                           .generator = "Ninja",
                           .configuration = "Release",
                           .compiler = "GNU 12.2.0",
                           .flags = "-O3 -DX=\"y\"",
                           .sources = "abc",
                           .cache = {{"A", "STRING", "1;2"}, {"B", "BOOL", "ON"}},
                           .environment = {{"PKG_CONFIG_PATH", "/x"}}};
  EXPECT_EQ(BuildRecipe::decode(recipe.encode()), recipe);
  // Fields of a later version do no harm, and what is missing is empty.
  EXPECT_EQ(BuildRecipe::decode(R"({"target":"x","later":[1]})").target, "x");
  for (const char* wrong : {"", "[]x", R"({"target":1})", R"({"cache":[["A"]]})"}) {
    EXPECT_THROW(BuildRecipe::decode(wrong), Error) << wrong;
  }
}

class SourcesTest : public ::testing::Test {
 protected:
  SourceStamp stamp(const std::string& name) const {
    const auto path = repository_ / name;
    const auto modified = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path));
    return {.content = *git::content_id(path),
            .bytes = std::filesystem::file_size(path),
            .modified_us =
                std::chrono::duration_cast<std::chrono::microseconds>(modified.time_since_epoch())
                    .count(),
            .path = path.string()};
  }
  void touch(const std::string& name, std::chrono::seconds by) const {
    const auto path = repository_ / name;
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + by);
  }
  testing::GitRepository repository_;
};

TEST_F(SourcesTest, AContentHasTheNameThatGitGivesIt) {
  repository_.write("a.cpp", "one\r\n");
  EXPECT_EQ(git::content_id(repository_ / "a.cpp"),
            repository_.git_line({"hash-object", "--no-filters", "a.cpp"}));
  EXPECT_FALSE(git::content_id(repository_ / "none.cpp"));
}

TEST_F(SourcesTest, StampsAreReadLineByLine) {
  const auto sources = ProgramSources::decode(
      "commit 1234\nabcd 10 1700000000.000123 /a b/c.cpp\n- 3 1.5 /x\nnonsense\nabcd 1 2.3\n");
  EXPECT_EQ(sources.commit, "1234");
  EXPECT_FALSE(sources.whole);
  EXPECT_TRUE(ProgramSources::decode("commit 1234\nwhole\n").whole);
  ASSERT_THAT(sources.files, SizeIs(2));
  EXPECT_EQ(sources.files[0].content, "abcd");
  EXPECT_EQ(sources.files[0].bytes, 10u);
  EXPECT_EQ(sources.files[0].modified_us, 1700000000000123);
  EXPECT_EQ(sources.files[0].path, "/a b/c.cpp");
  EXPECT_EQ(sources.files[1].path, "/x");
}

TEST_F(SourcesTest, WhatCountsIsTheContent) {
  for (const char* name : {"same.cpp", "touched.cpp", "changed.cpp", "grown.cpp", "gone.cpp"}) {
    repository_.write(name, "int x = 1;\n");
  }
  ProgramSources sources;
  for (const char* name : {"same.cpp", "touched.cpp", "changed.cpp", "grown.cpp", "gone.cpp"}) {
    sources.files.push_back(stamp(name));
  }
  EXPECT_THAT(changed_sources(sources), IsEmpty());
  touch("touched.cpp", std::chrono::seconds(100));
  repository_.write("changed.cpp", "int x = 2;\n");
  touch("changed.cpp", std::chrono::seconds(-100));
  repository_.append("grown.cpp", "int y;\n");
  repository_.remove("gone.cpp");
  const auto path = [&](const char* name) { return (repository_ / name).string(); };
  EXPECT_THAT(changed_sources(sources),
              ElementsAre(path("changed.cpp"), path("grown.cpp"), path("gone.cpp")));
  // Without git at the build a file that was touched counts, too.
  for (SourceStamp& file : sources.files) file.content = "-";
  EXPECT_THAT(changed_sources(sources), SizeIs(4));
}

TEST_F(SourcesTest, FilesOfTheProjectThatAreNotCompiledIntoTheProgramBelongToOthers) {
  for (const char* name : {"train.cpp", "model/net.h", "other.cpp", "model/other.h"}) {
    repository_.write(name, "int x = 1;\n");
  }
  ProgramSources sources;
  sources.files = {stamp("train.cpp"), stamp("model/net.h")};
  const auto hold = [&](const std::filesystem::path& file) {
    return OtherPrograms(sources, repository_.root()).hold(file);
  };
  EXPECT_FALSE(hold(repository_ / "other.cpp")) << "a header may have come in unseen";
  sources.whole = true;
  EXPECT_TRUE(hold(repository_ / "other.cpp"));
  EXPECT_TRUE(hold(repository_ / "model/../model/other.h"));
  EXPECT_TRUE(hold(repository_ / "new.cpp"));
  EXPECT_FALSE(hold(repository_ / "train.cpp"));
  EXPECT_FALSE(hold(repository_ / "model/../model/net.h"));
  std::filesystem::create_symlink(repository_ / "train.cpp", repository_ / "link.cpp");
  EXPECT_FALSE(hold(repository_ / "link.cpp"));
  EXPECT_FALSE(hold(repository_.root().parent_path() / "shared.h")) << "outside of the project";
  EXPECT_FALSE(OtherPrograms(sources, repository_ / "model").hold(repository_ / "modelling.h"));
  EXPECT_FALSE(OtherPrograms(sources, "/nowhere").hold("/nowhere/a.cpp"));
  EXPECT_FALSE(OtherPrograms::of_this().hold(repository_ / "other.cpp")) << "not instrumented";
}

TEST_F(SourcesTest, AProgramThatWasBuiltElsewhereHasNothingToSay) {
  ProgramSources sources;
  sources.files.push_back({.content = "-", .bytes = 1, .modified_us = 1, .path = "/nowhere/a.cpp"});
  EXPECT_THAT(changed_sources(sources), IsEmpty());
  EXPECT_FALSE(program_recipe());  // this test has none
  EXPECT_EQ(why_of_other_sources("/", "1234"), "");
}

}  // namespace
}  // namespace flor::detail
