// Implements `spool`: puts the content of a run that the object store lacks into parcels, then
// writes a catalog, and finally the manifest.
#include "base/worker_pool.h"
#include "database/database.h"
#include "database/store_impl.h"
#include "index/catalog/labels.h"
#include "index/copies/row_copy.h"
#include "index/refresh.h"
#include "remote/bucket_check.h"
#include "remote/contents.h"
#include "remote/facts/evaluation_rows.h"
#include "remote/facts/run_catalog.h"
#include "remote/facts/run_progress.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/parcels.h"
#include "remote/objects/sha256.h"
#include "remote/remote.h"
#include "remote/run_listing.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

namespace flor::remote {
namespace {

using store::Connection;

/// Thrown if another process has written a manifest, or removed an object that this one relies on.
/// The caller begins again.
struct Overtaken {};

constexpr int kClaimTries = 10;

/// Objects up to this age that a killed attempt has left are used without writing them again.
/// `prune` removes only older ones.
constexpr std::int64_t kFreshUs = std::int64_t{3600} * 1'000'000;
static_assert(kFreshUs < kShortestGraceUs);

/// Number of other runs whose catalogs are searched for records that need not be uploaded again.
constexpr std::size_t kRunsLookedAt = 64;

/// Waits a random time, so that processes that have disturbed each other do not do so again.
void pause(int tries) {
  std::random_device random;
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % (20U << std::min(tries, 6))));
}

/// The state that the run already has in the object store.
struct Base {
  std::optional<ManifestName> name;     ///< latest manifest, readable or not
  std::optional<RemoteRun> run;         ///< the latest that can be read
  std::unique_ptr<RunCatalog> catalog;  ///< catalog of `run`
  std::optional<RemoteRun> past_hope;   ///< a later state, whose catalog cannot be read
  bool intact = true;                   ///< true if `run` belongs to `name`
};

/// Throws Damaged if the catalog refers to chunks that it does not have.
void check_chunks(const ContentReader& reader) {
  Records records;
  for (const Content& content : reader.checkpoints()) reader.add_records(content.chunks, records);
  for (const Content& content : reader.objects()) reader.add_records(content.chunks, records);
}

/// Corrects an outdated list of manifests, which may lack a new one or contain a removed one. An
/// attempt that was overtaken looks for the manifests with the next numbers, which must exist.
void add_unlisted(ObjectStore& objects, const std::string& run, std::vector<ManifestName>& names) {
  if (!objects.makes_exclusively()) return;
  for (;;) {
    const ManifestName next{run, names.empty() ? 1 : names.back().sequence + 1, ""};
    if (!objects.head(next.key())) return;
    names.push_back(next);
  }
}

/// Finds the latest manifest whose catalog can be read as well.
Base find_base(ObjectStore& objects, const std::string& run, const std::filesystem::path& cache,
               bool overtaken) {
  Base base;
  std::vector<ManifestName> names = list_manifests(objects, run);
  if (overtaken) add_unlisted(objects, run, names);
  if (!names.empty()) base.name = names.back();
  for (; !names.empty(); names.pop_back()) {
    std::optional<RemoteRun> found;
    try {
      found = read_manifest(objects, names.back());
      auto catalog = std::make_unique<RunCatalog>(objects, *found, cache);
      check_chunks(ContentReader(catalog->connection(), catalog->run()));
      base.catalog = std::move(catalog);
      base.run = std::move(found);
      return base;
    } catch (const NotFound&) {
      if (!overtaken && !objects.head(names.back().key())) throw Overtaken();
    } catch (const NewerFormat&) {
      throw;
    } catch (const Damaged&) {
      // Spooling the run again will replace it.
    }
    base.intact = false;
    if (found && !base.past_hope) base.past_hope = std::move(found);
  }
  return base;
}

/// Checkpoints that a run has had at some time, without their content.
using Known = std::map<Content::Name, Content>;

