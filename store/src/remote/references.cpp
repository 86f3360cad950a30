#include "references.h"

#include "layout.h"
#include "run_catalog.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::remote {
namespace {

constexpr int kTries = 20;

std::vector<std::int64_t> sequences_of(ObjectStore& objects, const std::string& run) {
  std::vector<std::int64_t> sequences;
  for (const ObjectInfo& object : objects.list(fmt::format("{}{}/", kRuns, run))) {
    if (const auto name = parse_manifest_key(object.key)) sequences.push_back(name->sequence);
  }
  std::ranges::sort(sequences);
  return sequences;
}

}  // namespace

std::set<std::string> References::read(const std::set<std::string>& without,
                                       Unreadable unreadable) {
  std::map<std::string, std::vector<std::int64_t>> runs;
  for (const ManifestName& name : list_manifests(objects_)) {
    if (!without.contains(name.run)) runs[name.run].push_back(name.sequence);
  }
  std::set<std::string> keys;
  for (auto& [run, sequences] : runs) {
    for (int tries = 1; !add(run, sequences, unreadable, keys); ++tries) {
      if (tries == kTries) {
        throw Busy(fmt::format("run {} keeps being spooled to {}: try again", run, objects_.url()));
      }
      sequences = sequences_of(objects_, run);
    }
  }
  return keys;
}

bool References::add(const std::string& run, const std::vector<std::int64_t>& sequences,
                     Unreadable unreadable, std::set<std::string>& keys) {
  for (const std::int64_t sequence : sequences) {
    const auto found =
        look_up(manifest_key(run, sequence), sequence == sequences.back(), unreadable);
    if (!found) return false;
    keys.insert(found->begin(), found->end());
  }
  return true;
}

std::optional<std::vector<std::string>> References::look_up(const std::string& manifest,
                                                            bool is_latest, Unreadable unreadable) {
  if (const auto known = known_.find(manifest); known != known_.end()) return known->second;
  RemoteRun run;
  try {
    run = parse_manifest(objects_.get(manifest), fmt::format("{}/{}", objects_.url(), manifest));
  } catch (const NotFound&) {
    return std::nullopt;
  }
  std::vector<std::string> keys{catalog_key(run.catalog)};
  try {
    for (const std::string& parcel : parcels_of(run)) keys.push_back(parcel_key(parcel));
  } catch (const NotFound&) {
    if (!objects_.head(manifest)) return std::nullopt;
    // Of an older manifest: nobody can read that any more.
    if (is_latest && unreadable == Unreadable::refused) {
      throw Damaged(fmt::format(
          "the catalog of run {} is missing in {}, so what the run needs is not known and no "
          "parcel was removed: flor remote prune {} {} --whole-runs gives the run up",
          run.key, objects_.url(), objects_.url(), run.key));
    }
    return keys;
  } catch (const Damaged&) {
    if (unreadable == Unreadable::refused) throw;
    return keys;
  }
  known_[manifest] = keys;
  return keys;
}

std::vector<std::string> References::parcels_of(const RemoteRun& run) {
  if (const auto known = parcels_.find(run.catalog); known != parcels_.end()) return known->second;
  RunCatalog catalog(objects_, run, {});
  const auto rows = catalog.connection()("SELECT name FROM pack");
  std::vector<std::string> parcels;
  while (rows->step()) parcels.push_back(rows->text(0));
  return parcels_[run.catalog] = std::move(parcels);
}

}  // namespace flor::remote
