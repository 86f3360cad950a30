// flor doctor: what it finds in stores and machines as they are, and in such as they should not be.
#include "cli/fixture.h"
#include "cli/repository.h"
#include "support/packs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class DoctorTest : public CliTest {
 protected:
  /// The findings on a topic, "warn what -> advice".
  std::vector<std::string> findings(const Outcome& outcome, const std::string& topic) {
    std::vector<std::string> lines;
    const auto json = outcome.json();
    for (const auto& finding : json["findings"]) {
      if (finding["topic"] != topic) continue;
      std::string line =
          finding["health"].get<std::string>() + " " + finding["what"].get<std::string>();
      if (finding["advice"].is_string()) line += " -> " + finding["advice"].get<std::string>();
      lines.push_back(line);
    }
    return lines;
  }
  Outcome doctor() { return flor({"doctor", "--json"}); }
  /// A run that began and that nobody lives for any more.
  void begin(const std::map<std::string, std::string>& environment) {
    catalog().add_run({.experiment = "linear",
                       .started_us = 1'700'000'000'000'000,
                       .commit = {},
                       .repository = {},
                       .directory = "/",
                       .program = "/nowhere/train",
                       .program_digest = "00",
                       .command = {"/nowhere/train"},
                       .environment = environment,
                       .key = {}});
  }
};

TEST_F(DoctorTest, ShowsNothingThatActsOnATerminal) {
  const std::string odd = "\x1b[31m\r\u009b\u202e\xff";
  begin({{"blas", odd}});
  close();
  const auto moved = home().string() + odd;
  std::filesystem::rename(home(), moved);
  const Outcome outcome = bare({"doctor", "--home", moved});
  std::filesystem::rename(moved, home());
  for (const char* raw : {"\x1b", "\r", "\u009b", "\u202e", "\xff"}) {
    EXPECT_EQ(outcome.out.find(raw), std::string::npos);
  }
  EXPECT_THAT(outcome.out, HasSubstr("\\x1b[31m\\x0d\\u{9b}\\u{202e}\\xff"));
}

TEST_F(DoctorTest, SaysWhatIsHereAndThatItIsWell) {
  record({});
  close();
  const Outcome outcome = doctor();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(findings(outcome, "flor").at(0), HasSubstr("SQLite 3."));
  EXPECT_THAT(findings(outcome, "flor").at(0), HasSubstr("libgit2 "));
  EXPECT_THAT(findings(outcome, "flor").at(0), HasSubstr("zstd 1."));
  EXPECT_EQ(findings(outcome, "libtorch").size(), 1u);
  EXPECT_EQ(findings(outcome, "BLAS").size(), 1u);
  EXPECT_THAT(findings(outcome, "threads").at(0), HasSubstr("cores"));
  EXPECT_THAT(findings(outcome, "free space").at(0), HasSubstr(" free"));
  EXPECT_THAT(findings(outcome, "locks").at(0), HasSubstr("ok work: a run is live while"));
  EXPECT_THAT(findings(outcome, "catalog").at(0), HasSubstr("ok sound"));
  EXPECT_EQ(findings(outcome, "store").at(0), "ok " + home().string());
  EXPECT_THAT(findings(outcome, "home").at(0), HasSubstr("(--home)"));
}

TEST_F(DoctorTest, ADamagedStoreFailsAndSaysWhatRepairsIt) {
  record({});
  close();
  for (const auto& entry : flor::testing::packs_of(home())) {
    std::filesystem::remove(entry.path());
  }
  const Outcome outcome = doctor();
  EXPECT_EQ(outcome.status, 1);
  const auto found = findings(outcome, "catalog");
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found.at(0), ::testing::StartsWith("fail "));
  EXPECT_THAT(found.at(0), HasSubstr("-> flor fsck --repair"));
  const Outcome text = flor({"doctor"});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("\nfail  catalog"));
}

TEST_F(DoctorTest, NamesWhatWouldMakeAReplayInexact) {
  begin({{"host", "another"},
         {"OMP_NUM_THREADS", "7"},
         {"cuda0", "A card"},
         {"deterministic algorithms", "off"},
         {"cudnn.benchmark", "on"}});
  close();
  const Outcome outcome = doctor();
  EXPECT_EQ(outcome.status, 0);
  const auto found = findings(outcome, "replay");
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("was recorded on another")));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("had OMP_NUM_THREADS=7")));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("setDeterministicAlgorithms")));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("setBenchmarkCuDNN(false)")));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("CUBLAS_WORKSPACE_CONFIG=:4096:8")));
  EXPECT_THAT(findings(outcome, "program").at(0), HasSubstr("/nowhere/train"));
  EXPECT_THAT(findings(outcome, "runs"), ::testing::Contains(HasSubstr("warn 1 interrupted")));
}

