// Runs that came from elsewhere: nothing that they say is executed or built without the user's
// word. A real `flor spool` makes the buckets, from a store into which its owner put what he wanted.
#include "database/sqlite.h"
#include "replay_command.h"
#include "support/terminal.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class Trust : public ReplayCommand {
 protected:
  Trust() { bench_.use_home(place_ / "mine"); }
  /// A run of the trainer in another user's store, recorded honestly.
  store::Run record_elsewhere() {
    bench_.use_home(place_ / "theirs");
    EXPECT_EQ(bench_.run("trainer", {"--flor", "nice", "--flor_every", "1"}).status, 0);
    const store::Run run = bench_.last_run();
    bench_.use_home(place_ / "mine");
    return run;
  }
  /// What its owner says of it from now on.
  void say(const std::string& sql) const {
    store::Connection(place_ / "theirs" / "catalog.db", store::Connection::Mode::existing)
        .execute(sql.c_str());
  }
  /// A program that leaves a mark, with what else it takes.
  void say_program(const std::string& version, const std::string& digest) const {
    say(fmt::format("UPDATE run SET program = '/bin/bash', command = json_array('/bin/bash', '-c', "
                    "'touch {}'), version = '{}', program_digest = '{}'",
                    mark().string(), version, digest));
  }
  void spool() const {
    const auto sent = run_process(
        {FLOR_CLI, "--home", (place_ / "theirs").string(), "spool", "nice", url()},
        bench_.options());
    ASSERT_EQ(sent.status, 0) << sent.err;
  }
  void spool_and_fetch() const {
    spool();
    const auto fetched = run_process({FLOR_CLI, "fetch", "nice", url()}, bench_.options());
    ASSERT_EQ(fetched.status, 0) << fetched.err;
  }
  store::Run record_here() const {
    EXPECT_EQ(bench_.run("trainer", {"--flor", "nice", "--flor_every", "1"}).status, 0);
    return bench_.last_run();
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  Terminal on_terminal(const Words& words) const {
    TerminalOptions options{.directory = bench_.repository().root()};
    options.environment["FLOR_HOME"] = bench_.home().string();
    options.environment["PATH"] = std::getenv("PATH");
    options.environment["HOME"] = std::getenv("HOME");
    return Terminal(Words{FLOR_CLI} + words, options);
  }
  std::filesystem::path mark() const { return place_ / "PWNED"; }
  std::string url() const { return "file://" + (place_ / "bucket").string(); }
  std::string head() const {
    return lines_of(bench_.repository().run_git({"rev-parse", "HEAD"}))[0];
  }

  /// Refused before anything was done, in one line that says what to type.
  void expect_refused(const ProcessResult& result, const std::string& key,
                      const std::string& form = "-- PROGRAM") const {
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("run " + key.substr(0, 8)), HasSubstr("fetched from"),
                                  HasSubstr("--trust"), HasSubstr(form)));
    EXPECT_THAT(lines_of(result.err), SizeIs(1)) << result.err;
    EXPECT_FALSE(std::filesystem::exists(mark()));
  }

  TemporaryDirectory place_;
};

TEST_F(Trust, AProgramWithoutAVersionIsNotExecuted) {
  const auto run = record_elsewhere();
  say_program("", "");
  spool_and_fetch();
  const auto result = replay({"nice"});
  expect_refused(result, run.key);
  EXPECT_THAT(result.err, HasSubstr("/bin/bash -c 'touch "));
}

TEST_F(Trust, ARunThatWasFetchedStaysSoWhenTheIndexIsMadeAgain) {
  const auto run = record_elsewhere();
  say_program("", "");
  spool_and_fetch();
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    std::filesystem::remove(bench_.home() / file);
  }
  const auto listed = flor({"list", "--json"});
  EXPECT_THAT(listed.err, HasSubstr("was made again from the journals of 1 run"));
  EXPECT_THAT(listed.out, ContainsRegex("\"kind\": ?\"fetched\""));
  EXPECT_THAT(flor({"show", run.key}).out, HasSubstr("fetched from " + url()));
  expect_refused(replay({"nice"}), run.key);
}

