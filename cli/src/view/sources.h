// The recorded sources of runs, if their repositories still have them.
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

/// The directories to search for the sources of a run, the best first. A run from elsewhere adds
/// none: the configuration of a repository can name programs that git executes.
std::vector<std::filesystem::path> places_of_sources(const store::Run& run);

/// Opens each repository once, and reports once each that cannot be used.
class Sources {
 public:
  explicit Sources(Context& context);
  /// `note` gets remarks for the user.
  explicit Sources(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// A repository that has every one of `commits`, among the places where the sources of `run` may
  /// be; or nothing.
  const git::Repository* find(const store::Run& run, const std::vector<std::string>& commits);

 private:
  const git::Repository* open(const std::filesystem::path& place);
  void say_why_not(const store::Run& run, const std::vector<std::string>& commits);

  std::function<void(const std::string&)> note_;
  std::map<std::filesystem::path, std::optional<git::Repository>> repositories_;
  std::set<std::string> said_;
};

/// The changes in the sources from one version to another.
struct SourceChange {
  bool known = false;  ///< false: at least one of the versions is not known any more
  std::vector<git::FileChange> changes = {};
  std::string patch = {};  ///< unified diff; empty unless asked for
};
/// `run`: recorded at one of the commits, or after them; `lines`: around each change of the patch.
SourceChange source_change(Sources& sources, const store::Run& run, const std::string& from,
                           const std::string& to, std::optional<int> lines);

/// "3 files, +12 -4", or "nothing".
std::string change_summary(const std::vector<git::FileChange>& changes);
/// [{"kind", "path", "added", "removed"}, ...]
Json changes_json(const std::vector<git::FileChange>& changes);

class Table;
/// One row for each file: kind, path, +added, -removed.
Table changes_table(const std::vector<git::FileChange>& changes);
/// Writes a unified diff: escaped line by line, coloured if wanted.
void print_patch(Context& context, std::string_view diff);

}  // namespace flor::cli
