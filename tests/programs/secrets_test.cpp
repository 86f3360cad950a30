// Secrets of a real training: of its files none is committed, and of its command line, its
// arguments and its environment none is in anything that Flor writes; what needs them asks again.
#include "store/journal_texts.h"
#include "support/secret_files.h"
#include "workbench.h"

#include <sys/stat.h>

#include <algorithm>

namespace flor::testing::secrets_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

const std::string kPassword = "hunter2-horse", kKey = "sk-live-battery", kToken = "staple-9f31";
const Words kOwn = {"--api-key", kKey, "--db=https://ada:" + kKey + "@host/x", "--lr", "0.1"};
const Words kKwargs = {"--kwargs", "rate=0.25", "password=" + kPassword};

class Secrets : public ::testing::Test {
 protected:
  using Environment = std::map<std::string, std::optional<std::string>>;

  ProcessOptions with(Environment changes) const {
    ProcessOptions options = bench_.options();
    options.environment["SERVICE_TOKEN"] = kToken;
    for (auto& [name, value] : changes) options.environment[name] = std::move(value);
    return options;
  }
  ProcessResult run(const Words& words, Environment changes = {}) const {
    return bench_.run("secretive", words, with(std::move(changes)));
  }
  ProcessResult flor(const Words& words, Environment changes = {}) const {
    return run_process(Words{FLOR_CLI} + words, with(std::move(changes)));
  }
  void record() const {
    const auto result = run(kOwn + Words{"--flor", "test", "--flor_every", "1"} + kKwargs);
    ASSERT_EQ(result.status, 0) << result.err;
  }
  static void expect_none(const std::string& text, const std::string& where) {
    for (const std::string& secret : {kPassword, kKey, kToken}) {
      EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in " << where;
    }
  }
  static std::size_t expect_none_below(const std::filesystem::path& place) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      expect_none(store::with_unpacked(read_file(entry.path())), entry.path().string());
    }
    return files;
  }
  /// Also in what the journals have in packed form.
  static std::set<store::EventKind> expect_none_in_home(const std::filesystem::path& home) {
    EXPECT_GT(expect_none_below(home), 2u);
    const store::JournalTexts journals = store::texts_of_journals(home);
    expect_none(journals.text, "the journals of " + home.string());
    EXPECT_THAT(journals.text, HasSubstr("***"));
    return journals.kinds;
  }
  /// Objects of git, which are compressed, as git shows them.
  void expect_none_in_git() const {
    expect_none(bench_.repository().run_git({"cat-file", "--batch-all-objects", "--batch"}), "git");
    expect_none_below(bench_.repository() / ".git");
  }

  Workbench bench_;
};

TEST_F(Secrets, OfTheWorkTreeAreNotCommittedAndAllOtherFilesAre) {
  std::vector<std::string> innocent = {"train.cpp"};
  for (const auto& [name, content] : innocent_files()) {
    bench_.repository().write(name, content);
    innocent.push_back(name);
  }
  for (const std::string& name : secret_file_names()) bench_.repository().write(name, "x\n");
  for (const auto& [name, content] : secret_contents()) {
    bench_.repository().write("more/" + name, content);
  }
  const auto result = bench_.record("secretive");
  const auto lines = lines_with(result.err, {"flor: not committed"});
  ASSERT_EQ(lines.size(), 1u) << result.err;
  const std::size_t count = secret_file_names().size() + secret_contents().size();
  EXPECT_THAT(lines[0], HasSubstr(": " + std::to_string(count) + " untracked files"));
  for (const std::string& name : secret_file_names()) EXPECT_THAT(lines[0], HasSubstr(name));
  const auto committed = lines_of(bench_.repository().run_git(
      {"ls-tree", "-r", "--name-only", bench_.last_run().start.commit}));
  EXPECT_THAT(committed, UnorderedElementsAreArray(innocent));
}