TEST_F(Trust, AProgramOfACommitThatIsNowhereIsNotExecuted) {
  const auto run = record_elsewhere();
  say_program(std::string(40, 'a'), std::string(32, 'b'));
  spool_and_fetch();
  expect_refused(replay({"nice"}), run.key);
}

TEST_F(Trust, AProgramWithTheDigestThatItHasHereIsNotExecuted) {
  const auto run = record_elsewhere();
  say_program(head(), store::file_digest("/bin/bash"));
  spool_and_fetch();
  expect_refused(replay({"nice"}), run.key);
}

TEST_F(Trust, ANameMeansTheRunThatWasRecordedHere) {
  const auto theirs = record_elsewhere();
  const auto mine = record_here();
  say_program("", "");
  spool_and_fetch();
  const auto result = replay({"nice"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("replaying run " + mine.key.substr(0, 8)),
                    HasSubstr("run " + theirs.key.substr(0, 8) + ", fetched from file://"),
                    HasSubstr("is called nice, too: only its id means it")));
  EXPECT_EQ(replay({}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(mark()));
  expect_refused(replay({theirs.key.substr(0, 8)}), theirs.key);
}

TEST_F(Trust, AnExperimentThatIsCalledLikeARunOfHereIsNotMeantByIt) {
  const auto mine = record_here();
  record_elsewhere();
  say_program("", "");
  say(fmt::format("UPDATE experiment SET name = '{}'", mine.key.substr(0, 8)));
  const auto sent = run_process({FLOR_CLI, "--home", (place_ / "theirs").string(), "spool",
                                 mine.key.substr(0, 8), url()},
                                bench_.options());
  ASSERT_EQ(sent.status, 0) << sent.err;
  ASSERT_EQ(flor({"fetch", mine.key.substr(0, 8), url()}).status, 0);
  const std::string id = mine.key.substr(0, 8);
  EXPECT_THAT(replay({id}).err, HasSubstr("replaying run " + id));
  EXPECT_FALSE(std::filesystem::exists(mark()));
}

TEST_F(Trust, ARunThatIsFetchedByTheReplayIsNotExecutedEither) {
  const auto run = record_elsewhere();
  say_program("", "");
  spool();
  for (const Words& more : {Words{}, Words{"--epochs", "1"}}) {
    expect_refused(replay(Words{"nice", "--from", url()} + more), run.key);
  }
  // Nothing of it is here: neither the run, nor a name, nor what it logged.
  EXPECT_TRUE(
      store::Store::open(bench_.home(), store::OpenMode::read_only)->catalog().runs().empty());
  const auto mine = record_here();
  expect_refused(replay({"nice", "--from", url()}), run.key);
  EXPECT_EQ(bench_.last_run().key, mine.key);
  EXPECT_EQ(flor({"show", run.key}).status, 3);
  // A run that was fetched before stays.
  ASSERT_EQ(flor({"fetch", "nice", url()}).status, 0);
  expect_refused(replay({"nice", "--from", url()}), run.key);
  EXPECT_EQ(flor({"show", run.key}).status, 0);
}

TEST_F(Trust, ANameIsSpooledWithoutTheRunsThatWereFetched) {
  const auto theirs = record_elsewhere();
  spool_and_fetch();
  const std::string place = "file://" + (place_ / "mine-there").string();
  const auto refused = flor({"spool", "nice", place});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("all runs called nice were fetched: give the id"));
  const auto mine = record_here();
  ASSERT_EQ(flor({"spool", "nice", place}).status, 0);
  const auto there = flor({"remote", "ls", place, "--json"}).out;
  EXPECT_THAT(there, AllOf(HasSubstr(mine.key), Not(HasSubstr(theirs.key))));
  ASSERT_EQ(flor({"spool", theirs.key.substr(0, 8), place}).status, 0);
  EXPECT_THAT(flor({"remote", "ls", place, "--json"}).out, HasSubstr(theirs.key));
}