TEST_F(DoctorTest, LooksAtTheRepositoryAndTheFileSystem) {
  const Outcome none = doctor();
  EXPECT_EQ(none.status, 0) << none.out;
  EXPECT_THAT(findings(none, "git").at(0), HasSubstr("is in no repository"));
  EXPECT_THAT(findings(none, "store").at(0), HasSubstr("record a run with --flor NAME"));
  if (std::filesystem::is_directory("/dev/shm")) {
    const Outcome memory = bare({"doctor", "--json", "--home", "/dev/shm/flor-none"});
    EXPECT_THAT(findings(memory, "file system").at(0), HasSubstr("is in memory"));
  }
}

TEST_F(DoctorTest, SaysWhoMayLookIntoTheStore) {
  record({});
  close();
  EXPECT_EQ(findings(doctor(), "access").at(0), "ok only its user");
  ASSERT_EQ(::chmod(home().c_str(), 02770), 0);
  EXPECT_EQ(findings(doctor(), "access").at(0), "ok shared with a group (mode 2770)");
  ASSERT_EQ(::chmod(home().c_str(), 0755), 0);
  EXPECT_EQ(findings(doctor(), "access").at(0),
            "warn every user of this machine may look into the store (mode 0755) -> "
            "chmod -R go-rwx " +
                home().string());
  ASSERT_EQ(::chmod(home().c_str(), 0750), 0);
  EXPECT_THAT(findings(doctor(), "access").at(0), HasSubstr("warn users of its group may look"));
}

class DoctorSecretsTest : public RepositoryTest {
 protected:
  Json secrets() {
    const auto json = flor({"doctor", "--json"}).json();
    for (const auto& finding : json["findings"]) {
      if (finding["topic"] == "secrets") return finding;
    }
    return {};
  }
  int shell(const std::string& command) const {
    const std::string there = "cd '" + work_.string() + "' && (" + command + ")";
    return std::system((there + " > /dev/null 2>&1").c_str());
  }
};

