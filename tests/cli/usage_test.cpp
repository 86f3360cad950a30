// What holds for every command: help, wrong usage, no store, streams and exit statuses.
#include "cli/fixture.h"
#include "database/sqlite.h"
#include "support/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace flor::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kCommands{"list", "show", "log",  "query",
                                         "diff", "fsck", "keep", "gc"};

class UsageTest : public CliTest {
 protected:
  /// One line on stderr, nothing on stdout.
  void expect_error(const Outcome& outcome, int status, const std::string& part) {
    EXPECT_EQ(outcome.status, status);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("flor: "));
    EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
};

TEST_F(UsageTest, PrintsItsVersionWithoutAStore) {
  const Outcome outcome = bare({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, MatchesRegex("flor [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(UsageTest, NamesTheRightFormOfAssayersOptions) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--directory", "runs"}, "--directory: name the directory alone: flor watch DIR"},
      {{"runs", "--eval_existing"}, "--eval_existing: use --existing"},
      {{"runs", "--num_eval_workers=4"}, "--num_eval_workers: use --workers N"},
      {{"runs", "--regex_filter", "a"}, "--regex_filter: use --filter REGEX"},
      {{"runs", "--polling_interval", "3"}, "use --watch-interval SECONDS"},
      {{"runs", "--until_idle"}, "did you mean '--until-idle'?"}};
  for (const auto& [words, part] : cases) {
    std::vector<std::string> all{"watch"};
    all.insert(all.end(), words.begin(), words.end());
    expect_error(flor(all), 2, part);
  }
}

TEST_F(UsageTest, ListsEveryCommandInTheGeneralHelp) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help"}, {"--help"}, {"-h"}}) {
    const Outcome outcome = bare(words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    for (const std::string& command : kCommands)
      EXPECT_THAT(outcome.out, HasSubstr("\n  " + command));
  }
}

