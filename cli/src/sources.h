// The recorded sources of runs, as far as their repositories still have them.
#pragma once

#include "git/shadow.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

/// Opens each repository once, and says once which of them cannot be used.
class Sources {
 public:
  explicit Sources(Context& context);
  /// `note` is told what people should know.
  explicit Sources(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// A repository that has every one of `commits` and in which `run` was recorded, or nothing.
  const git::Repository* find(const store::Run& run, const std::vector<std::string>& commits);

 private:
  std::function<void(const std::string&)> note_;
  std::map<std::string, std::optional<git::Repository>> repositories_;
};

/// What changed in the sources from one version to another.
struct SourceChange {
  bool known = false;  ///< false: at least one of them is not known any more
  std::vector<git::FileChange> changes = {};
  std::string patch = {};  ///< unified diff; empty if nobody asked for it
};
/// `run`: recorded at one of the commits, or after them; `lines`: around each change of the patch.
SourceChange source_change(Sources& sources, const store::Run& run, const std::string& from,
                           const std::string& to, std::optional<int> lines);

/// "3 files, +12 -4", or "nothing".
std::string change_summary(const std::vector<git::FileChange>& changes);
/// [{"kind", "path", "added", "removed"}, ...]
Json changes_json(const std::vector<git::FileChange>& changes);

class Table;
/// One row a file: kind, path, +added, -removed.
Table changes_table(const std::vector<git::FileChange>& changes);
/// Writes a unified diff: escaped line by line, coloured where that is wanted.
void print_patch(Context& context, std::string_view diff);

}  // namespace flor::cli