/// One attempt: makes a manifest from one state of the store.
class Spooling {
 public:
  Spooling(store::Store& store, const store::Run& run, ObjectStore& objects,
           const SpoolOptions& options)
      : database_(*store.impl().database),
        run_(run),
        objects_(objects),
        options_(options),
        cache_(catalog_cache(store.home())),
        source_(database_.paths, database_.files) {}

  /// `overtaken`: the previous attempt has thrown Overtaken.
  SpoolReport operator()(bool overtaken) {
    base_ = find_base(objects_, run_.key, cache_, overtaken);
    parcels_ = list_parcels(objects_);
    if (options_.repair && base_.run) find_damage();
    read_store();
    find_records();
    send_parcels();
    write_catalog();
    write_manifest();
    return std::move(report_);
  }

 private:
  /// Finds damaged parcels, which then count as missing.
  void find_damage() {
    for (const std::string& name :
         damaged_parcels(objects_, *base_.run, *base_.catalog, options_)) {
      parcels_.erase(name);
      damaged_.insert(name);
    }
  }

  void read_store() {
    store::follow_evaluations(database_);
    const auto connection = store::open_for_reading(database_.paths);
    const store::ReadTransaction transaction(*connection);
    const auto row =
        (*connection)("SELECT finished_us IS NULL, failed, epochs FROM run WHERE id = ?1", run_.id);
    if (!row->step()) throw NotFound(fmt::format("run {} is not in the store", run_.key));
    describe(row->integer(0) != 0, row->integer(1) != 0);
    report_.run.epochs = row->integer(2);
    check_progress(*connection);
    choose_contents(ContentReader(*connection, run_.id));
    check_objects_are_here(*connection);
    Evaluations evaluations;
    add_evaluations(*connection, run_.id, evaluations);
    if (base_.catalog) {
      add_evaluations(base_.catalog->connection(), base_.catalog->run(), evaluations);
    }
    catalog_.write([&](Connection& to) {
      target_ = store::copy_facts(*connection, run_.id, to, 0, std::nullopt);
      store::merge_labels(*connection, run_.id, to, target_, store::LabelSource::here);
      if (base_.catalog) {
        store::merge_labels(base_.catalog->connection(), base_.catalog->run(), to, target_,
                            store::LabelSource::elsewhere);
      }
      // A removed run is removed in this store only, so the label is not spooled.
      to("DELETE FROM label WHERE kind = ?1", static_cast<std::int64_t>(store::LabelKind::removed))
          ->run();
      put_evaluations(to, evaluations);
    });
  }

  /// Throws if logged objects of the run were not fetched. A process that fetched the run from the
  /// object store would find it damaged.
  void check_objects_are_here(Connection& connection) const {
    if (!store::has_table(connection, "absent_object")) return;
    std::set<Digest> sent;
    for (const Content& content : contents_.objects) sent.insert(content.digest);
    for (const Digest& digest : ContentReader(connection, run_.id).named_objects()) {
      if (sent.contains(digest)) continue;
      const auto row = connection("SELECT place FROM absent_object WHERE digest = ?1", digest);
      if (!row->step()) continue;
      throw Error(
          fmt::format("run {0} was fetched in part, and tensors or images that it logged are only "
                      "in {1}: bring "
                      "them first: flor fetch {0} {1}",
                      run_.key, row->text(0)));
    }
  }

  /// Throws if the object store has a newer state of the run, which must not be replaced.
  void check_progress(Connection& connection) const {
    bool is_ahead = base_.past_hope && base_.past_hope->epochs > report_.run.epochs;
    if (base_.catalog) {
      const RunProgress there(base_.catalog->connection(), base_.catalog->run());
      is_ahead = is_ahead || there.is_ahead_of(RunProgress(connection, run_.id));
    }
    if (!is_ahead) return;
    throw Error(
        fmt::format("run {} has gone on, or was replayed, in {} since it was here: bring that "
                    "back first, by flor fetch",
                    run_.key, objects_.url()));
  }

