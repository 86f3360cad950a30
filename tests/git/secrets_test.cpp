// Secrets that a shadow commit leaves out, by names and by contents; those that git or flor.exclude
// keeps in; and those of earlier commits.
#include "git/secret_files.h"
#include "shadow_fixture.h"
#include "support/secret_files.h"

#include <algorithm>

namespace flor::git {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

class Secrets : public ShadowTest {
 protected:
  SecretHistory history() const {
    return Repository::discover(repo.root())->secrets(kShadowBranch, [] { return true; });
  }
  std::vector<std::string> found() const {
    std::vector<std::string> paths;
    for (const CommittedSecret& secret : history().found) {
      paths.push_back(secret.path + (secret.kind.empty() ? "" : " (" + secret.kind + ")"));
    }
    return paths;
  }
};

TEST(SecretNames, AreSecretsInAnyCaseAndDirectory) {
  ASSERT_GE(testing::secret_file_names().size(), 110u);
  for (const std::string& name : testing::secret_file_names()) {
    for (std::string path : {name, "some/where/" + name}) {
      EXPECT_EQ(secret_name(path), SecretName::secret) << path;
      std::ranges::transform(path, path.begin(), [](unsigned char c) { return std::toupper(c); });
      EXPECT_EQ(secret_name(path), SecretName::secret) << path;
    }
    EXPECT_EQ(secret_name(name + ".example"), SecretName::none) << name;
  }
}

TEST(SecretNames, OrdinaryFilesAreNone) {
  ASSERT_GE(testing::innocent_files().size(), 40u);
  for (const auto& [name, content] : testing::innocent_files()) {
    EXPECT_NE(secret_name(name), SecretName::secret) << name;
    EXPECT_EQ(secret_in(name, content), "") << name;
  }
}

TEST(SecretContents, AreFoundInTheMiddleOfOtherText) {
  ASSERT_GE(testing::secret_contents().size(), 20u);
  for (const auto& [name, content] : testing::secret_contents()) {
    EXPECT_NE(secret_in(name, content), "") << name;
    if (content.starts_with("https://")) continue;  // of a login the first line says it
    const std::string around = "# " + std::string(5000, '.') + "\n" + content + "\n# the end\n";
    EXPECT_NE(secret_in(name, around), "") << name;
  }
}

TEST(SecretContents, OfSourcesCountOnlyWhereTheyLookReal) {
  const std::string opening = "-----BEGIN " + std::string("RSA PRIVATE KEY-----");
  const std::string example = "AKIA" + std::string("IOSFODNN7EXAMPLE");
  for (const std::string& text : {opening, example, "ghp_" + std::string(36, '0')}) {
    EXPECT_EQ(secret_in("parser.cpp", "auto text = \"" + text + "\";"), "") << text;
    EXPECT_NE(secret_in("notes.txt", text + "\n"), "") << text;
  }
}

TEST_F(Secrets, AreLeftOutAndAllOfThemNamed) {
  std::vector<std::string> innocent;
  for (const auto& [name, content] : testing::innocent_files()) {
    repo.write(name, content);
    innocent.push_back(name);
  }
  for (const std::string& name : testing::secret_file_names()) repo.write(name, "x\n");
  for (const auto& [name, content] : testing::secret_contents()) {
    repo.write("more/" + name, content);
  }
  const ShadowCommit made = commit();
  EXPECT_THAT(names(), UnorderedElementsAreArray(innocent));
  EXPECT_EQ(made.secrets.size(),
            testing::secret_file_names().size() + testing::secret_contents().size());
  EXPECT_THAT(made.secrets, Contains(".env"));
  EXPECT_THAT(made.secrets, Contains("more/a.txt (private key)"));
  EXPECT_THAT(made.left_out, IsEmpty());
  EXPECT_EQ(testing::lines_of(testing::read_file(made.secrets_file)), made.secrets);
  EXPECT_EQ(commit().secrets, made.secrets);  // what the cache knows, too
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Secrets, ThatGitTracksOrFlorExcludeIncludesAreCommitted) {
  const std::string key = testing::secret_contents()[0].content;
  repo.write("tracked.txt", key);
  repo.write("deploy.key", "x\n");
  repo.commit_all("the user's own");
  repo.write("included.txt", key);
  repo.write("included.key", "x\n");
  repo.write("other.txt", key);
  repo.write("flor.exclude", "!included.*\n");
  EXPECT_THAT(commit().secrets, ElementsAre("other.txt (private key)"));
  EXPECT_THAT(names(), ElementsAre("deploy.key", "flor.exclude", "included.key", "included.txt",
                                   "tracked.txt"));
  // What the cache knows was read while other rules held.
  repo.write("flor.exclude", "\n");
  repo.run_git({"rm", "-q", "--cached", "tracked.txt"});
  EXPECT_THAT(commit().secrets, ElementsAre("included.key", "included.txt (private key)",
                                            "other.txt (private key)",
                                            "tracked.txt (private key)"));
  EXPECT_THAT(names(), ElementsAre("deploy.key", "flor.exclude"));
}

TEST_F(Secrets, ThatAreWrittenIntoAKnownFileAreFound) {
  repo.write("notes.txt", "nothing\n");
  commit();
  repo.write("notes.txt", testing::secret_contents()[0].content);
  EXPECT_THAT(commit().secrets, ElementsAre("notes.txt (private key)"));
  EXPECT_THAT(names(), Not(Contains("notes.txt")));
  repo.write("notes.txt", "nothing again\n");
  EXPECT_THAT(commit().secrets, IsEmpty());
  EXPECT_THAT(names(), Contains("notes.txt"));
}

TEST_F(Secrets, OfALargeFileAreFoundWhereverTheyStand) {
  CommitOptions options;
  options.message = "run";
  options.untracked_bytes_max = 1u << 30;
  const std::string key = testing::secret_contents()[0].content;
  std::string large(40u << 20, '.');
  large.replace((33u << 20) - 40, key.size(), key);  // where two pieces meet
  repo.write("large.txt", large);
  EXPECT_THAT(Repository::discover(repo.root())->commit_work_tree(options).secrets,
              ElementsAre("large.txt (private key)"));
}

// Commits of an earlier version are made by telling this one to include everything.
TEST_F(Secrets, OfEarlierCommitsAreListedButNotTheUsersOwn) {
  repo.write("tracked.key", "x\n");
  repo.commit_all("the user's own");
  repo.write("flor.exclude", "!*\n");
  repo.write(".env", "A=1\n");
  repo.write("notes.txt", testing::secret_contents()[0].content);
  repo.write("code.cpp", "int main() {}\n");
  CommitOptions options;
  options.message = "flor: x\n\nFlor-Run: 1\nFlor-Command: ./train --password=hunter2\n";
  Repository repository = *Repository::discover(repo.root());
  repository.commit_work_tree(options);
  repo.write(".env", "A=2\n");
  repo.write("tracked.key", "y\n");
  options.message = "flor: x\n\nFlor-Run: 2\nFlor-Command: ./train --password=***\n";
  repository.commit_work_tree(options);
  EXPECT_THAT(found(), ElementsAre(" (command line)", ".env", "notes.txt (private key)"));
  const SecretHistory all = history();
  EXPECT_EQ(all.found[1].commits, 2u);
  EXPECT_EQ(all.commits, 2u);
  EXPECT_TRUE(all.whole);
  int files = 0;
  const SecretHistory some = repository.secrets(kShadowBranch, [&] { return ++files < 4; });
  EXPECT_FALSE(some.whole);
}

}  // namespace
}  // namespace flor::git
