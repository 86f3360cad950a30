// flor_instrument: a program knows how it is built, and a recording says when it is not of the
// sources that are recorded.
#include "versions/project.h"

#include <nlohmann/json.hpp>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Instrument : public ::testing::Test {
 protected:
  void SetUp() override { project_.build(); }
  std::string recorded() { return project_.record().err; }

  static constexpr const char* kOther = "the recorded sources are not those it was built from";
  Project project_;
};

TEST_F(Instrument, ARunKeepsHowItsProgramIsBuilt) {
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
  const auto shown = project_.flor({"show", "trained", "--all"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("built"), HasSubstr("target train, Debug, by "),
                               Not(HasSubstr("stale"))));
  const auto json = nlohmann::json::parse(project_.flor({"show", "trained", "--json"}).out);
  const auto& build = json["run"]["build"];
  EXPECT_EQ(build["source_directory"], project_.root().string());
  EXPECT_EQ(build["build_directory"], (project_.root() / "build").string());
  EXPECT_EQ(build["generator"], FLOR_TEST_GENERATOR);
  EXPECT_EQ(build["cache"]["FASTER"], "OFF");
  EXPECT_EQ(build["cache"]["CMAKE_PREFIX_PATH"], FLOR_TEST_PREFIX);
  EXPECT_TRUE(build["remark"].is_null());
}

TEST_F(Instrument, ASourceThatChangedAfterTheBuildIsNamed) {
  project_.repository().append("train.cpp", "// changed\n");
  EXPECT_THAT(recorded(), HasSubstr(std::string("train is older than train.cpp: ") + kOther));
  EXPECT_THAT(project_.flor({"show", "trained", "--all"}).out,
              HasSubstr("the program is older than train.cpp"));
  project_.build();
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
}

TEST_F(Instrument, SoIsAHeaderAndASourceOfALibrary) {
  project_.repository().append("model.h", "// changed\n");
  EXPECT_THAT(recorded(), HasSubstr("train is older than model.h: "));
  project_.repository().append("model.cpp", "// changed\n");
  EXPECT_THAT(recorded(), HasSubstr("(and 1 more)"));
  project_.repository().append("extra.cpp", "// changed\n");
  EXPECT_THAT(recorded(), HasSubstr("train is older than extra.cpp (and 2 more)"));
  project_.build();
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
}

TEST_F(Instrument, AFileThatWasOnlyTouchedIsNotChanged) {
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(project_.root() / "train.cpp", now + std::chrono::hours(1));
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
}

TEST_F(Instrument, AChangeWithAnOldTimeIsFoundByTheContent) {
  const auto time = std::filesystem::last_write_time(project_.root() / "model.h");
  const std::string text = read_file(project_.root() / "model.h");
  project_.repository().write("model.h", "constexpr double kModel = 2;\ndouble model();\n");
  ASSERT_EQ(read_file(project_.root() / "model.h").size(), text.size());
  std::filesystem::last_write_time(project_.root() / "model.h", time - std::chrono::hours(1));
  EXPECT_THAT(recorded(), HasSubstr("train is older than model.h"));
}

TEST_F(Instrument, FilesOfOtherProgramsAreNoneOfIt) {
  project_.repository().write("other.cpp", "int main() {}\n");
  project_.repository().write("model_notes.h", "// nobody includes it\n");
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
}

// Whether the sources are known to be all of them, as the program that was built says.
bool knows_all(const Project& project) {
  return read_file(project.root() / "build/flor/train/sources.cpp").find("\nwhole\n") !=
         std::string::npos;
}

TEST(InstrumentSources, AreThoseThatComeInByAPrecompiledHeaderAndAnObjectLibrary) {
  const Project project("add_library(parts OBJECT parts.cpp)\n"
                        "target_sources(train PRIVATE $<TARGET_OBJECTS:parts>)\n"
                        "target_precompile_headers(train PRIVATE common.h)\n"
                        "flor_instrument(train)\n");
  project.repository().write("common.h", "#include \"deep.h\"\n");
  project.repository().write("deep.h", "inline int deep() { return 1; }\n");
  project.repository().write("parts.cpp", "int parts() { return 2; }\n");
  project.build();
  EXPECT_TRUE(knows_all(project));
  for (const char* name : {"common.h", "deep.h", "parts.cpp"}) {
    project.repository().append(name, "// changed\n");
    EXPECT_THAT(project.record().err, HasSubstr("train is older than")) << name;
    project.build();
    EXPECT_THAT(project.record().err, Not(HasSubstr("train is older than"))) << name;
  }
}