TEST_F(Trust, CredentialsInTheUrlOfAPlaceAreRefusedAndNotRepeated) {
  record_here();
  for (const std::string place : {"s3://AKIA:hunter2@bucket/x", "https://ada:hunter2@host/bucket",
                                  "redis://hunter2@host/0", "s3://bucket/x?token=hunter2"}) {
    for (const Words& words : {Words{"spool", "nice", place}, Words{"fetch", "nice", place},
                               Words{"remote", "ls", place}}) {
      const auto result = flor(words);
      EXPECT_EQ(result.status, 2) << place;
      EXPECT_THAT(result.err, AllOf(HasSubstr("***"), Not(HasSubstr("hunter2"))));
      EXPECT_THAT(lines_of(result.err), SizeIs(1));
    }
  }
}

TEST_F(Trust, NoWayToReplayExecutesIt) {
  const auto run = record_elsewhere();
  say_program(head(), store::file_digest("/bin/bash"));
  // Also by a recipe that builds with what it says.
  say(fmt::format("INSERT INTO recipe (id, json) VALUES (1, '{{}}'); "
                  "INSERT INTO build (run, recipe, remark) VALUES ({}, 1, '')",
                  run.id));
  spool_and_fetch();
  const std::string id = run.key.substr(0, 8);
  for (const Words& way : std::vector<Words>{{},
                                             {"--own"},
                                             {"--current"},
                                             {"--build", "touch " + mark().string()},
                                             {"--dry-run"},
                                             {"--workers", "2"},
                                             {"--threads", "1"},
                                             {"--epochs", "0..1"},
                                             {"--strong"},
                                             {"--again"},
                                             {"--verify"},
                                             {"--probe", "train"},
                                             {"--json"},
                                             {"--engine", "run:env"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    const auto result = replay(Words{id} + way);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr("--trust"));
    EXPECT_FALSE(std::filesystem::exists(mark()));
  }
  bench_.repository().append("train.cpp", "// flor::log(\"more\", 1);\n");
  EXPECT_NE(replay({"nice", "--all-versions", "--apply"}).status, 0);
  for (const Words& words : std::vector<Words>{{"build", id},
                                               {"build", id, "--clean"},
                                               {"build", id, "--build", "touch " + mark().string()},
                                               {"show", id},
                                               {"list"},
                                               {"log", "nice"},
                                               {"doctor"},
                                               {"fsck"}}) {
    (void)flor(words);
    EXPECT_FALSE(std::filesystem::exists(mark())) << words.front();
  }
}

TEST_F(Trust, ARecipeIsNotBuiltUnlessTheUserSaysSo) {
  const auto run = record_elsewhere();
  bench_.repository().write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\n"
                                              "project(none LANGUAGES NONE)\n");
  bench_.repository().commit_all("with a build");
  const std::string root = bench_.repository().root().string();
  const std::string recipe = fmt::format(
      R"({{"target": "x", "source_directory": "{0}", "build_directory": "{0}/build", )"
      R"("program": "{0}/build/x", "generator": "Unix Makefiles", "configuration": "", )"
      R"("environment": {{"CMAKE_PREFIX_PATH": "/evil"}}, "cache": [)"
      R"(["A", "STRING", "]==] CACHE STRING \"\") execute_process(COMMAND touch {1}) #"], )"
      R"(["CMAKE_CXX_COMPILER_LAUNCHER", "STRING", "touch;{1}"], )"
      R"(["CMAKE_PROJECT_INCLUDE", "FILEPATH", "/tmp/evil.cmake"], )"
      R"(["CMAKE_CXX_FLAGS", "STRING", "-fplugin=/tmp/evil.so"]]}})",
      root, mark().string());
  say(fmt::format("UPDATE run SET version = '{}', repository = '{}'", head(), root));
  say(fmt::format("INSERT INTO recipe (id, json) VALUES (1, '{}'); "
                  "INSERT INTO build (run, recipe, remark) VALUES ({}, 1, '')",
                  recipe, run.id));
  spool_and_fetch();
  const std::string id = run.key.substr(0, 8);
  expect_refused(flor({"build", "nice"}), run.key, "flor build " + id + " --trust");
  const auto trusted = flor({"build", id, "--trust"});
  EXPECT_EQ(trusted.status, 1) << "there is no target x";
  EXPECT_THAT(trusted.err,
              HasSubstr("not taken from the recipe, since it is another machine's: A, "
                        "CMAKE_CXX_COMPILER_LAUNCHER, CMAKE_PROJECT_INCLUDE, CMAKE_CXX_FLAGS, "
                        "CMAKE_PREFIX_PATH"));
  EXPECT_FALSE(std::filesystem::exists(mark()));
}

