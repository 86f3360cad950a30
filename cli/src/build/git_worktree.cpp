#include "build/git_worktree.h"

#include "output/terminal_text.h"
#include "process/child.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <optional>
#include <sstream>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

ChildResult try_git(const fs::path& directory, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"git",
                                 "-c",
                                 "core.hooksPath=/dev/null",
                                 "-c",
                                 "submodule.recurse=false",
                                 "-c",
                                 "advice.detachedHead=false"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ChildOptions options{.directory = directory};
  options.environment = {{"LC_ALL", std::string("C")},
                         {"GIT_TERMINAL_PROMPT", std::string("0")},
                         {"GIT_OPTIONAL_LOCKS", std::string("0")}};
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                           "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"}) {
    options.environment[name] = std::nullopt;
  }
  return run_child(std::move(words), options);
}

/// The line of git's output that gives the reason, without git's prefix.
std::string reason_of(const std::string& output) {
  std::istringstream lines(output);
  std::string reason = "it said nothing";
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view prefix : {"fatal: ", "error: "}) {
      if (line.starts_with(prefix)) return line.substr(prefix.size());
    }
    if (!line.empty()) reason = line;
  }
  return reason;
}

struct Submodule {
  std::string path, commit;
};

std::vector<Submodule> submodules_of(const fs::path& place) {
  std::vector<Submodule> found;
  std::istringstream entries(run_git(place, {"ls-files", "--stage", "-z"}));
  // an entry is: MODE ID STAGE<tab>PATH
  for (std::string entry; std::getline(entries, entry, '\0');) {
    const std::size_t tab = entry.find('\t');
    if (!entry.starts_with("160000 ") || tab == entry.npos) continue;
    found.push_back({entry.substr(tab + 1), entry.substr(7, entry.find(' ', 7) - 7)});
  }
  return found;
}

/// Checks out a submodule. Returns the reason if that is not possible, else nullopt.
std::optional<std::string> place_submodule(const fs::path& source, const fs::path& place,
                                           const std::string& commit) {
  std::error_code error;
  if (!fs::exists(source / ".git", error)) return "it is not there in your work tree";
  if (try_git(source, {"cat-file", "-e", commit + "^{commit}"}).status != 0) {
    return fmt::format("yours lacks the recorded commit {}", commit.substr(0, 8));
  }
  if (fs::exists(place / ".git", error)) {
    move_work_tree(place, commit);
  } else {
    add_work_tree(source, place, commit);
  }
  return std::nullopt;
}

}  // namespace

std::string run_git(const fs::path& directory, std::vector<std::string> arguments) {
  if (!find_on_path("git")) throw Error("there is no git on PATH: install it");
  ChildResult result = try_git(directory, arguments);
  if (result.status == 0) return std::move(result.output);
  throw Error(fmt::format("git {} failed in {}: {}", arguments.front(),
                          printable(directory.string()), printable(reason_of(result.errors))));
}

void add_work_tree(const fs::path& repository, const fs::path& place, const std::string& commit) {
  // --force, because git may still list a deleted tree of that name.
  run_git(repository,
          {"worktree", "add", "--quiet", "--detach", "--force", place.string(), commit});
}

void move_work_tree(const fs::path& place, const std::string& commit) {
  run_git(place, {"checkout", "--quiet", "--force", "--detach", commit});
  run_git(place, {"clean", "-ffdq"});
}

std::vector<std::string> place_submodules(const fs::path& user_tree, const fs::path& place) {
  std::vector<std::string> missing;
  for (const Submodule& submodule : submodules_of(place)) {
    const fs::path source = user_tree / submodule.path, target = place / submodule.path;
    if (const auto why = place_submodule(source, target, submodule.commit)) {
      missing.push_back(fmt::format("submodule {}: {}", printable(submodule.path), *why));
      continue;
    }
    for (std::string& line : place_submodules(source, target)) missing.push_back(std::move(line));
  }
  return missing;
}

}  // namespace flor::cli