  void describe(bool open, bool failed) {
    RemoteRun& run = report_.run;
    run.key = run_.key;
    run.experiment = run_.start.experiment;
    run.state = !open                                   ? (failed ? "failed" : "finished")
                : store::is_locked(database_, run_.key) ? "running"
                                                        : "interrupted";
    run.started_us = run_.start.started_us;
    if (!run_.start.rank) return;
    run.rank = run_.start.rank->rank;
    run.world = run_.start.rank->world;
    if (run.rank == 0) return;
    const std::lock_guard lock(database_.mutex);
    const auto row =
        database_.connection("SELECT key FROM run WHERE id = ?1", run_.start.rank->group);
    if (row->step()) run.leader = row->text(0);
  }

  /// Chooses the checkpoints: all that are here, except those deleted in the object store, and
  /// those of the object store that were deleted here. A checkpoint of the object store that was
  /// never here belongs to a course that the run left when it was resumed.
  void choose_contents(const ContentReader& reader) {
    std::vector<Content> here = reader.checkpoints();
    Known known;
    for (const Content& content : here) known.emplace(content.name(), content.outline());
    for (const Content& content : reader.discarded()) {
      known.emplace(content.name(), content.outline());
    }

    std::map<Content::Name, std::int64_t> pruned;
    std::optional<ContentReader> old;
    if (base_.catalog) {
      old.emplace(base_.catalog->connection(), base_.catalog->run());
      for (Content& content : old->pruned()) {
        if (!known.contains(content.name())) continue;
        pruned.emplace(content.name(), content.discarded_us);
        contents_.pruned.push_back(std::move(content));
      }
    }
    std::erase_if(here, [&](const Content& content) { return pruned.contains(content.name()); });
    std::set<Content::Name> stored;
    for (const Content& content : here) stored.insert(content.name());
    if (old) add_what_is_only_there(*old, reader, known, stored);
    only_there_ = contents_.records.list().size();
    // Sorted by time instead of local ids, so that a run gives the same parcels everywhere.
    std::ranges::stable_sort(here, {}, &Content::created_us);
    for (Content& content : here) {
      contents_.add(reader, std::move(content));
      ends_.push_back(contents_.records.list().size());
    }
    for (Content& content : reader.objects()) {
      reader.add_records(content.chunks, contents_.records);
      contents_.objects.push_back(std::move(content));
    }
    for (auto& [name, content] : known) {
      if (stored.contains(name)) continue;
      const auto there = pruned.find(name);
      if (there != pruned.end()) content.discarded_us = there->second;
      contents_.gone.push_back(std::move(content));
    }
    check_depths();
    find_copies(reader);
  }

  /// Finds local copies of records that belong to content which only the object store has.
  void find_copies(const ContentReader& reader) {
    copies_.resize(only_there_);
    for (std::size_t i = 0; i < only_there_; ++i) {
      const Record& record = contents_.records.list()[i];
      const Record* copy = reader.find(record.digest);
      if (copy && copy->is_same_record(record)) copies_[i] = *copy;
    }
  }

  /// Adds checkpoints that were deleted here, and logged objects that were lost here by damage.
  /// They keep the form that they have in the object store.
  void add_what_is_only_there(const ContentReader& old, const ContentReader& reader,
                              const Known& known, std::set<Content::Name>& stored) {
    for (Content& content : old.checkpoints()) {
      if (!known.contains(content.name()) || !stored.insert(content.name()).second) continue;
      contents_.add(old, std::move(content));
    }
    const std::set<Digest> named = reader.named_objects();
    std::set<Digest> here;
    for (const Content& content : reader.objects()) here.insert(content.digest);
    for (Content& content : old.objects()) {
      if (here.contains(content.digest) || !named.contains(content.digest)) continue;
      old.add_records(content.chunks, contents_.records);
      contents_.objects.push_back(std::move(content));
    }
  }