TEST_F(Trust, ARecipeWithWhatNoRecipeHasIsRefusedEvenIfItIsTrusted) {
  const auto run = record_elsewhere();
  const std::string root = bench_.repository().root().string();
  say(fmt::format("UPDATE run SET version = '{}'", head()));
  say(fmt::format("INSERT INTO recipe (id, json) VALUES (1, '{{}}'); "
                  "INSERT INTO build (run, recipe, remark) VALUES ({}, 1, '')",
                  run.id));
  const std::string rest = R"("target": "x", "generator": "Ninja")";
  int number = 0;
  for (const std::string& field :
       {R"("environment": {"LD_PRELOAD": "/tmp/evil.so"}, )" + rest,
        R"("cache": [["A", "STRING \"\")\nexecute_process(COMMAND x)\n#", "x"]], )" + rest,
        std::string(R"("target": "--config", "generator": "Ninja")")}) {
    say(fmt::format("UPDATE recipe SET json = '{{{}}}'", field));
    bench_.use_home(place_ / fmt::format("mine{}", ++number));
    std::filesystem::remove_all(place_ / "bucket");
    spool_and_fetch();
    const auto result = flor({"build", run.key, "--trust"});
    EXPECT_EQ(result.status, 1) << field << result.err;
    EXPECT_THAT(result.err, HasSubstr("that no recipe has")) << field;
  }
}

