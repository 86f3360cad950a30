#include "hindsight/version_choice.h"

#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace flor::cli {
namespace {

std::size_t find_version(const std::vector<VersionRuns>& all, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (text.size() >= 4 && all[i].commit.starts_with(text)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw NotFound(fmt::format(
        "no version '{}': 'flor log' lists them, and 4 digits at least name one", printable(text)));
  }
  throw UsageError(fmt::format("'{}' is the beginning of {} versions: give more digits",
                               printable(text), found.size()));
}

}  // namespace

std::vector<VersionRuns> versions_of(const store::Catalog& catalog, const std::string& experiment) {
  std::vector<VersionRuns> result;
  for (store::Run& run :
       catalog.runs(experiment, SIZE_MAX, store::RunDetail::all, store::RunRanks::first)) {
    stand_for_group(catalog, run);
    auto version = std::ranges::find(result, run.start.commit, &VersionRuns::commit);
    if (version == result.end()) {
      result.push_back({run.start.commit, {}});
      version = result.end() - 1;
    }
    version->runs.push_back(std::move(run));
  }
  if (!result.empty()) return result;
  const auto known = catalog.experiments();
  std::string hint = did_you_mean(experiment, known);
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", printable(experiment), hint));
}

std::vector<VersionRuns> named_versions(const std::vector<VersionRuns>& all,
                                        const std::string& list) {
  if (list.empty()) return all;
  std::set<std::size_t> chosen;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string part(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t dots = part.find("..");
    std::size_t first = find_version(all, part.substr(0, dots)), last = first;
    if (dots != part.npos) last = find_version(all, part.substr(dots + 2));
    for (std::size_t i = std::min(first, last); i <= std::max(first, last); ++i) chosen.insert(i);
  }
  std::vector<VersionRuns> result;
  for (const std::size_t i : chosen) result.push_back(all[i]);
  return result;
}

std::vector<VersionRuns> versions_where(const store::Catalog& catalog,
                                        std::vector<VersionRuns> versions,
                                        const std::vector<std::string>& conditions,
                                        std::int64_t now_us) {
  if (conditions.empty()) return versions;
  std::vector<store::Run> runs;
  for (const VersionRuns& version : versions) {
    runs.insert(runs.end(), version.runs.begin(), version.runs.end());
  }
  keep_runs_where(catalog, runs, conditions, now_us);
  std::set<std::int64_t> kept;
  for (const store::Run& run : runs) kept.insert(run.id);
  for (VersionRuns& version : versions) {
    std::erase_if(version.runs, [&](const store::Run& run) { return !kept.contains(run.id); });
  }
  std::erase_if(versions, [](const VersionRuns& version) { return version.runs.empty(); });
  return versions;
}

}  // namespace flor::cli