TEST_F(UsageTest, TeachesEachCommandWithExamples) {
  for (const std::string& command : kCommands) {
    const Outcome outcome = bare({command, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, StartsWith("flor " + command + ": "));
    EXPECT_THAT(outcome.out, HasSubstr("Usage: flor " + command + " [OPTIONS]"));
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  flor " + command));
    EXPECT_EQ(outcome.out, bare({"help", command}).out);
    for (const std::string& line : outcome.lines()) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(UsageTest, SuggestsTheCommandThatWasMeant) {
  expect_error(bare({"lsit"}), 2, "no command 'lsit': did you mean 'list'?");
  expect_error(bare({"--json", "--home", "x", "qeury", "loss"}), 2, "did you mean 'query'?");
  expect_error(bare({"help", "shwo"}), 2, "did you mean 'show'?");
  expect_error(bare({"frobnicate"}), 2, "'flor help' lists the commands");
}

TEST_F(UsageTest, OfTheCommandsThatLookAtRunsAloneSaysWhereTheOthersAre) {
  record({});
  const std::string home = (directory_ / "home").string();
  for (const char* shown : {"list", "show", "query loss"}) {
    const auto run = [&](const char* flor) {
      return run_process({"/bin/sh", "-c",
                          std::string(flor) + " --home '" + home + "' " + shown});
    };
    const ProcessResult looked = run(FLOR_LOOK);
    EXPECT_EQ(looked.status, 0) << looked.err;
    EXPECT_EQ(looked.out, run(FLOR_CLI).out);
  }
  const ProcessResult help = run_process({FLOR_LOOK, "help"});
  EXPECT_THAT(help.out, HasSubstr("\n  list "));
  EXPECT_THAT(help.out, Not(HasSubstr("\n  replay ")));
  EXPECT_THAT(help.out, HasSubstr("Some commands are missing: "));
  const ProcessResult missing = run_process({FLOR_LOOK, "replay"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.err,
            "flor: no command 'replay': this build has the commands that look at runs; `cmake "
            "--preset release` configures one that has all\n");
}

TEST_F(UsageTest, RefusesWrongOptionsWithStatusTwo) {
  store();
  expect_error(bare({}), 2, "no command given");
  expect_error(flor({"list", "--frobnicate"}), 2, "see 'flor list --help'");
  expect_error(flor({"list", "--limi", "3"}), 2,
               "flor list has no --limi: did you mean '--limit'?");
  expect_error(flor({"list", "--hom=x"}), 2, "flor list has no --hom: did you mean '--home'?");
  expect_error(flor({"list", "-n", "many"}), 2, "-n many: give a whole number from 0 on");
  for (const char* command : {"list", "log", "sql"}) {
    for (const char* number : {"-1", "1.5", ""}) {
      expect_error(flor({command, "--limit", number}), 2, "give a whole number from 0 on");
    }
  }
  expect_error(flor({"list", "-n"}), 2, "-n needs a value: -n N");
  expect_error(flor({"list", "--color", "blue"}), 2, "use auto, always or never");
  expect_error(flor({"diff", "a"}), 2, "flor diff needs B: flor diff [OPTIONS] A B");
  expect_error(flor({"list", "a", "b"}), 2, "'b' is one operand too many");
  expect_error(flor({"query", "loss", "--epochs", "5..3"}), 2, "use A..B");
  expect_error(flor({"query", "loss", "--epochs", "x"}), 2, "use A..B");
  expect_error(flor({"query", "loss", "--csv", "--json"}), 2, "exclude each other");
  expect_error(flor({"query", "loss", "--recorded", "--hindsight"}), 2, "exclude each other");
  expect_error(flor({"query", "loss", "--run", "a", "--experiment", "b"}), 2, "exclude each other");
}

TEST_F(UsageTest, SaysThatThereIsNoStoreAndMakesNone) {
  for (const std::string command : {"list", "show", "log", "fsck"}) {
    expect_error(flor({command}), 3,
                 "no store at " + home().string() + ": record a run with --flor NAME first");
  }
  expect_error(flor({"query", "loss"}), 3, "no store at");
  expect_error(flor({"diff", "a", "b"}), 3, "no store at");
  EXPECT_FALSE(std::filesystem::exists(home()));
}

TEST_F(UsageTest, FindsTheStoreByFlagThenVariableThenHome) {
  environment_ = {{"FLOR_HOME", (directory_ / "variable").string()},
                  {"HOME", (directory_ / "user").string()}};
  EXPECT_THAT(bare({"list"}).err, HasSubstr("no store at " + (directory_ / "variable").string()));
  EXPECT_THAT(flor({"list"}).err, HasSubstr("no store at " + home().string()));
  environment_.erase("FLOR_HOME");
  EXPECT_THAT(bare({"list"}).err, HasSubstr("no store at " + (directory_ / "user/.flor").string()));
}

TEST_F(UsageTest, TakesGlobalOptionsBeforeAndAfterTheCommand) {
  record({});
  EXPECT_EQ(bare({"--home", home().string(), "--json", "list"}).out,
            bare({"list", "--json", "--home=" + home().string()}).out);
}

TEST_F(UsageTest, NamesTheNearestRunForAnUnknownOne) {
  record({});
  for (const std::string command : {"show", "diff", "query"}) {
    std::vector<std::string> words{command};
    if (command == "diff") words.insert(words.end(), {"linear", "linaer"});
    if (command == "show") words.push_back("linaer");
    if (command == "query") words.insert(words.end(), {"loss", "--run", "linaer"});
    expect_error(flor(words), 3, "did you mean 'linear'?");
  }
}

TEST_F(UsageTest, RefusesAnAmbiguousPrefix) {
  // Keys are random; two that begin alike have to be made by hand.
  const store::Run first = record({});
  const store::Run second = record({});
  close();
  const std::string sql =
      "UPDATE run SET key = '3f2a000000000000' WHERE id = " + std::to_string(first.id) +
      "; UPDATE run SET key = '3f2a111111111111' WHERE id = " + std::to_string(second.id);
  store::Connection(home() / "catalog.db", store::Connection::Mode::existing).execute(sql.c_str());
  expect_error(flor({"show", "3f2a"}), 2, "ambiguous");
  for (const char* few : {"3", "3f", "3F2"}) {
    expect_error(flor({"show", few}), 3, "an id takes at least its first 4 digits");
  }
  EXPECT_EQ(flor({"show", "3f2a1", "--json"}).json()["run"]["id"], "3f2a111111111111");
}

TEST_F(UsageTest, TakesAReaderThatLeavesForNoError) {
  for (int i = 0; i < 3; ++i) record({});
  EXPECT_EQ(flor_without_reader({"list"}), 0);
  EXPECT_EQ(flor_without_reader({"query", "loss", "--csv"}), 0);
  EXPECT_EQ(flor_without_reader({"list", "--json"}), 0);
}

TEST_F(UsageTest, ReportsAFullDiskUnderItsOutput) {
  record({});
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(flor_into(full, {"list"}), 1);
  ::close(full);
}

TEST_F(UsageTest, MakesACatalogThatIsNoDatabaseAgain) {
  record({});
  close();
  for (const std::string command : {"list", "show", "fsck"}) {
    for (const char* suffix : {"-wal", "-shm"}) {
      std::filesystem::remove((home() / "catalog.db").string() + suffix);
    }
    std::ofstream(home() / "catalog.db", std::ios::trunc) << std::string(8192, 'x');
    const Outcome outcome = flor({command});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(flor({command}).out, outcome.out);
  }
}

TEST_F(UsageTest, RefusesAStoreOfANewerFormatAndSaysToUpgrade) {
  record({});
  close();
  store::Connection(home() / "catalog.db", store::Connection::Mode::existing)
      .execute("PRAGMA user_version=999");
  expect_error(flor({"list"}), 1, "newer");
}

TEST_F(UsageTest, ReadsAStoreThatItMayNotWrite) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  record({});
  close();
  std::filesystem::permissions(
      home(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Outcome outcome = flor({"list"});
  std::filesystem::permissions(home(), std::filesystem::perms::owner_all);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("linear"));
}

TEST_F(UsageTest, WritesNothingIntoTheStore) {
  record({});
  close();
  const auto files = [&] {
    std::vector<std::pair<std::string, std::uintmax_t>> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home())) {
      const std::string name = entry.path().string();
      // SQLite's shared memory comes and goes with its readers.
      if (!entry.is_regular_file() || name.ends_with("-shm") || name.ends_with("-wal")) continue;
      result.emplace_back(name, entry.file_size());
    }
    std::sort(result.begin(), result.end());
    return result;
  };
  const auto before = files();
  for (const std::string& command : kCommands) {
    if (command == "diff" || command == "keep" || command == "gc") continue;
    EXPECT_EQ(flor({command, command == "query" ? "loss" : "--json"}).status, 0) << command;
  }
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace flor::testing