TEST_F(Secrets, OfTheCommandLineAreInNothingThatFlorWrites) {
  record();
  const std::string message =
      bench_.repository().run_git({"log", "-1", "--format=%B", "flor.shadow"});
  EXPECT_THAT(message, HasSubstr("--api-key *** --db=https://ada:***@host/x --lr 0.1"));
  EXPECT_THAT(message, HasSubstr("password=*** rate=0.25"));
  const std::string bucket = "file://" + (bench_.repository().place() / "bucket").string();
  const auto page = bench_.repository().place() / "page.html";
  for (const Words& words : std::vector<Words>{
           {"show", "test"}, {"show", "test", "--json"}, {"list", "--json"}, {"list"},
           {"report", "test", "-o", page.string()}, {"spool", "test", bucket},
           {"query", "weight", "--json"}, {"sql", "SELECT * FROM run"}, {"sql", "SELECT * FROM argument"},
           {"doctor"}, {"remote", "ls", bucket}}) {
    const auto result = flor(words);
    expect_none(result.out + result.err, words[0]);
    EXPECT_EQ(result.status, 0) << words[0] << ": " << result.err;
  }
  EXPECT_THAT(read_file(page), HasSubstr("***"));
  const auto other = bench_.repository().place() / "other";
  EXPECT_EQ(flor({"--home", other.string(), "fetch", "test", bucket}).status, 0);
  EXPECT_GT(expect_none_below(bench_.repository().place()), 10u);  // bucket, page, other home
  expect_none_in_home(bench_.home());
  EXPECT_TRUE(expect_none_in_home(other).contains(store::EventKind::copy));
  expect_none_in_git();
}

/// A command line that was copied from `flor show` or `flor versions`.
TEST_F(Secrets, ThatAreMaskedAreNoArgumentsOfWhatBeginsAnew) {
  record();
  const std::size_t runs = bench_.run_count();
  for (const Words& flags : {Words{}, Words{"--flor", "test"}, Words{"--flor", "new"},
                             Words{"--flor", "new", "--flor_resume", "auto"}}) {
    const auto refused = run(kOwn + flags + Words{"--kwargs", "rate=0.25", "password=***"});
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_EQ(refused.out, "") << "nothing was trained with it";
    EXPECT_THAT(refused.err, SaysOnce("--kwargs password=***: records have *** in the place of "
                                      "secrets"));
    EXPECT_THAT(refused.err, HasSubstr("--kwargs password=VALUE"));
  }
  EXPECT_EQ(bench_.run_count(), runs) << "no run began";
  const auto part = run(kOwn + Words{"--flor", "new", "--kwargs", "url=https://ada:***@host/x"});
  EXPECT_EQ(part.status, 2) << part.err;
  // The program's own words may mean anything.
  const auto warned = run(Words{"--api-key", "***", "--flor", "new"} + kKwargs);
  EXPECT_EQ(warned.status, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr("the program is given --api-key ***: records have ***"));
}

TEST_F(Secrets, AreAskedForAgainByAReplay) {
  record();
  const Words replay = kOwn + Words{"--replay_flor", "--flor_probe", "train"};
  const auto without = run(replay);
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, AllOf(HasSubstr("argument 'password'"),
                                 HasSubstr("--kwargs password=VALUE"),
                                 HasSubstr("FLOR_SECRET_PASSWORD=VALUE")));
  const auto given = run(replay + Words{"--kwargs", "password=" + kPassword});
  EXPECT_EQ(given.status, 0) << given.err;
  EXPECT_THAT(given.err, Not(HasSubstr("differ")));
  EXPECT_EQ(run(replay, {{"FLOR_SECRET_PASSWORD", kPassword}}).status, 0);
  const auto other = run(replay + Words{"--kwargs", "rate=1"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("cannot be combined with a replay"));
  // What the program came by itself it comes by again, or is asked for.
  const Words both = replay + Words{"--kwargs", "password=" + kPassword};
  const auto poor = run(both, {{"SERVICE_TOKEN", std::nullopt}});
  EXPECT_EQ(poor.status, 2);
  EXPECT_THAT(poor.err, HasSubstr("FLOR_SECRET_TOKEN=VALUE"));
  EXPECT_EQ(
      run(both, {{"SERVICE_TOKEN", std::nullopt}, {"FLOR_SECRET_TOKEN", kToken}}).status, 0);
  expect_none_in_home(bench_.home());
}

