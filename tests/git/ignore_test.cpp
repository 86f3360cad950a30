// Patterns of .gitignore, compared with what `git check-ignore` says.
#include "git/ignore.h"

#include "support/git_repository.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace flor::git {
namespace {

using testing::GitRepository;

TEST(Wildmatch, StarsStopAtSlashesUnlessThereAreTwoBetweenThem) {
  EXPECT_TRUE(wildmatch("*.cpp", "a.cpp"));
  EXPECT_FALSE(wildmatch("*.cpp", "d/a.cpp"));
  EXPECT_TRUE(wildmatch("**/a", "a"));
  EXPECT_TRUE(wildmatch("**/a", "x/y/a"));
  EXPECT_TRUE(wildmatch("a/**/b", "a/b"));
  EXPECT_TRUE(wildmatch("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(wildmatch("a**b", "a/b"));
  EXPECT_TRUE(wildmatch("a/**", "a/b/c"));
  EXPECT_FALSE(wildmatch("a/**", "a"));
}

TEST(Wildmatch, BracketsHaveRangesClassesAndNegation) {
  EXPECT_TRUE(wildmatch("[a-c]x", "bx"));
  EXPECT_FALSE(wildmatch("[!a-c]x", "bx"));
  EXPECT_TRUE(wildmatch("[]]", "]"));
  EXPECT_TRUE(wildmatch("[[:digit:]]", "7"));
  EXPECT_FALSE(wildmatch("a[!x]b", "a/b"));
  EXPECT_FALSE(wildmatch("[a", "a"));
  EXPECT_TRUE(wildmatch("\\[a", "[a"));
  EXPECT_FALSE(wildmatch("a\\", "a"));
}

/// Text that is likely to mean something: few letters, many special characters.
rc::Gen<std::string> text_of(const std::string& alphabet, int max) {
  return rc::gen::mapcat(rc::gen::inRange(1, max), [alphabet](int size) {
    return rc::gen::container<std::string>(static_cast<std::size_t>(size),
                                           rc::gen::elementOf(alphabet));
  });
}

TEST(Ignore, AgreesWithGitOnAnyPatternsAndPaths) {
  const GitRepository repo;
  const std::string alphabet = "aab//**?.!\\[]-# ";
  rc::check("git check-ignore says the same", [&] {
    const auto patterns = *rc::gen::container<std::vector<std::string>>(5, text_of(alphabet, 8));
    const auto paths = *rc::gen::container<std::vector<std::string>>(12, text_of("aab/.-[]\\ ", 7));
    std::string text;
    for (const std::string& pattern : patterns) text += pattern + "\n";
    repo.write(".gitignore", text);
    const PatternList list(text, "");
    std::vector<std::string> asked;
    for (std::string path : paths) {
      // One component: what a rule for a directory does is for another test.
      std::erase(path, '/');
      if (path.empty() || path == "." || path == "..") continue;
      asked.push_back(path);
    }
    if (asked.empty()) return;
    std::string list_of_paths;
    for (const std::string& path : asked) list_of_paths += path + '\0';
    testing::write_file(repo.place() / "paths", list_of_paths);
    const auto result = testing::run_command(
        {"sh", "-c", "git check-ignore --no-index -v -n -z --stdin < ../paths"}, repo.root());
    const auto fields = testing::lines_of(result.out, '\0');
    RC_ASSERT(fields.size() == asked.size() * 4);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::string& rule = fields[i * 4 + 2];
      const auto decision = list.excludes(asked[i], false);
      RC_LOG() << "path '" << asked[i] << "', git's rule '" << rule << "'\n" << text;
      RC_ASSERT(decision.has_value() == !rule.empty());
      if (decision) RC_ASSERT(*decision == !rule.starts_with('!'));
    }
  });
}

TEST(Ignore, AgreesWithGitOnPathsInDirectories) {
  const GitRepository repo;
  rc::check("git ls-files says the same", [&] {
    const auto patterns = *rc::gen::container<std::vector<std::string>>(4, text_of("ab//**?!", 8));
    const auto path = *text_of("ab", 3);
    const auto directory = *text_of("ab", 3);
    const std::string whole = directory + "/" + path;
    std::string text;
    for (const std::string& pattern : patterns) text += pattern + "\n";
    repo.write(".gitignore", text);
    repo.remove("d");
    IgnoreStack stack;
    stack.push(PatternList(text, ""));
    const bool ignored = stack.ignores(directory, true) || stack.ignores(whole, false);
    repo.remove(directory);
    repo.write(whole, "");
    const auto result = testing::run_command({"git", "check-ignore", "-q", whole}, repo.root());
    repo.remove(directory);
    RC_LOG() << whole << "\n" << text;
    RC_ASSERT(ignored == (result.status == 0));
  });
}

TEST(Ignore, APatternFileWithABaseSpeaksOnlyOfWhatIsBelow) {
  const PatternList list("/a\nb\n", "sub/");
  EXPECT_FALSE(list.excludes("a", false));
  EXPECT_EQ(list.excludes("sub/a", false), true);
  EXPECT_FALSE(list.excludes("sub/x/a", false));
  EXPECT_EQ(list.excludes("sub/x/b", false), true);
}

}  // namespace
}  // namespace flor::git
