// What recorded commits contain and how they differ.
#include "shadow_fixture.h"

#include <flor/store/error.h>

namespace flor::git {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HistoryTest : public ShadowTest {
 protected:
  Repository repository() { return std::move(*Repository::discover(repo.root())); }
};

TEST_F(HistoryTest, CommitsAreListedNewestFirst) {
  repo.write("a.cpp", "0\n");
  const std::string head = repo.commit_all("by the user");
  std::vector<std::string> made;
  for (int i = 1; i < 4; ++i) {
    repo.write("a.cpp", std::to_string(i));
    made.push_back(commit("run " + std::to_string(i) + "\n\nbody\n").id);
  }
  const auto history = repository().history("flor.shadow", 3);
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].id, made[2]);
  EXPECT_EQ(history[0].summary, "run 3");
  EXPECT_THAT(history[2].parents, ElementsAre(head));
  EXPECT_NEAR(static_cast<double>(history[0].time_s), static_cast<double>(::time(nullptr)), 60);
  EXPECT_EQ(repository().history("flor.shadow", 100).size(), 4u);
  EXPECT_THAT(repository().history("no-such-branch", 3), IsEmpty());
}

TEST_F(HistoryTest, ACommitIsFoundByAPrefixAndAbsenceIsNoError) {
  repo.write("a.cpp", "0\n");
  const std::string id = commit("run").id;
  EXPECT_EQ(repository().commit(id)->id, id);
  EXPECT_EQ(repository().commit(id.substr(0, 10))->summary, "run");
  EXPECT_FALSE(repository().commit("0123456789012345678901234567890123456789"));
  EXPECT_FALSE(repository().commit("not hex"));
  EXPECT_FALSE(repository().commit(""));
}

TEST_F(HistoryTest, ChangesAreThoseOfGitDiff) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "line " + std::to_string(i) + "\n";
  repo.write("changed.cpp", text);
  repo.write("moved.cpp", text + "moved\n");
  repo.write("gone.cpp", "gone\n");
  repo.write("kind.cpp", "kind\n");
  const std::string from = commit().id;
  repo.write("changed.cpp", "new first\n" + text.substr(7));
  repo.remove("moved.cpp");
  repo.write("sub/moved-here.cpp", text + "moved\n");
  repo.remove("gone.cpp");
  repo.remove("kind.cpp");
  std::filesystem::create_symlink("changed.cpp", repo / "kind.cpp");
  repo.write("added.cpp", "1\n2\n");
  const std::string to = commit().id;
  std::string list;
  for (const FileChange& change : repository().changes(from, to)) {
    list += change.kind;
    list += " " + change.old_path + " " + change.path + " " + std::to_string(change.added) + " " +
            std::to_string(change.removed) + "\n";
  }
  EXPECT_EQ(list,
            "A added.cpp added.cpp 2 0\n"
            "M changed.cpp changed.cpp 1 1\n"
            "D gone.cpp gone.cpp 0 1\n"
            "T kind.cpp kind.cpp 1 1\n"
            "R moved.cpp sub/moved-here.cpp 0 0\n");
  EXPECT_EQ(repository().changes("", from).size(), 4u);
  EXPECT_THAT(repository().changes(to, to), IsEmpty());
}

TEST_F(HistoryTest, TheDiffCanBeAppliedByGit) {
  repo.write("a.cpp", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  repo.write("old name.cpp", "some\ncontent\nthat\nmoves\n");
  const std::string from = commit().id;
  repo.write("a.cpp", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
  repo.remove("old name.cpp");
  repo.write("new name.cpp", "some\ncontent\nthat\nmoves\n");
  const std::string to = commit().id;
  const std::string diff = repository().diff(from, to);
  EXPECT_EQ(diff, repo.run_git({"-c", "core.abbrev=7", "diff", "-M", from, to}));
  EXPECT_EQ(repository().diff(from, to, 0),
            repo.run_git({"-c", "core.abbrev=7", "diff", "-M", "-U0", from, to}));
  repo.run_git({"checkout", "-q", "-f", from});
  repo.run_git({"clean", "-fdq"});
  testing::write_file(repo.place() / "patch", diff);
  repo.run_git({"apply", (repo.place() / "patch").string()});
  EXPECT_EQ(testing::read_file(repo / "a.cpp"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
}

TEST_F(HistoryTest, AnUnknownCommitIsNotFound) {
  repo.write("a.cpp", "1\n");
  const std::string id = commit().id;
  EXPECT_THROW(repository().changes(id, "0123456789"), NotFound);
  EXPECT_THROW(repository().diff("0123456789", id), NotFound);
  EXPECT_THROW(repository().file_at("0123456789", "a.cpp"), NotFound);
}

TEST_F(HistoryTest, AFileIsReadAtItsCommit) {
  repo.write("sub/a.bin", std::string("a\0b", 3));
  const std::string old_id = commit().id;
  repo.write("sub/a.bin", "new");
  const std::string new_id = commit().id;
  EXPECT_EQ(repository().file_at(old_id, "sub/a.bin"), std::string("a\0b", 3));
  EXPECT_EQ(repository().file_at(new_id, "sub/a.bin"), "new");
  EXPECT_FALSE(repository().file_at(new_id, "sub"));
  EXPECT_FALSE(repository().file_at(new_id, "sub/other"));
}

}  // namespace
}  // namespace flor::git
