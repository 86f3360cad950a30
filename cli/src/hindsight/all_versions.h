// flor replay NAME --all-versions --apply: carries the log statements that the work tree has and
// the newest version does not have into every version of an experiment, and replays their runs.
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
  std::string problem;  ///< why it was not replayed; empty if it was
  double estimate = 0;  ///< seconds that the replay should take, computed from the recording
};

/// The result for one version.
struct AskedVersion {
  VersionRuns version;
  PatchedVersion patched;
  std::string problem;  ///< why it could not be replayed: no hunk has a place in it, or it does not
                        ///< build
  std::string excerpt;  ///< the compiler's messages if it does not build
  double build_seconds = 0;
  bool built = false, built_before = false;
  std::vector<AskedRun> runs;
};

/// Returns the exit status: 0 if every run that was asked answered every hunk, 5 if some did not, 1
/// if none did, 7 if a replay differs from its record, 130 if the user interrupted it.
int replay_all_versions(Context& context, const AllVersionsWish& wish);

}  // namespace flor::cli