TEST_F(Trust, TheUsersOwnProgramReplaysWithNothingOfTheRunsEnvironment) {
  const auto run = record_elsewhere();
  say_program("", "");
  say("UPDATE environment SET json = json_set(json, '$.LD_PRELOAD', '/tmp/evil.so', "
      "'$.OMP_NUM_THREADS', '1; touch x', '$.BASH_ENV', '/tmp/evil.sh')");
  spool_and_fetch();
  const auto wrapper = place_ / "program", seen = place_ / "seen";
  std::ofstream(wrapper) << "#!/bin/sh\nenv > " << seen.string() << "\nexec " << other("trainer")
                         << "\n";
  std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
  const auto result = replay({"nice", "--", wrapper.string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  EXPECT_THAT(read_file(seen), AllOf(Not(HasSubstr("evil")), Not(HasSubstr("touch"))));
  EXPECT_FALSE(std::filesystem::exists(mark()));
}

TEST_F(Trust, WhatTheUserTrustsIsExecuted) {
  record_elsewhere();
  spool_and_fetch();
  EXPECT_EQ(replay({"nice"}).status, 2);
  const auto result = replay({"nice", "--trust"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
}

TEST_F(Trust, TheSameProgramAndCommandAsOfARunOfHereNeedNoWord) {
  const auto theirs = record_elsewhere();
  const auto mine = record_here();
  spool_and_fetch();
  ASSERT_EQ(mine.start.commit, theirs.start.commit);
  const auto result = replay({theirs.key});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
}

TEST_F(Trust, AnythingElseThanAtARunOfHereNeedsTheUsersWord) {
  const auto theirs = record_elsewhere();
  record_here();
  const std::string home = bench_.home();
  int number = 0;
  for (const char* change :
       {"program = program || 'x'", "program_digest = 'x'", "directory = '/tmp'",
        "command = json_array('trainer', 'x')", "version = ''", "repository = '/tmp'"}) {
    std::filesystem::remove_all(place_ / "bucket");
    const auto copy = place_ / fmt::format("copy{}", ++number);
    std::filesystem::copy(place_ / "theirs", place_ / "kept",
                          std::filesystem::copy_options::recursive);
    std::filesystem::copy(home, copy, std::filesystem::copy_options::recursive);
    say(fmt::format("UPDATE run SET {}", change));
    bench_.use_home(copy);
    spool_and_fetch();
    EXPECT_EQ(replay({theirs.key}).status, 2) << change;
    std::filesystem::remove_all(place_ / "theirs");
    std::filesystem::rename(place_ / "kept", place_ / "theirs");
  }
}

TEST_F(Trust, OnATerminalTheCommandIsShownAndAskedFor) {
  if (!has_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals";
  const auto run = record_elsewhere();
  spool_and_fetch();
  for (const std::string answer : {"\n", "n\n", "maybe\n"}) {
    Terminal terminal = on_terminal({"replay", "nice"});
    ASSERT_TRUE(terminal.shows("[y/N] ")) << terminal.drawn();
    EXPECT_THAT(terminal.drawn(),
                AllOf(HasSubstr("run " + run.key.substr(0, 8) + " (nice) was fetched from"),
                      HasSubstr(run.start.program + " --flor nice"),
                      HasSubstr(run.start.directory)));
    terminal.type(answer);
    EXPECT_EQ(terminal.wait(), 1);
    EXPECT_THAT(terminal.drawn(), HasSubstr("nothing was executed"));
  }
  Terminal terminal = on_terminal({"replay", "nice"});
  ASSERT_TRUE(terminal.shows("[y/N] ")) << terminal.drawn();
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait(), 0) << terminal.drawn();
  EXPECT_THAT(terminal.drawn(), HasSubstr("verified: "));
}

TEST_F(Trust, WhatIsShownOnATerminalIsAllOfItAndEscaped) {
  if (!has_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals";
  record_elsewhere();
  say("UPDATE run SET program = '/bin/busybox', version = '', command = json_array('sh', '-c', "
      "'touch ' || char(27) || '[2K' || char(10) || 'x''y')");
  spool_and_fetch();
  Terminal terminal = on_terminal({"replay", "nice"});
  ASSERT_TRUE(terminal.shows("[y/N] ")) << terminal.drawn();
  EXPECT_THAT(terminal.drawn(),
              AllOf(HasSubstr("/bin/busybox -c 'touch "), HasSubstr("(called sh)"),
                    HasSubstr("\\nx"), Not(HasSubstr("\x1b[2K"))));
  terminal.type("n\n");
  EXPECT_EQ(terminal.wait(), 1);
}

TEST_F(Trust, WhereItCameFromIsShown) {
  const auto run = record_elsewhere();
  const auto mine = record_here();
  spool_and_fetch();
  EXPECT_THAT(flor({"show", run.key}).out, HasSubstr("fetched from " + url()));
  EXPECT_THAT(flor({"show", run.key, "--json"}).out,
              AllOf(ContainsRegex("\"kind\": ?\"fetched\""), HasSubstr("\"" + url() + "\"")));
  EXPECT_THAT(flor({"list", "--json"}).out, AllOf(ContainsRegex("\"kind\": ?\"fetched\""),
                                                  ContainsRegex("\"kind\": ?\"recorded\"")));
  EXPECT_THAT(flor({"show", mine.key}).out, Not(HasSubstr("fetched")));
}

}  // namespace
}  // namespace flor::testing
