// prune: deletes checkpoints in an object store, then what nothing refers to any more.
#include "contents.h"
#include "database.h"
#include "layout.h"
#include "references.h"
#include "run_catalog.h"
#include "sha256.h"
#include "worker_pool.h"

#include <flor/store/error.h>
#include <flor/store/remote.h>
#include <flor/store/retention.h>
#include <flor/store/transfer.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

namespace flor::remote {
namespace {

using store::Connection;

/// Removes from a catalog of one run what none of its checkpoints and objects needs.
void drop_dead_content(const std::filesystem::path& file) {
  Connection connection(file, Connection::Mode::existing);
  connection.execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
  const auto run = connection("SELECT id FROM run");
  run->step();
  const ContentReader reader(connection, run->integer(0));
  Records alive;
  for (const Content& content : reader.checkpoints()) reader.add_records(content.chunks, alive);
  for (const Content& content : reader.objects()) {
    reader.add_records(content.chunks, alive);
  }
  std::vector<std::int64_t> dead;
  const auto rows = connection("SELECT id, digest FROM chunk");
  while (rows->step()) {
    if (!alive.contains(rows->digest(1))) dead.push_back(rows->integer(0));
  }
  store::Transaction transaction(connection);
  connection.execute("PRAGMA defer_foreign_keys=ON");
  for (const std::int64_t id : dead) connection("DELETE FROM chunk WHERE id = ?1", id)->run();
  connection.execute(
      "DELETE FROM pack WHERE id NOT IN (SELECT pack FROM chunk);"
      "UPDATE discarded SET collected_us = coalesce(collected_us, discarded_us), chunks = x'', "
      "layout = 0;"
      "DELETE FROM layout WHERE id NOT IN (SELECT layout FROM checkpoint UNION ALL SELECT layout "
      "FROM object)");
  transaction.commit();
}

/// The rules for one run: those that were given, else the program's own.
std::optional<store::KeepRules> rules_for(const store::Store& store, std::int64_t run,
                                          const PruneOptions& options) {
  if (options.rules) return options.rules;
  const auto strategy = store.catalog().strategy(run);
  if (!strategy || !strategy->num_to_keep) return std::nullopt;
  return store::rules_of(*strategy);
}

class Pruning {
 public:
  Pruning(ObjectStore& objects, const PruneOptions& options)
      : objects_(objects), options_(options), now_(store::now_us()), references_(objects) {
    if (options.grace_us != 0 && options.grace_us < kShortestGraceUs) {
      throw UsageError(
          "a grace below 2 hours is too short for somebody who is spooling: give --grace 2h or "
          "more, or 0 where nobody else is at work");
    }
    // The grace of what they refer to begins when they do so no more, whatever was written down.
    referred_before_ = references_.read({}, References::Unreadable::skipped);
  }

  void remove_run(const RemoteRun& run) {
    ++report_.runs_removed;
    report_.checkpoints += run.checkpoints;
    gone_.insert(run.key);
    if (options_.dry_run) return;
    // The latest first: what is left then is older, and goes, too.
    std::vector<ObjectInfo> manifests = objects_.list(fmt::format("{}{}/", kRuns, run.key));
    for (auto manifest = manifests.rbegin(); manifest != manifests.rend(); ++manifest) {
      objects_.remove(manifest->key);
    }
  }

  void thin_out(const RemoteRun& run) {
    const WorkDirectory work;
    const std::filesystem::path file = work.path() / "catalog.db";
    store::write_file(file, read_catalog(objects_, run));
    RemoteRun thinner = run;
    {
      const auto store = store::Store::open(work.path(), store::OpenMode::existing);
      const store::Run row = store->catalog().resolve(run.key);
      const auto rules = rules_for(*store, row.id, options_);
      if (!rules) return;
      if (run.rank > 0 && !rules->best.empty()) {
        throw UsageError(fmt::format(
            "run {} is rank {} of a group, and what is best is known of rank 0 alone: prune by "
            "--last or --every, or flor keep the group here and spool it to another place",
            run.key, run.rank));
      }
      const auto report = store::retain(*store, row.id, *rules, store::Sizes::weighed);
      if (report.deleted == 0) return;
      thinner.checkpoints = 0;
      thinner.raw_bytes = 0;
      for (const auto& checkpoint : store->catalog().checkpoints(row.id)) {
        ++thinner.checkpoints;
        thinner.raw_bytes += checkpoint.raw_bytes;
      }
      thinner.stored_bytes = report.after;
      report_.checkpoints += run.checkpoints - thinner.checkpoints;
    }
    if (options_.dry_run) return;
    drop_dead_content(file);
    put(thinner, seal_catalog(file));
  }

  PruneReport finish() {
    collect();
    report_.unfinished = objects_.remove_unfinished(
        now_ - std::max(options_.grace_us, kUnfinishedUs), options_.dry_run);
    return report_;
  }

 private:
  void put(RemoteRun run, const std::vector<std::byte>& catalog) {
    run.catalog = sha256_hex(catalog);
    run.catalog_bytes = catalog.size();
    ++run.sequence;
    run.spooled_us = now_;
    objects_.put(catalog_key(run.catalog), catalog);
    const std::string manifest = print_manifest(run);
    if (!objects_.put_if_absent(manifest_key(run.key, run.sequence),
                                std::as_bytes(std::span(manifest)))) {
      throw Busy(fmt::format("run {} is being spooled to {}: try again", run.key, objects_.url()));
    }
    // The older ones still refer to what was deleted.
    for (const ObjectInfo& object : objects_.list(fmt::format("{}{}/", kRuns, run.key))) {
      const auto name = parse_manifest_key(object.key);
      if (name && name->sequence < run.sequence) objects_.remove(object.key);
    }
  }

  /// What was already unreferred to the last times, and since when.
  std::map<std::string, std::int64_t> doomed() {
    std::map<std::string, std::int64_t> since;
    for (const ObjectInfo& object : objects_.list(kDoomed)) {
      if (!is_doomed_key(object.key)) continue;
      std::int64_t time = 0;
      const std::string name = name_of(object.key);
      std::from_chars(name.data(), name.data() + name.size(), time);
      doomed_lists_.push_back(object.key);
      std::vector<std::byte> text;
      try {
        text = objects_.get(object.key);
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
    const std::set<std::string> alive =
        references_.read(options_.dry_run ? gone_ : std::set<std::string>());
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

  /// Somebody may have put an object again since it was listed, or referred to it: that one stays.
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

  /// What is younger is probably being written.
  static constexpr std::int64_t kUnfinishedUs = std::int64_t{24} * 3600 * 1'000'000;

  ObjectStore& objects_;
  const PruneOptions& options_;
  std::int64_t now_;
  std::set<std::string> gone_;  ///< runs
  References references_;
  std::set<std::string> referred_before_;  ///< when this began
  std::vector<std::string> doomed_lists_;
  PruneReport report_;
};

}  // namespace

PruneReport prune(ObjectStore& objects, const std::vector<RemoteRun>& runs,
                  const PruneOptions& options) {
  Pruning pruning(objects, options);
  for (const RemoteRun& run : runs) {
    if (options.whole_runs) {
      pruning.remove_run(run);
    } else {
      pruning.thin_out(run);
    }
  }
  return pruning.finish();
}

}  // namespace flor::remote
