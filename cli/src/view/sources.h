// Finds the recorded sources of runs, in repositories that still have them.
#pragma once

#include "git/shadow.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

/// The directories to search for the sources of a run, the most likely first. The recorded
/// directory of a run from another machine is not among them: the configuration of a repository can
/// name programs that git executes.
std::vector<std::filesystem::path> places_of_sources(const store::Run& run);

/// Opens each repository once. Reports each one that cannot be used once.
class Sources {
 public:
  explicit Sources(Context& context);
  /// `note` is called with remarks for the user.
  explicit Sources(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// A repository that has all of `commits`, among those where the sources of `run` may be; null if
  /// there is none. It belongs to this object.
  const git::Repository* find(const store::Run& run, const std::vector<std::string>& commits);

 private:
  const git::Repository* open(const std::filesystem::path& place);
  void say_why_not(const store::Run& run, const std::vector<std::string>& commits);

  std::function<void(const std::string&)> note_;
  std::map<std::filesystem::path, std::optional<git::Repository>> repositories_;
  std::set<std::string> said_;
};

/// How the sources changed from one version to another.
struct SourceChange {
  bool known = false;  ///< false: at least one of the two versions is in no repository any more
  std::vector<git::FileChange> changes = {};
  std::string patch = {};  ///< unified diff; empty unless asked for
};
/// `run`: recorded at one of the commits or later; `lines`: context lines of the patch, nullopt for
/// no patch.
SourceChange source_change(Sources& sources, const store::Run& run, const std::string& from,
                           const std::string& to, std::optional<int> lines);

/// The number of files and lines: "3 files, +12 -4", or "nothing".
std::string change_summary(const std::vector<git::FileChange>& changes);
/// [{"kind", "path", "added", "removed"}, ...]
Json changes_json(const std::vector<git::FileChange>& changes);

class Table;
/// One row for each file: kind, path, +added, -removed.
Table changes_table(const std::vector<git::FileChange>& changes);
/// Prints a unified diff line by line, made safe to print, and coloured if wanted.
void print_patch(Context& context, std::string_view diff);

}  // namespace flor::cli