#ifdef FLOR_TEST_EXAMPLE_SOURCES
TEST(InstrumentSources, AreNotThoseOfFlorWhereItIsPartOfTheProject) {
  const std::string noted = read_file(FLOR_TEST_EXAMPLE_SOURCES);
  EXPECT_THAT(noted, AllOf(HasSubstr("\nwhole\n"), HasSubstr("/linear.cpp\n"), HasSubstr("/data.h\n"),
                           Not(HasSubstr("/include/flor/"))));
}
#endif

TEST(InstrumentSources, MayBeMoreWhereAHeaderIsNamedByAMacroOrAnOption) {
  Project project("target_compile_options(train PRIVATE -include ${CMAKE_SOURCE_DIR}/forced.h)\n"
                  "flor_instrument(train)\n");
  project.repository().write("forced.h", "inline int forced() { return 1; }\n");
  project.build();
  EXPECT_FALSE(knows_all(project));
  Project elsewhere("target_compile_options(train PRIVATE -I${CMAKE_SOURCE_DIR}/more)\n"
                    "flor_instrument(train)\n");
  elsewhere.repository().write("more/hidden.h", "inline int hidden() { return 1; }\n");
  elsewhere.repository().write("extra.cpp",
                               "#include <hidden.h>\nint extra() { return hidden(); }\n");
  elsewhere.build();
  EXPECT_FALSE(knows_all(elsewhere));
  Project computed("target_compile_definitions(train PRIVATE MODEL=\"model.h\")\n"
                   "flor_instrument(train)\n");
  computed.repository().write("extra.cpp", "#include MODEL\nint extra() { return 1; }\n");
  computed.build();
  EXPECT_FALSE(knows_all(computed));
}

// Without compiling anything.
void note_sources(const Project& project) {
  if (!std::filesystem::exists(project.root() / "build")) project.configure();
  std::filesystem::remove(project.root() / "build/flor/train/sources.cpp");
  const auto result = project.run({"cmake", "-D", "LIST=build/flor/train/sources.list", "-D",
                                   "OUTPUT=build/flor/train/sources.cpp", "-P",
                                   FLOR_TEST_PREFIX "/lib/cmake/flor/FlorSources.cmake"});
  ASSERT_EQ(result.status, 0) << result.err;
}

TEST(InstrumentSources, MayBeMoreWhereAHeaderIsSpelledUnusuallyOrLoaded) {
  const Project project;
  project.repository().write("hidden.h", "inline int hidden() { return 1; }\n");
  note_sources(project);
  EXPECT_TRUE(knows_all(project));
  for (const char* text :
       {"/* our own */ #include \"hidden.h\"\n", "#/**/include \"hidden.h\"\n",
        "%:include \"hidden.h\"\n", "#inc\\\nlude \"hidden.h\"\n", "#include \\\n\"hidden.h\"\n",
        "#include_next \"hidden.h\"\n", "auto* plugin = dlopen(\"plugin.so\", 1);\n",
        "#include \"missing.h\"\n"}) {
    project.repository().write("extra.cpp", text);
    note_sources(project);
    EXPECT_FALSE(knows_all(project)) << text;
  }
  for (const char* text :
       {"#include \"hidden.h\"\n", "  #  include\t\"hidden.h\"  // [1]\n", "// #include MODEL\n",
        "#endif  // include guard\n", "#ifdef include\n", "int dlopened = 0;\n"}) {
    project.repository().write("extra.cpp", text);
    note_sources(project);
    EXPECT_TRUE(knows_all(project)) << text;
  }
  // A bracket does not hide the lines after it.
  project.repository().write("extra.cpp", "#include \"list[1.h\"\n#include \"hidden.h\"\n");
  project.repository().write("list[1.h", "");
  note_sources(project);
  EXPECT_THAT(read_file(project.root() / "build/flor/train/sources.cpp"), HasSubstr("/hidden.h\n"));
}

TEST(InstrumentSources, AreAllOfOneNameThatTheCompilerMayTake) {
  const Project project(
      "target_include_directories(train PRIVATE one two)\nflor_instrument(train)\n");
  project.repository().write("one/settings.h", "");
  project.repository().write("two/settings.h", "");
  project.repository().write("extra.cpp", "#include <settings.h>\n");
  note_sources(project);
  EXPECT_THAT(read_file(project.root() / "build/flor/train/sources.cpp"),
              AllOf(HasSubstr("/one/settings.h\n"), HasSubstr("/two/settings.h\n")));
}

