// Chooses versions of an experiment: commits with the runs that were recorded from them.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::cli {

/// The runs that were recorded from one commit, newest first. Of a group of ranks only the first
/// rank is listed.
struct VersionRuns {
  std::string commit;  ///< empty: recorded without git
  std::vector<store::Run> runs;
};

/// All versions of an experiment, newest first. Throws NotFound if there is no such experiment.
std::vector<VersionRuns> versions_of(const store::Catalog& catalog, const std::string& experiment);

/// The versions in `all` that `list` names: "A..B", both included, in either order; or "A,B". Each
/// name is the beginning of a commit. An empty list means all versions. Throws NotFound or
/// UsageError.
std::vector<VersionRuns> named_versions(const std::vector<VersionRuns>& all,
                                        const std::string& list);

/// Keeps the runs that meet all conditions, and the versions that have such runs.
std::vector<VersionRuns> versions_where(const store::Catalog& catalog,
                                        std::vector<VersionRuns> versions,
                                        const std::vector<std::string>& conditions,
                                        std::int64_t now_us);

}  // namespace flor::cli