TEST_F(Secrets, AreAskedForAgainByAReplayOfTheRecordedCommand) {
  record();
  const Words replay = {"replay", "test", "--probe", "train", "--verify-epochs", "none"};
  const auto without = flor(replay);
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, AllOf(HasSubstr("FLOR_SECRET_API_KEY=VALUE"),
                                 HasSubstr("FLOR_SECRET_DB=VALUE"),
                                 HasSubstr("FLOR_SECRET_PASSWORD=VALUE"), HasSubstr("-- ")));
  EXPECT_EQ(lines_of(without.err).size(), 1u) << without.err;
  // The command as it can be given: without Flor's own flags, which a replay refuses there.
  const std::string advice = without.err.substr(without.err.find("-- "));
  EXPECT_THAT(advice, AllOf(Not(HasSubstr("--flor")), Not(HasSubstr("--kwargs")),
                            HasSubstr("--api-key ***")))
      << advice;
  const auto given = flor(replay, {{"FLOR_SECRET_API_KEY", kKey},
                                   {"FLOR_SECRET_DB", "https://ada:" + kKey + "@host/x"},
                                   {"FLOR_SECRET_PASSWORD", kPassword}});
  EXPECT_EQ(given.status, 0) << given.out << given.err;
  EXPECT_THAT(given.out, Not(HasSubstr("differ")));
  const auto named = flor(replay + Words{"--", program("secretive").string()} + kOwn,
                          {{"FLOR_SECRET_PASSWORD", kPassword}});
  EXPECT_EQ(named.status, 0) << named.out << named.err;
  expect_none(given.out + given.err + named.out + named.err, "replay");
  expect_none_in_home(bench_.home());
}

TEST_F(Secrets, AreAskedForAgainByAResume) {
  const Words start = kOwn + Words{"--flor", "test", "--flor_every", "1"};
  EXPECT_EQ(run(start + kKwargs, {{"DIE", "1"}}).status, 9);
  const Words resume = kOwn + Words{"--flor_resume", "--flor", "test"};
  const auto without = run(resume);
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("argument 'password'"));
  const auto given = run(resume + Words{"--kwargs", "password=" + kPassword});
  EXPECT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(bench_.run_count(), 1u);
  EXPECT_EQ(bench_.values("weight").size(), 6u);
  EXPECT_THAT(given.err, Not(HasSubstr("other arguments")));
  expect_none_in_home(bench_.home());
  expect_none_in_git();
}

/// Whatever is recorded may be read by those alone who may enter the home.
TEST_F(Secrets, OfARecordAreForItsUserAloneWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    std::filesystem::remove_all(bench_.home());
    const mode_t before = ::umask(mask);
    const Words start = kOwn + Words{"--flor", "test", "--flor_every", "1"};
    EXPECT_EQ(run(start + kKwargs, {{"DIE", "1"}}).status, 9);
    EXPECT_EQ(run(kOwn + Words{"--flor_resume", "--flor", "test"} + kKwargs).status, 0);
    const auto replayed = flor({"replay", "test", "--probe", "train", "--verify-epochs", "none"},
                               {{"FLOR_SECRET_API_KEY", kKey},
                                {"FLOR_SECRET_DB", "https://ada:" + kKey + "@host/x"},
                                {"FLOR_SECRET_PASSWORD", kPassword}});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_EQ(flor({"gc"}).status, 0);
    ::umask(before);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(bench_.home())) {
      struct stat status {};
      ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, entry.is_directory() ? 0700U : 0600U)
          << entry.path() << " under the umask " << mask;
    }
  }
}

TEST_F(Secrets, DoNotKeepAJobThatIsStartedAgainFromFindingItsRun) {
  const Words job = kOwn + Words{"--flor", "test", "--flor_every", "1", "--flor_resume", "auto"};
  EXPECT_EQ(run(job + kKwargs, {{"DIE", "1"}}).status, 9);
  EXPECT_EQ(run(job + kKwargs).status, 0);
  EXPECT_EQ(bench_.run_count(), 1u);
}

TEST_F(Secrets, OfASettingAreMaskedToo) {
  const auto result = run({"--flor", "test", "--launch-code", "00000000"},
                          {{"FLOR_SECRETS", "launch_code"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(flor({"show", "test"}).out, HasSubstr("--launch-code ***"));
}

}  // namespace
}  // namespace flor::testing::secrets_test