TEST_F(DoctorSecretsTest, ListsWhatWasCommittedAndItsCommandRemovesThat) {
  write("train.cpp", "int main() {}\n");
  const std::string message = "flor: x\n\nFlor-Run: 1\nFlor-Command: ./train\n";
  commit(message);
  EXPECT_EQ(secrets()["what"], "none found in flor.shadow");
  write("flor.exclude", "!*\n");
  write(".env", "A=1\n");
  write("it's a key.pem", "x\n");
  commit(message);
  write("train.cpp", "int main() { return 1; }\n");  // not clean, as work trees are
  const auto found = secrets();
  EXPECT_EQ(found["health"], "warn");
  EXPECT_THAT(found["what"].get<std::string>(), HasSubstr("secrets: .env (commit "));
  const std::string advice = found["advice"];
  const std::string command = advice.substr(advice.find("cd "));
  ASSERT_EQ(shell(command), 0) << command;
  ASSERT_EQ(shell("git rm -q --cached -r . ; git log --name-only flor.shadow > names"), 0);
  std::ifstream in(work_ / "names");
  const std::string names{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(names, HasSubstr("flor.exclude"));
  EXPECT_THAT(names, ::testing::Not(HasSubstr(".env")));
  EXPECT_THAT(names, ::testing::Not(HasSubstr("key.pem")));
  EXPECT_EQ(secrets()["what"], "none found in flor.shadow");
}

TEST_F(DoctorSecretsTest, AccusesNoFileThatTheUserAddedToGit) {
  const std::string message = "flor: x\n\nFlor-Run: 1\nFlor-Command: ./train\n";
  write("train.cpp", "int main() {}\n");
  write("fixture.pem", "-----BEGIN RSA PRIVATE KEY-----\nof a test\n");
  // Added, and not committed: no recorded HEAD has it.
  ASSERT_EQ(shell("git add -f fixture.pem train.cpp"), 0);
  commit(message);
  EXPECT_EQ(secrets()["what"], "none found in flor.shadow");
  ASSERT_EQ(shell("git -c user.name=a -c user.email=a@b commit -q -m mine"), 0);
  write("train.cpp", "int main() { return 1; }\n");
  commit(message);
  EXPECT_EQ(secrets()["what"], "none found in flor.shadow");
  // Files that recordings alone hold are accused as before.
  write("flor.exclude", "!*\n");
  write(".env", "A=1\n");
  commit(message);
  EXPECT_THAT(secrets()["what"].get<std::string>(), HasSubstr("secrets: .env (commit "));
  ASSERT_EQ(shell("git checkout -q -f flor.shadow"), 0);
  EXPECT_THAT(secrets()["what"].get<std::string>(), HasSubstr("secrets: .env (commit "));
}

class ConfigTest : public CliTest {
 protected:
  ConfigTest() { environment_["XDG_CONFIG_HOME"] = (work_ / "xdg").string(); }

  void user_file(const std::string& text) { write(work_ / "xdg" / "flor" / "config", text); }
  void store_file(const std::string& text) { write(home() / "config", text); }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// "value, origin, where" of a setting.
  std::string setting(const Outcome& outcome, const std::string& name) {
    const auto json = outcome.json();
    for (const auto& each : json["settings"]) {
      if (each["name"] != name) continue;
      return each["value"].get<std::string>() + ", " + each["origin"].get<std::string>() + ", " +
             (each["where"].is_string() ? each["where"].get<std::string>() : "");
    }
    return {};
  }
};

TEST_F(ConfigTest, LaterPlacesWinAndEachSettingSaysWhereItComesFrom) {
  const std::string user = (work_ / "xdg/flor/config").string();
  user_file("# mine\nhome = " + home().string() +
            "\ncolor = always  # on terminals\nepsilon=0.1\n");
  store_file("epsilon = 0.2\n");
  Outcome outcome = bare({"config", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(setting(outcome, "home"), home().string() + ", file, " + user + ", line 2");
  EXPECT_EQ(setting(outcome, "color"), "always, file, " + user + ", line 3");
  EXPECT_EQ(setting(outcome, "epsilon"), "0.2, file, " + (home() / "config").string() + ", line 1");
  EXPECT_EQ(setting(outcome, "log"), "warn, default, ");
  environment_["FLOR_HOME"] = (work_ / "elsewhere").string();
  environment_["FLOR_LOG"] = "info";
  outcome = bare({"config", "--json", "--color", "never"});
  EXPECT_EQ(setting(outcome, "home"), (work_ / "elsewhere").string() + ", environment, FLOR_HOME");
  EXPECT_EQ(setting(outcome, "log"), "info, environment, FLOR_LOG");
  EXPECT_EQ(setting(outcome, "color"), "never, flag, --color");
  EXPECT_EQ(setting(outcome, "epsilon"), "0.1, file, " + user + ", line 4");
  EXPECT_THAT(bare({"config"}).out, HasSubstr("environment: FLOR_LOG"));
}

TEST_F(ConfigTest, CommandsUseIt) {
  record({});
  close();
  user_file("home = " + home().string() + "\ncolor = always\n");
  const Outcome outcome = bare({"list"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("linear"));
  EXPECT_THAT(outcome.out, HasSubstr("\x1b["));
  EXPECT_THAT(bare({"list", "--color", "never"}).out, ::testing::Not(HasSubstr("\x1b[")));
}

TEST_F(ConfigTest, WhatIsNoSettingIsOneLineWithTheRightNames) {
  const auto refusal = [&](const std::string& text) {
    user_file(text);
    const Outcome outcome = flor({"list"});
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_EQ(outcome.lines().size(), 0u);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refusal("\nepsilom = 1\n"),
              HasSubstr("config, line 2: there is no setting 'epsilom'; settings are home, color, "
                        "log, epsilon, output, machine, secrets, overridable, rank_timeout"));
  EXPECT_THAT(refusal("log = loud\n"), HasSubstr("expected off, error, warn, info or debug"));
  EXPECT_THAT(refusal("epsilon = many\n"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal("verbose\n"), HasSubstr("'verbose' is no setting: write NAME = VALUE"));
  std::filesystem::remove_all(work_ / "xdg");
  store_file("home = /tmp\n");
  const Outcome outcome = flor({"config"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("a store cannot say where it is"));
}

}  // namespace
}  // namespace flor::testing
