// Carries the log statements of the work tree into the sources of older versions, where a replay
// answers them.
#pragma once

#include "build/version_build.h"
#include "carry/carrier.h"
#include "git/shadow.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// A version with log statements (hunks) carried into it.
struct PatchedVersion {
  carry::Carried carried;
  std::map<std::string, std::string> sources;  ///< sources of the version as recorded, by path
  Edits edits;
  std::string patch;  ///< the edits as a unified diff

  /// Names under which the placed hunks log.
  std::vector<std::string> metrics;
  bool changes() const { return !edits.empty(); }
};

class Questions {
 public:
  /// Compares the work tree of `repository` with the commit `newest`. `without`: directories that
  /// do not count, such as Flor's home.
  Questions(git::Repository repository, const std::string& newest,
            const std::vector<std::filesystem::path>& without);

  const std::vector<carry::Addition>& hunks() const { return carrier_.hunks(); }
  const std::vector<carry::OtherEdit>& others() const { return carrier_.others(); }
  const carry::LogHunk& hunk(int number) const {
    return carrier_.hunks()[static_cast<std::size_t>(number - 1)].hunk;
  }
  /// Numbers of the hunks with a log statement of this name.
  std::set<int> hunks_that_log(const std::string& name) const;
  const git::Repository& repository() const { return repository_; }

  /// Carries hunks into the sources of `commit`. `chosen`: numbers of hunks; empty: all.
  PatchedVersion patch(const std::string& commit, const std::set<int>& chosen) const;

  /// The loops among `nested`, the nested loops of a run, that a replay must execute because of the
  /// patch.
  static std::vector<std::string> loops_to_execute(const PatchedVersion& version,
                                                   const std::set<std::string>& nested);

 private:
  git::Repository repository_;
  carry::Carrier carrier_;
};

/// The repository around the current directory if it has the commit, else the repository of the
/// run. Throws NotFound if neither has it.
git::Repository repository_to_ask(const store::Run& run, const std::string& commit);

}  // namespace flor::cli