  void check_depths() const {
    for (const Record& record : contents_.records.list()) {
      if (record.has_base() && contents_.records.at(record.base).depth >= record.depth) {
        throw Error(fmt::format(
            "run {} was archived here while some of its checkpoints are only in {}: bring them "
            "back first, by flor fetch",
            run_.key, objects_.url()));
      }
    }
  }

  /// Finds out which records the object store already has, and where.
  void find_records() {
    here_ = contents_.records.list();
    std::vector<Record>& records = contents_.records.list();
    for (std::size_t i = only_there_; i < records.size(); ++i) {
      records[i].parcel.clear();
      ++missing_;
    }
    if (base_.catalog) {
      read_lengths(base_.catalog->connection());
      for (std::size_t i = 0; i < only_there_; ++i) look_for(i);
      find_in(base_.catalog->connection());
      report_.lost = count_lost();
    }
    if (missing_ == 0) return;
    for (const RemoteRun& other : likely_runs()) {
      if (missing_ == 0) return;
      try {
        RunCatalog catalog(objects_, other, cache_);
        read_lengths(catalog.connection());
        find_in(catalog.connection());
      } catch (const NotFound&) {
        // It was replaced or removed after it was listed; its records are uploaded again.
      } catch (const Damaged&) {
        // Damage of another run does not matter here.
      } catch (const NewerFormat&) {
      }
    }
  }

  /// Returns runs that probably have the same records: other ranks of the group, then runs of the
  /// same experiment, then any, each latest first. Limited, because each run costs a request.
  std::vector<RemoteRun> likely_runs() {
    std::vector<RemoteRun> runs = list_runs(objects_, options_.threads, RunsFrom::listing).runs;
    std::erase_if(runs, [&](const RemoteRun& other) { return other.key == run_.key; });
    const std::string& leader = report_.run.leader;
    std::ranges::stable_sort(runs, {}, [&](const RemoteRun& other) {
      const bool same_group = other.key == leader || other.leader == run_.key ||
                              (!leader.empty() && other.leader == leader);
      return std::pair(!same_group, other.experiment != run_.start.experiment);
    });
    if (runs.size() > kRunsLookedAt) runs.resize(kRunsLookedAt);
    return runs;
  }

  void read_lengths(Connection& catalog) {
    const auto rows = catalog("SELECT name, bytes FROM pack");
    while (rows->step()) {
      const std::string name = rows->text(0);
      const auto bytes = static_cast<std::uint64_t>(rows->integer(1));
      const auto there = parcels_.find(name);
      if (there != parcels_.end() && there->second.bytes != bytes) {
        parcels_.erase(there);
        damaged_.insert(name);
      }
      lengths_.emplace(name, bytes);
    }
  }

  bool is_there(const Record& record) const { return parcels_.contains(record.parcel); }

  /// Uploads a record again that is damaged in the object store, if there is a local copy.
  /// Otherwise it stays lost: it keeps its place, and `flor remote verify` reports it.
  void look_for(std::size_t i) {
    Record& record = contents_.records.list()[i];
    if (is_there(record)) return;
    damaged_.insert(record.parcel);
    if (!copies_[i]) {
      lost_.insert(record.digest);
      return;
    }
    here_[i] = *copies_[i];
    record.parcel.clear();
    ++missing_;
  }

  std::int64_t count_lost() const {
    std::int64_t count = 0;
    const auto is_lost = [&](const Digest& chunk) {
      for (const Record* record = &contents_.records.at(chunk);;
           record = &contents_.records.at(record->base)) {
        if (lost_.contains(record->digest)) return true;
        if (!record->has_base()) return false;
      }
    };
    for (const auto* list : {&contents_.checkpoints, &contents_.objects}) {
      count += std::ranges::count_if(
          *list, [&](const Content& it) { return std::ranges::any_of(it.chunks, is_lost); });
    }
    return count;
  }

