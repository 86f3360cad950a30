// Chooses the versions of an experiment to ask: commits with the runs that were recorded from them.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::cli {

/// The runs that were recorded from one commit, newest first; a group of ranks is represented by
/// its first rank.
struct VersionRuns {
  std::string commit;  ///< empty: recorded without git
  std::vector<store::Run> runs;
};

/// All versions of an experiment, newest first. Throws NotFound if there is no such experiment.
std::vector<VersionRuns> versions_of(const store::Catalog& catalog, const std::string& experiment);

/// The versions in `all` that `list` names: "A..B", both included and in either order, or "A,B",
/// each the beginning of a commit; all if it is empty. Throws NotFound or UsageError.
std::vector<VersionRuns> named_versions(const std::vector<VersionRuns>& all,
                                        const std::string& list);

/// Keeps runs for which all conditions hold, and versions that have such runs.
std::vector<VersionRuns> versions_where(const store::Catalog& catalog,
                                        std::vector<VersionRuns> versions,
                                        const std::vector<std::string>& conditions,
                                        std::int64_t now_us);

}  // namespace flor::cli
