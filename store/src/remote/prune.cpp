// Implements `prune`: deletes checkpoints in an object store, then objects that nothing refers to.
#include "base/worker_pool.h"
#include "database/database.h"
#include "remote/objects/object_keys.h"
#include "remote/references.h"
#include "remote/remote.h"
#include "remote/run_listing.h"
#include "remote/thinned_group.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

namespace flor::remote {
namespace {

/// Groups the runs. Groups are in the order of their first runs; in each, rank 0 comes first.
std::vector<std::vector<RemoteRun>> groups_of(const std::vector<RemoteRun>& runs) {
  std::vector<std::vector<RemoteRun>> groups;
  std::map<std::string, std::size_t> places;
  for (const RemoteRun& run : runs) {
    const auto [place, is_new] =
        places.try_emplace(run.leader.empty() ? run.key : run.leader, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(run);
  }
  for (auto& group : groups) std::ranges::stable_sort(group, {}, &RemoteRun::rank);
  return groups;
}

class Pruning {
 public:
  Pruning(ObjectStore& objects, const PruneOptions& options)
      : objects_(objects), options_(options), now_(store::now_us()), references_(objects) {
    if (options.grace_us != 0 && options.grace_us < kShortestGraceUs) {
      throw UsageError(
          "a grace below 2 hours is too short for a machine that is spooling: give --grace 2h or "
          "more, or 0 where no other machine is at work");
    }
    // The grace period of an object begins when no manifest refers to it any more, even if it was
    // noted as unreferenced before.
    referred_before_ = references_.read({}, References::Unreadable::skipped);
  }

  void remove_run(const RemoteRun& run) {
    gone_.insert(run.key);
    if (!options_.dry_run) {
      // Deletes the latest manifest first. If this is interrupted, an older one remains, which a
      // repeated call deletes.
      const std::vector<ManifestName> manifests = list_manifests(objects_, run.key);
      for (auto name = manifests.rbegin(); name != manifests.rend(); ++name) {
        objects_.remove(name->key());
      }
    }
    ++report_.runs_removed;
    report_.checkpoints += run.checkpoints;
  }

  /// Deletes checkpoints of the ranks of a group, or of a single run.
  void thin_out(const std::vector<RemoteRun>& ranks) {
    ThinnedGroup group(objects_, ranks);
    const auto fits = group.decide(options_);
    if (!fits) return;
    report_.fits = report_.fits && *fits;
    report_.checkpoints += group.deleted();
    if (!options_.dry_run) return group.write(now_);
    for (const auto& [run, parcels] : group.plan()) {
      gone_.insert(run);
      for (const std::string& parcel : parcels) needed_.insert(parcel_key(parcel));
    }
  }

  void note(const Error& error) {
    report_.findings.emplace_back(error.what());
    report_.damaged = report_.damaged || error.status() == ExitStatus::damaged;
  }

  PruneReport finish() {
    try {
      collect();
      if (!options_.dry_run) write_listing_anew(objects_, options_.threads);
    } catch (const Unreachable&) {
      throw;
    } catch (const Error& error) {
      note(error);
    }
    report_.unfinished = objects_.remove_unfinished(
        now_ - std::max(options_.grace_us, kUnfinishedUs), options_.dry_run);
    return report_;
  }

 private:
  /// Returns the objects that earlier calls found unreferenced, each with the time of that.
  std::map<std::string, std::int64_t> doomed() {
    std::map<std::string, std::int64_t> since;
    for (const ObjectInfo& object : objects_.list(kDoomed)) {
      if (!is_doomed_key(object.key)) continue;
      std::int64_t time = 0;
      const std::string name = name_of(object.key);
      std::from_chars(name.data(), name.data() + name.size(), time);
      doomed_lists_.push_back(object.key);
      if (object.bytes > kDoomedBytesMax) continue;
      std::vector<std::byte> text;
      try {
        text = objects_.get(object.key, object.bytes);
      } catch (const NotFound&) {
        continue;
      }
      const auto* begin = reinterpret_cast<const char*>(text.data());
      const auto json = nlohmann::json::parse(begin, begin + text.size(), nullptr, false);
      if (!json.is_array()) continue;
      for (const auto& key : json) {
        if (!key.is_string()) continue;
        const auto [entry, is_new] = since.try_emplace(key.get<std::string>(), time);
        if (!is_new) entry->second = std::min(entry->second, time);
      }
    }
    return since;
  }

  void collect() {
    std::vector<ObjectInfo> all = objects_.list(kParcels);
    for (ObjectInfo& object : objects_.list(kCatalogs)) all.push_back(std::move(object));
    std::erase_if(all, [](const ObjectInfo& object) { return !is_content_key(object.key); });
    const std::map<std::string, std::int64_t> since = doomed();
    std::set<std::string> alive =
        references_.read(options_.dry_run ? gone_ : std::set<std::string>());
    alive.insert(needed_.begin(), needed_.end());
    std::map<std::int64_t, nlohmann::json> lists;
    std::vector<const ObjectInfo*> dead;
    for (const ObjectInfo& object : all) {
      if (alive.contains(object.key)) continue;
      const auto known = since.find(object.key);
      const bool is_new = known == since.end() || referred_before_.contains(object.key);
      const std::int64_t doomed_us = is_new ? now_ : known->second;
      const std::int64_t last_us = std::max(doomed_us, object.modified_us);
      if (last_us + options_.grace_us <= now_ || options_.grace_us == 0) {
        dead.push_back(&object);
        continue;
      }
      ++report_.waiting;
      report_.waiting_bytes += object.bytes;
      lists[doomed_us].push_back(object.key);
    }
    if (options_.dry_run) {
      for (const ObjectInfo* object : dead) count_removed(*object);
      return;
    }
    remove(std::move(dead));
    write_doomed(lists);
  }

  /// Removes unreferenced objects. One that another process has written again, or refers to, since
  /// it was listed stays.
  void remove(std::vector<const ObjectInfo*> dead) {
    if (dead.empty()) return;
    const std::set<std::string> alive = references_.read();
    std::erase_if(dead, [&](const ObjectInfo* object) { return alive.contains(object->key); });
    std::mutex mutex;
    store::WorkerPool(options_.threads, nullptr).for_each(dead.size(), [&](std::size_t i) {
      const auto present = objects_.head(dead[i]->key);
      if (!present || present->modified_us != dead[i]->modified_us) return;
      objects_.remove(dead[i]->key);
      const std::lock_guard lock(mutex);
      count_removed(*dead[i]);
    });
  }

  void count_removed(const ObjectInfo& object) {
    ++report_.objects_removed;
    report_.freed += object.bytes;
  }

  void write_doomed(const std::map<std::int64_t, nlohmann::json>& lists) {
    std::set<std::string> keys;
    for (const auto& [time, list] : lists) {
      const std::string key = fmt::format("{}{:020}.json", kDoomed, time);
      const std::string text = list.dump();
      objects_.put(key, std::as_bytes(std::span(text)));
      keys.insert(key);
    }
    for (const std::string& key : doomed_lists_) {
      if (!keys.contains(key)) objects_.remove(key);
    }
  }

  /// Larger than a list of a million objects; in bytes.
  static constexpr std::uint64_t kDoomedBytesMax = std::uint64_t{128} << 20;

  /// Younger uploads are probably still in progress.
  static constexpr std::int64_t kUnfinishedUs = std::int64_t{24} * 3600 * 1'000'000;

  ObjectStore& objects_;
  const PruneOptions& options_;
  std::int64_t now_;
  std::set<std::string> gone_;    ///< runs whose current manifests are, or would be, deleted
  std::set<std::string> needed_;  ///< keys that the new manifests would refer to
  References references_;
  std::set<std::string> referred_before_;  ///< keys that were referred to when this call began
  std::vector<std::string> doomed_lists_;
  PruneReport report_;
};

}  // namespace

PruneReport prune(ObjectStore& objects, const std::vector<RemoteRun>& runs,
                  const PruneOptions& options) {
  if (options.rules) store::check_rules(*options.rules);
  Pruning pruning(objects, options);
  const std::vector<std::vector<RemoteRun>> groups = groups_of(runs);
  for (const std::vector<RemoteRun>& ranks : groups) {
    try {
      if (!options.whole_runs) {
        pruning.thin_out(ranks);
      } else {
        for (const RemoteRun& run : ranks) pruning.remove_run(run);
      }
    } catch (const Unreachable&) {
      throw;
    } catch (const Error& error) {
      if (groups.size() == 1) throw;
      pruning.note(error);
    }
  }
  return pruning.finish();
}

}  // namespace flor::remote