  void find_in(Connection& catalog) {
    const auto rows = catalog(
        "SELECT chunk.digest, pack.name, chunk.offset, chunk.stored_bytes, chunk.codec, "
        "chunk.depth, base.digest FROM chunk JOIN pack ON pack.id = chunk.pack LEFT JOIN chunk "
        "base "
        "ON base.id = chunk.base");
    while (rows->step()) {
      const Digest digest = rows->digest(0);
      if (!contents_.records.contains(digest)) continue;
      Record& record = contents_.records.at(digest);
      if (!record.parcel.empty()) continue;
      Record found = record;
      found.parcel = rows->text(1);
      found.offset = static_cast<std::uint64_t>(rows->integer(2));
      found.stored_bytes = static_cast<std::uint32_t>(rows->integer(3));
      found.codec = static_cast<std::uint8_t>(rows->integer(4));
      found.depth = static_cast<std::uint8_t>(rows->integer(5));
      found.base = rows->is_null(6) ? Digest() : rows->digest(6);
      if (!found.is_same_record(record)) continue;
      if (!is_there(found)) {
        damaged_.insert(found.parcel);
        continue;
      }
      record = found;
      --missing_;
    }
  }

  void send_parcels() {
    const std::vector<ParcelPlan> plans = plan_parcels(contents_.records.list(), ends_);
    TransferProgress progress;
    for (const ParcelPlan& plan : plans) {
      for (const std::size_t i : plan) progress.all += here_[i].bytes();
    }
    std::mutex mutex;
    std::vector<std::string> names(plans.size());
    store::WorkerPool(options_.threads, nullptr).for_each(plans.size(), [&](std::size_t i) {
      std::vector<std::byte> parcel;
      parcel.reserve(kParcelBytes);
      for (const std::size_t record : plans[i]) source_.append(here_[record], parcel);
      names[i] = sha256_hex(parcel);
      const bool sent = ensure(parcel_key(names[i]), parcel, names[i]);
      const std::lock_guard lock(mutex);
      ++(sent ? report_.parcels_sent : report_.parcels_found);
      if (sent) {
        report_.bytes_sent += parcel.size();
        report_.chunks_sent += static_cast<std::int64_t>(plans[i].size());
      }
      progress.done += parcel.size();
      if (options_.progress) options_.progress(progress);
    });
    report_.chunks = static_cast<std::int64_t>(contents_.records.list().size());
    report_.damaged = static_cast<std::int64_t>(damaged_.size());
    for (std::size_t p = 0; p < plans.size(); ++p) {
      std::uint64_t offset = 0;
      for (const std::size_t i : plans[p]) {
        Record& record = contents_.records.list()[i];
        record.parcel = names[p];
        record.offset = offset;
        offset += record.bytes();
      }
      lengths_[names[p]] = offset;
    }
  }

  /// Makes sure that the object exists, and returns whether it was uploaded; a killed attempt may
  /// have left it. An old one, which may be about to be removed, and a damaged one are written
  /// again.
  bool ensure(const std::string& key, std::span<const std::byte> content, const std::string& name) {
    if (!damaged_.contains(name)) {
      const auto known = parcels_.find(name);
      if (known == parcels_.end()) {
        if (objects_.put_if_absent(key, content)) return true;
        // Another process has written it at the same time, or the list was outdated.
        const auto info = objects_.head(key);
        if (info && info->bytes == content.size() && is_fresh(*info)) return false;
      } else if (known->second.bytes == content.size() && is_fresh(known->second)) {
        return false;
      }
    }
    objects_.put(key, content);
    return true;
  }

  static bool is_fresh(const ObjectInfo& object) {
    return object.modified_us > store::now_us() - kFreshUs;
  }

  void write_catalog() {
    RemoteRun& run = report_.run;
    catalog_.write([&](Connection& to) { put_contents(to, target_, contents_, lengths_, run); });
    sealed_ = catalog_.seal();
    run.catalog = sha256_hex(sealed_);
    run.catalog_bytes = sealed_.size();
  }

