// Patterns of .gitignore, compared with what `git check-ignore` says.
#include "git/tree/ignore.h"
#include "support/git_repository.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace flor::git {
namespace {

using testing::GitRepository;

TEST(Wildmatch, StarsStopAtSlashesUnlessThereAreTwoBetweenThem) {
  EXPECT_TRUE(Glob("*.cpp").matches("a.cpp"));
  EXPECT_FALSE(Glob("*.cpp").matches("d/a.cpp"));
  EXPECT_TRUE(Glob("**/a").matches("a"));
  EXPECT_TRUE(Glob("**/a").matches("x/y/a"));
  EXPECT_TRUE(Glob("a/**/b").matches("a/b"));
  EXPECT_TRUE(Glob("a/**/b").matches("a/x/y/b"));
  EXPECT_FALSE(Glob("a**b").matches("a/b"));
  EXPECT_TRUE(Glob("a/**").matches("a/b/c"));
  EXPECT_FALSE(Glob("a/**").matches("a"));
}

TEST(Wildmatch, BracketsHaveRangesClassesAndNegation) {
  EXPECT_TRUE(Glob("[a-c]x").matches("bx"));
  EXPECT_FALSE(Glob("[!a-c]x").matches("bx"));
  EXPECT_TRUE(Glob("[]]").matches("]"));
  EXPECT_TRUE(Glob("[[:digit:]]").matches("7"));
  EXPECT_FALSE(Glob("a[!x]b").matches("a/b"));
  EXPECT_FALSE(Glob("[a").matches("a"));
  EXPECT_TRUE(Glob("\\[a").matches("[a"));
  EXPECT_FALSE(Glob("a\\").matches("a"));
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

// A pattern and a path of several directories, with all that git knows to mean something.
TEST(Ignore, AgreesWithGitOnStarsThatCrossDirectories) {
  const GitRepository repo;
  rc::check("git check-ignore says the same", [&] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        5, rc::gen::element<std::string>("a", "b", "*", "**", "?", "/", "/**/", "a*", "[ab]",
                                         "\\"));
    std::string pattern;
    for (const std::string& piece : pieces) pattern += piece;
    repo.write(".gitignore", pattern + "\n");
    const PatternList list(pattern + "\n", "");
    std::string asked;
    std::vector<std::string> paths;
    for (int i = 0; i < 12; ++i) {
      const auto names = *rc::gen::container<std::vector<std::string>>(
          *rc::gen::inRange(1, 5), text_of("ab", 4));
      std::string path;
      for (const std::string& name : names) path += (path.empty() ? "" : "/") + name;
      paths.push_back(path);
      asked += path + '\0';
    }
    testing::write_file(repo.place() / "paths", asked);
    const auto result = testing::run_command(
        {"sh", "-c", "git check-ignore --no-index -v -n -z --stdin < ../paths"}, repo.root());
    const auto fields = testing::lines_of(result.out, '\0');
    RC_ASSERT(fields.size() == paths.size() * 4);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      bool ignored = false;  // one of its directories is, or it is itself
      for (std::size_t at = paths[i].find('/'); at != std::string::npos;
           at = paths[i].find('/', at + 1)) {
        ignored = ignored || list.excludes(paths[i].substr(0, at), true) == true;
      }
      ignored = ignored || list.excludes(paths[i], false) == true;
      RC_LOG() << "path '" << paths[i] << "', pattern '" << pattern << "'";
      RC_ASSERT(ignored == !fields[i * 4 + 2].empty());
    }
  });
}

// Steps are counted, not seconds: what backtracks takes more of them than there are atoms.
TEST(Ignore, NoPatternTakesMoreStepsThanItsBytesTimesThoseOfThePath) {
  std::vector<std::string> patterns, paths;
  for (const std::string piece : {"*a", "*", "?*", "**/", "*/", "**/*a", "[a-z]*", "a**", "*?*a"}) {
    for (const std::string end : {"", "b", "/b", "**"}) {
      std::string pattern;
      for (int i = 0; i < 60; ++i) pattern += piece;
      patterns.push_back(pattern + end);
    }
  }
  for (const std::string piece : {"a", "a/", "aa/a"}) {
    std::string path;
    for (int i = 0; i < 200; ++i) path += piece;
    paths.push_back(path + "c");
  }
  for (const std::string& pattern : patterns) {
    for (const std::string& path : paths) {
      std::size_t steps = 0;
      Glob(pattern).matches(path, steps);
      EXPECT_LE(steps, 2 * (pattern.size() + 1) * (path.size() + 1)) << pattern << " " << path;
    }
  }
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
