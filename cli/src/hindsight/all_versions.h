// flor replay NAME --all-versions --apply: asks every version of an experiment the log statements
// that the work tree has and the newest version has not.
#pragma once

#include "hindsight/one_run.h"
#include "hindsight/version_choice.h"
#include "hindsight/version_questions.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct AllVersionsWish {
  std::string experiment;          ///< empty: the one last recorded here
  std::string versions;            ///< --versions
  std::vector<std::string> where;  ///< --where
  std::string hunks;               ///< --hunks
  std::string build;               ///< --build
  bool apply = false;
  bool trust = false;  ///< --trust
  bool dry_run = false;
  ReplayWish replay;
};

/// The result for one run.
struct AskedRun {
  store::Run run;
  std::optional<RunReplay> replay;
  std::string problem;  ///< why it was not replayed
  double estimate = 0;  ///< seconds, from the recording
};

/// The result for one version.
struct AskedVersion {
  VersionRuns version;
  PatchedVersion patched;
  std::string problem;  ///< why it could not be asked: no hunk has a place, or it does not build
  std::string excerpt;  ///< the compiler's messages
  double build_seconds = 0;
  bool built = false, built_before = false;
  std::vector<AskedRun> runs;
};

/// Returns the exit status: 0 if every hunk was answered by every run that was asked, 5 if some
/// were not, 1 if none was, 7 if a replay differs from its record, 130 if it was interrupted.
int replay_all_versions(Context& context, const AllVersionsWish& wish);

}  // namespace flor::cli