  bool is_unchanged() const {
    if (!base_.run || !base_.intact || report_.parcels_sent > 0) return false;
    RemoteRun now = report_.run;
    now.sequence = base_.run->sequence;
    now.spooled_us = base_.run->spooled_us;
    if (print_manifest(now) != print_manifest(*base_.run)) return false;
    const auto catalog = objects_.head(catalog_key(now.catalog));
    if (!catalog || catalog->bytes != now.catalog_bytes) return false;
    if (!options_.repair) return true;
    try {
      return sha256_hex(objects_.get(catalog->key, now.catalog_bytes)) == now.catalog;
    } catch (const Damaged&) {
      return false;
    }
  }

  void write_manifest() {
    RemoteRun& run = report_.run;
    if (is_unchanged()) {
      run = *base_.run;
      return;
    }
    // Written even if it exists, because that one may be damaged or about to be removed.
    objects_.put(catalog_key(run.catalog), sealed_);
    run.sequence = base_.name ? base_.name->sequence + 1 : 1;
    run.spooled_us = store::now_us();
    const auto manifest = put_manifest(objects_, run, base_.name);
    if (!manifest) throw Overtaken();
    report_.facts_sent = sealed_.size() + print_manifest(run).size();
    report_.changed = true;
    check_objects();
    remove_old_manifests();
    enter_in_listing(objects_, {*manifest, run});
  }

  /// Checks that the objects still exist. From now on they are referred to, so no process will
  /// remove them, but one may have done so just before.
  void check_objects() {
    const std::string catalog = catalog_key(report_.run.catalog);
    if (!objects_.head(catalog)) objects_.put(catalog, sealed_);
    const FoundParcels there = list_parcels(objects_);
    for (const Record& record : contents_.records.list()) {
      if (!there.contains(record.parcel) && !lost_.contains(record.digest)) throw Overtaken();
    }
  }

  /// Keeps the previous manifest, because a process may be reading it.
  void remove_old_manifests() {
    for (const ManifestName& name : list_manifests(objects_, run_.key)) {
      if (name.sequence < report_.run.sequence - 1) objects_.remove(name.key());
    }
  }

  store::Database& database_;
  const store::Run& run_;
  ObjectStore& objects_;
  const SpoolOptions& options_;
  std::filesystem::path cache_;
  RecordSource source_;
  NewCatalog catalog_;
  std::int64_t target_ = 0;  ///< id of the run in `catalog_`
  Base base_;
  FoundParcels parcels_;                ///< parcels in the object store that are not known to be
                                        ///< damaged
  std::set<std::string> damaged_;  ///< names of damaged parcels
  ParcelBytes lengths_;
  RunContents contents_;
  std::vector<std::size_t> ends_;  ///< indices of the last records of checkpoints
  std::size_t only_there_ = 0;     ///< this number of records at the front belong to content that
                                   ///< is not here
  std::vector<std::optional<Record>> copies_;  ///< local copies of those records, if any
  std::set<Digest> lost_;                      ///< chunks of which no sound copy exists
  std::vector<Record> here_;                   ///< all records, with their places in local packs
  std::int64_t missing_ = 0;
  std::vector<std::byte> sealed_;
  SpoolReport report_;
};

}  // namespace

SpoolReport spool(store::Store& store, const store::Run& run, ObjectStore& objects,
                  const SpoolOptions& options) {
  const auto use = store.use_run(run.key);
  for (int tries = 1;; ++tries) {
    try {
      return Spooling(store, run, objects, options)(tries > 1);
    } catch (const Overtaken&) {
      if (tries == kClaimTries) {
        throw Busy(
            fmt::format("others keep changing run {} in {}: try again", run.key, objects.url()));
      }
      pause(tries);
    } catch (const Moved&) {
      if (tries == kClaimTries) throw Busy("the store's packs keep changing: try again");
    }
  }
}

}  // namespace flor::remote
