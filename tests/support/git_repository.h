// A git repository for a test, used with the real git. Neither git nor libgit2 sees the user's
// configuration.
#pragma once

#include "support/temporary_directory.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flor::testing {

struct CommandResult {
  int status = -1;
  std::string out;  ///< standard output and error together
};

/// Runs a program found on PATH, in `directory`, and waits for it.
inline CommandResult run_command(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& directory,
                                 const std::vector<std::string>& environment = {}) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  std::vector<std::string> owned = arguments, variables = environment;
  for (char** variable = ::environ; *variable; ++variable) variables.emplace_back(*variable);
  std::vector<char*> argv, envp;
  for (std::string& text : owned) argv.push_back(text.data());
  for (std::string& text : variables) envp.push_back(text.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) throw std::runtime_error("cannot run " + arguments[0]);
  CommandResult result;
  char part[4096];
  for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;) {
    result.out.append(part, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline std::vector<std::string> lines_of(const std::string& text, char separator = '\n') {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line, separator);) lines.push_back(line);
  return lines;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// A new repository, in `root()`, on the branch main without commits, inside a temporary directory.
/// During its lifetime HOME points into that directory.
class GitRepository {
 public:
  GitRepository() : root_(place_ / "work") {
    std::filesystem::create_directories(home());
    std::filesystem::create_directories(root_);
    for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME",
                             "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}) {
      ::unsetenv(name);
    }
    ::setenv("HOME", home().c_str(), 1);
    ::setenv("GIT_CONFIG_GLOBAL", (home() / ".gitconfig").c_str(), 1);
    ::setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    ::setenv("GIT_CEILING_DIRECTORIES", place_.path().c_str(), 1);
    ::setenv("GIT_AUTHOR_NAME", "Tester", 1);
    ::setenv("GIT_AUTHOR_EMAIL", "tester@localhost", 1);
    ::setenv("GIT_COMMITTER_NAME", "Tester", 1);
    ::setenv("GIT_COMMITTER_EMAIL", "tester@localhost", 1);
    ::setenv("GIT_OPTIONAL_LOCKS", "0", 1);  // reading commands must not rewrite the index
    run_git({"init", "-q", "-b", "main"});
    run_git({"config", "gc.auto", "0"});
  }

  const std::filesystem::path& root() const { return root_; }
  const std::filesystem::path& place() const { return place_.path(); }  ///< the directory around
                                                                        ///< the repository
  std::filesystem::path home() const { return place_.path() / "home"; }
  std::filesystem::path operator/(const std::string& name) const { return root_ / name; }

  void write(const std::string& path, std::string_view content) const {
    write_file(root_ / path, content);
  }
  void append(const std::string& path, std::string_view content) const {
    write_file(root_ / path, read_file(root_ / path) + std::string(content));
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ / path); }
  void make_executable(const std::string& path) const {
    std::filesystem::permissions(root_ / path, std::filesystem::perms(0755));
  }

  /// Runs `git <arguments>`. Returns standard output and error; throws if git fails.
  std::string run_git(std::vector<std::string> arguments) const {
    return run_git_in(root_, std::move(arguments));
  }
  std::string run_git_in(const std::filesystem::path& directory, std::vector<std::string> arguments,
                         const std::vector<std::string>& environment = {}) const {
    arguments.insert(arguments.begin(), "git");
    const CommandResult result = run_command(arguments, directory, environment);
    if (result.status != 0) {
      std::string text;
      for (const std::string& argument : arguments) text += argument + " ";
      throw std::runtime_error(text + "failed: " + result.out);
    }
    return result.out;
  }
  /// Like run_git, without the newline at the end.
  std::string git_line(std::vector<std::string> arguments) const {
    std::string out = run_git(std::move(arguments));
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }
  /// Adds and commits everything to the current branch. Returns the commit.
  std::string commit_all(const std::string& message) const {
    run_git({"add", "-A"});
    run_git({"commit", "-q", "--allow-empty", "-m", message});
    return git_line({"rev-parse", "HEAD"});
  }

 private:
  TemporaryDirectory place_;
  std::filesystem::path root_;
};

}  // namespace flor::testing