TEST(InstrumentSources, MayBeMoreWhereSomethingIsLinkedThatIsNoTargetByName) {
  for (const char* text :
       {"target_link_libraries(train $<$<CONFIG:Debug>:model>)\n",
        "target_link_libraries(train ${CMAKE_SOURCE_DIR}/libhidden.a)\n",
        "set_target_properties(train PROPERTIES COMPILE_FLAGS -I${CMAKE_SOURCE_DIR}/more)\n",
        "set_source_files_properties(extra.cpp PROPERTIES COMPILE_OPTIONS -Imore)\n",
        "set_source_files_properties(extra.cpp PROPERTIES INCLUDE_DIRECTORIES "
        "${CMAKE_SOURCE_DIR}/more)\n"}) {
    const Project project(std::string(text) + "flor_instrument(train)\n");
    note_sources(project);
    EXPECT_FALSE(knows_all(project)) << text;
  }
}

TEST_F(Instrument, WhatOtherProgramsDoIsNoQuestionToThisOne) {
  EXPECT_TRUE(knows_all(project_));
  // The same names as in this program: their bodies are not what it calls.
  project_.repository().write("other.cpp", "double model() { return 2; }\n");
  project_.repository().commit_all("another program");
  project_.record({"--flor_every", "1"});
  project_.repository().write("other.cpp",
                              "#include <flor/flor.h>\n"
                              "double model() { flor::log(\"other\", 1); return 3; }\n");
  project_.repository().write("train.cpp", training("1.5", "flor::log(\"half\", total / 2);\n"));
  project_.build();
  const auto replayed = project_.run({"build/train", "--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("logs \"half\": outside the nested loops"),
                                  HasSubstr("skipped train 3 times"), Not(HasSubstr("other"))));
}

TEST_F(Instrument, AProgramOfAnotherCommitIsNamedWithBoth) {
  const std::string built_at = project_.repository().git_line({"rev-parse", "HEAD"});
  project_.repository().write("train.cpp", training("9.5"));
  const std::string head = project_.repository().commit_all("faster");
  EXPECT_THAT(recorded(), HasSubstr(fmt::format(
                              "train was built at commit {:.8}, while HEAD is {:.8}, and train.cpp "
                              "changed: ",
                              built_at, head)));
  // Another commit with the same sources is no other program.
  project_.build();
  project_.repository().write("README", "read me\n");
  project_.repository().commit_all("docs");
  EXPECT_THAT(recorded(), Not(HasSubstr(kOther)));
}

TEST_F(Instrument, SourcesOutsideOfTheRecordedRepositoryAreSaid) {
  const std::filesystem::path elsewhere = project_.repository().place() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  project_.repository().run_git_in(elsewhere, {"init", "-q"});
  const auto result =
      project_.run({(project_.root() / "build/train").string(), "--flor", "trained"}, elsewhere);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err,
              HasSubstr(fmt::format("outside of the repository {}", elsewhere.string())));
}

TEST_F(Instrument, ABuildWithoutChangesDoesNothing) {
  EXPECT_THAT(project_.build(), Not(HasSubstr("train.cpp")));
}

TEST_F(Instrument, WhatIsNoExecutableOfTheDirectoryIsRefused) {
  for (const auto& [line, why] : {std::pair("flor_instrument(model)\n", "it is no executable"),
                                  {"flor_instrument(trian)\n", "there is no such target"}}) {
    const std::string before = read_file(project_.root() / "CMakeLists.txt");
    project_.repository().append("CMakeLists.txt", line);
    const auto result = project_.run({"cmake", "build"});
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.err, HasSubstr(why));
    project_.repository().write("CMakeLists.txt", before);
  }
}

TEST(InstrumentMake, WorksWithMakefilesAndInASubdirectoryWhoseNameIsNotAscii) {
  Project project("flor_instrument(train)\nadd_subdirectory(jürgen)\n");
  project.repository().write("jürgen/CMakeLists.txt",
                             "add_executable(tool tool.cpp)\n"
                             "target_link_libraries(tool PRIVATE flor::core model)\n"
                             "target_include_directories(tool PRIVATE ..)\n"
                             "flor_instrument(tool)\n");
  project.repository().write("jürgen/tool.cpp", training("1.5"));
  project.configure({}, "Unix Makefiles");
  project.build();
  EXPECT_THAT(project.build(), Not(HasSubstr("Building CXX")));
  const auto recorded = project.run({"build/jürgen/tool", "--flor", "tool"});
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  project.repository().append("jürgen/tool.cpp", "// changed\n");
  EXPECT_THAT(project.run({"build/jürgen/tool", "--flor", "tool"}).err,
              HasSubstr("tool is older than jürgen/tool.cpp"));
  const auto built = project.flor({"build", "tool~1"});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("/jürgen/tool\n"));
}

}  // namespace
}  // namespace flor::testing
