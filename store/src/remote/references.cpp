#include "remote/references.h"

#include "remote/facts/run_catalog.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::remote {
namespace {

constexpr int kCountTries = 20;

}  // namespace

std::set<std::string> References::read(const std::set<std::string>& without,
                                       Unreadable unreadable) {
  std::map<std::string, std::vector<ManifestName>> runs;
  for (const ManifestName& name : list_manifests(objects_)) {
    if (!without.contains(name.run)) runs[name.run].push_back(name);
  }
  std::set<std::string> keys;
  for (auto& [run, manifests] : runs) {
    for (int tries = 1; !add(manifests, unreadable, keys); ++tries) {
      const std::vector<ManifestName> before = std::move(manifests);
      manifests = list_manifests(objects_, run);
      // The manifest is listed again although it is gone, so the list is outdated, and may lack a
      // newer manifest.
      if (manifests == before && tries > 1) {
        if (unreadable == Unreadable::refused)
          throw_unknown(before.back(), "is listed, but not there,");
        break;
      }
      if (tries == kCountTries) {
        throw Busy(fmt::format("run {} keeps being spooled to {}: try again", run, objects_.url()));
      }
    }
  }
  return keys;
}

bool References::add(const std::vector<ManifestName>& manifests, Unreadable unreadable,
                     std::set<std::string>& keys) {
  for (const ManifestName& manifest : manifests) {
    const auto found = look_up(manifest, manifest == manifests.back(), unreadable);
    if (!found) return false;
    keys.insert(found->begin(), found->end());
  }
  return true;
}

std::optional<std::vector<std::string>> References::look_up(const ManifestName& manifest,
                                                            bool is_latest, Unreadable unreadable) {
  if (const auto known = known_.find(manifest); known != known_.end()) return known->second;
  // An older manifest of an unreadable run does not matter, because no reader uses it.
  const bool refused = is_latest && unreadable == Unreadable::refused;
  std::vector<std::string> keys;
  try {
    const RemoteRun run = read_manifest(objects_, manifest);
    keys.push_back(catalog_key(run.catalog));
    for (const std::string& parcel : parcels_of(run)) keys.push_back(parcel_key(parcel));
  } catch (const NotFound&) {
    if (!objects_.head(manifest.key())) return std::nullopt;
    if (refused) throw_unknown(manifest, "is missing");
    return keys;
  } catch (const Damaged&) {
    if (refused) throw_unknown(manifest, "is damaged");
    return keys;
  } catch (const Unreachable&) {
    throw;
  } catch (const Error&) {  // spooled by a newer Flor, or not readable for this user
    if (refused) throw;
    return keys;
  }
  known_[manifest] = keys;
  return keys;
}

void References::throw_unknown(const ManifestName& manifest, const char* what) const {
  throw Damaged(fmt::format(
      "the manifest or the catalog of run {1} {2} in {0}, so what the run needs is not known and "
      "no object was removed: spool it again, or give it up: flor remote prune {0} {1} "
      "--whole-runs",
      objects_.url(), manifest.run, what));
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
