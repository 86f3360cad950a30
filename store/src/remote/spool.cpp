// spool: what a run has and the object store lacks is put into parcels, then a catalog, then the
// manifest.
#include "contents.h"
#include "database.h"
#include "layout.h"
#include "parcels.h"
#include "row_copy.h"
#include "run_catalog.h"
#include "run_progress.h"
#include "sha256.h"
#include "store_impl.h"
#include "worker_pool.h"

#include <flor/store/error.h>
#include <flor/store/remote.h>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

namespace flor::remote {
namespace {

using store::Connection;

/// Somebody else wrote a manifest, or removed what this one relies on: look again.
struct Overtaken {};

constexpr int kTries = 10;

/// What a killed attempt left is relied upon only if it is younger: `prune` removes what is older.
constexpr std::int64_t kFreshUs = std::int64_t{3600} * 1'000'000;
static_assert(kFreshUs < kShortestGraceUs);

std::int64_t count(Connection& connection, const char* sql, std::int64_t run) {
  const auto row = connection(sql, run);
  return row->step() ? row->integer(0) : 0;
}

/// One attempt: from one state of the store to one manifest.
class Spooling {
 public:
  Spooling(store::Store& store, const store::Run& run, ObjectStore& objects,
           const TransferOptions& options)
      : database_(*store.impl().database),
        run_(run),
        objects_(objects),
        options_(options),
        cache_(catalog_cache(store.home())),
        source_(database_.paths, database_.files) {}

  SpoolReport operator()() {
    previous_ = latest_manifest(objects_, run_.key);
    if (previous_) previous_catalog_.emplace(objects_, *previous_, cache_);
    parcels_ = list_parcels(objects_);
    read_store();
    find_records();
    send_parcels();
    write_catalog();
    write_manifest();
    return std::move(report_);
  }

 private:
  void read_store() {
    const auto connection = store::open_for_reading(database_.paths);
    const store::ReadTransaction transaction(*connection);
    const auto row =
        (*connection)("SELECT finished_us IS NULL, failed FROM run WHERE id = ?1", run_.id);
    if (!row->step()) throw NotFound(fmt::format("run {} is not in the store", run_.key));
    describe(row->integer(0) != 0, row->integer(1) != 0);
    if (previous_) {
      const RunProgress there(previous_catalog_->connection(), previous_catalog_->run());
      if (there.is_ahead_of(RunProgress(*connection, run_.id))) {
        throw Error(
            fmt::format("run {} has gone on, or was replayed, in {} since it was here: bring that "
                        "back first, by flor fetch",
                        run_.key, objects_.url()));
      }
    }
    const ContentReader reader(*connection, run_.id);
    choose_checkpoints(reader);
    store::Transaction filling(catalog_.connection());
    target_ = copy_facts(*connection, run_.id, catalog_.connection(), 0);
    filling.commit();
    report_.run.epochs = count(*connection, "SELECT epochs FROM run WHERE id = ?1", run_.id);
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

  /// All that are here, except those that were deleted there; and those there that were deleted
  /// here.
  void choose_checkpoints(const ContentReader& reader) {
    std::set<Content::Name> deleted_there, deleted_here;
    std::vector<Content> there;
    std::optional<ContentReader> old;
    if (previous_) {
      old.emplace(previous_catalog_->connection(), previous_catalog_->run());
      there = old->checkpoints();
      for (Content& content : old->discarded()) {
        deleted_there.insert(content.name());
        discarded_.push_back(std::move(content));
      }
    }
    std::set<Content::Name> stored_there;
    for (const Content& content : there) stored_there.insert(content.name());
    for (Content& content : reader.discarded()) {
      deleted_here.insert(content.name());
      if (stored_there.contains(content.name()) || deleted_there.contains(content.name())) continue;
      if (content.collected_us == 0) content.collected_us = content.discarded_us;
      discarded_.push_back(std::move(content));
    }
    std::vector<Content> here = reader.checkpoints();
    std::erase_if(here,
                  [&](const Content& content) { return deleted_there.contains(content.name()); });
    // Whatever their numbers are here, so that the same run gives the same catalog everywhere.
    std::ranges::stable_sort(here, {}, &Content::created_us);
    std::set<Content::Name> chosen;
    for (const Content& content : here) chosen.insert(content.name());
    std::erase_if(there, [&](const Content& content) {
      return chosen.contains(content.name()) || !deleted_here.contains(content.name());
    });
    // Those that are only there keep the form that they have there.
    for (const Content& content : there) old->add_records(content.chunks, records_);
    objects_here_ = reader.objects();
    if (old) keep_lost_objects(*old);
    only_there_ = records_.list().size();
    checkpoints_ = std::move(there);
    for (Content& content : here) {
      reader.add_records(content.chunks, records_);
      ends_.push_back(records_.list().size());
      checkpoints_.push_back(std::move(content));
    }
    for (const Content& content : objects_here_) reader.add_records(content.chunks, records_);
    std::ranges::stable_sort(checkpoints_, {}, &Content::created_us);
    for (const Record& record : records_.list()) {
      if (record.has_base() && records_.at(record.base).depth + 1 != record.depth) {
        throw Error(fmt::format(
            "run {} was archived here while some of its checkpoints are only in {}: bring them "
            "back first, by flor fetch",
            run_.key, objects_.url()));
      }
    }
  }

  /// Objects that were logged, and lost here to damage, stay there.
  void keep_lost_objects(const ContentReader& old) {
    std::set<Digest> here;
    for (const Content& content : objects_here_) here.insert(content.digest);
    for (Content& content : old.objects()) {
      if (here.contains(content.digest)) continue;
      old.add_records(content.chunks, records_);
      objects_here_.push_back(std::move(content));
    }
  }

  /// Where the records lie already.
  void find_records() {
    here_ = records_.list();
    for (std::size_t i = only_there_; i < records_.list().size(); ++i) {
      records_.list()[i].parcel.clear();
      ++missing_;
    }
    for (std::size_t i = 0; i < only_there_; ++i) {
      if (!is_there(records_.list()[i])) {
        throw Damaged(
            fmt::format("the parcel {} is missing in {}, and run {} has no copy of it: "
                        "flor remote verify says what is lost",
                        records_.list()[i].parcel, objects_.url(), run_.key));
      }
    }
    if (previous_catalog_) find_in(previous_catalog_->connection());
    if (missing_ == 0) return;
    std::vector<RemoteRun> others;
    try {
      others = list_runs(objects_, options_.threads);
    } catch (const NotFound&) {
      return;
    }
    for (const RemoteRun& other : others) {
      if (missing_ == 0) return;
      if (other.key == run_.key) continue;
      try {
        RunCatalog catalog(objects_, other, cache_);
        find_in(catalog.connection());
      } catch (const NotFound&) {
        // Replaced or removed since it was listed. What it has is sent again.
      }
    }
  }

  bool is_there(const Record& record) const {
    const auto parcel = parcels_.find(record.parcel);
    return parcel != parcels_.end() && record.offset + record.bytes() <= parcel->second.bytes;
  }

  void find_in(Connection& catalog) {
    const auto rows = catalog(
        "SELECT chunk.digest, pack.name, chunk.offset, chunk.stored_bytes, chunk.codec, "
        "chunk.depth, base.digest FROM chunk JOIN pack ON pack.id = chunk.pack LEFT JOIN chunk "
        "base "
        "ON base.id = chunk.base");
    while (rows->step()) {
      const Digest digest = rows->digest(0);
      if (!records_.contains(digest)) continue;
      Record& record = records_.at(digest);
      if (!record.parcel.empty()) continue;
      Record found = record;
      found.parcel = rows->text(1);
      found.offset = static_cast<std::uint64_t>(rows->integer(2));
      found.stored_bytes = static_cast<std::uint32_t>(rows->integer(3));
      found.codec = static_cast<std::uint8_t>(rows->integer(4));
      found.depth = static_cast<std::uint8_t>(rows->integer(5));
      found.base = rows->is_null(6) ? Digest() : rows->digest(6);
      if (!found.is_same_record(record) || !is_there(found)) continue;
      record = found;
      --missing_;
    }
  }

  void send_parcels() {
    const std::vector<ParcelPlan> plans = plan_parcels(records_.list(), ends_);
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
      const bool sent = ensure(parcel_key(names[i]), parcel, parcels_, names[i]);
      const std::lock_guard lock(mutex);
      ++(sent ? report_.parcels_sent : report_.parcels_found);
      if (sent) report_.bytes_sent += parcel.size();
      progress.done += parcel.size();
      if (options_.progress) options_.progress(progress);
    });
    report_.chunks = static_cast<std::int64_t>(records_.list().size());
    for (std::size_t p = 0; p < plans.size(); ++p) {
      std::uint64_t offset = 0;
      for (const std::size_t i : plans[p]) {
        Record& record = records_.list()[i];
        record.parcel = names[p];
        record.offset = offset;
        offset += record.bytes();
        ++report_.chunks_sent;
      }
      parcels_[names[p]].bytes = offset;
    }
  }

  /// Whether the object was sent: it may have been left by an attempt that was killed. If that is
  /// long ago it may be about to be removed, and is written again.
  bool ensure(const std::string& key, std::span<const std::byte> content, const Listing& listing,
              const std::string& name) {
    const auto known = listing.find(name);
    if (known == listing.end()) {
      if (objects_.put_if_absent(key, content)) return true;
      // Somebody else was at it at the same time, or the list was old.
      const auto info = objects_.head(key);
      if (info && info->bytes == content.size() && is_fresh(*info)) return false;
    } else if (known->second.bytes == content.size() && is_fresh(known->second)) {
      return false;
    }
    objects_.put(key, content);
    return true;
  }

  static bool is_fresh(const ObjectInfo& object) {
    return object.modified_us > store::now_us() - kFreshUs;
  }

  void write_catalog() {
    Connection& to = catalog_.connection();
    std::map<std::string, std::uint64_t> sizes;
    RemoteRun& run = report_.run;
    for (const Record& record : records_.list()) {
      sizes[record.parcel] = parcels_.at(record.parcel).bytes;
      run.stored_bytes += record.bytes();
    }
    store::Transaction transaction(to);
    put_records(to, records_, sizes);
    for (const Content& content : checkpoints_) {
      put_checkpoint(to, target_, content);
      run.raw_bytes += static_cast<std::uint64_t>(content.raw_bytes);
    }
    for (const Content& content : discarded_) put_discarded(to, target_, content);
    for (const Content& content : objects_here_) put_object(to, content);
    run.checkpoints = static_cast<std::int64_t>(checkpoints_.size());
    to("UPDATE run SET checkpoints = ?2, raw_bytes = ?3 WHERE id = ?1", target_, run.checkpoints,
       static_cast<std::int64_t>(run.raw_bytes))
        ->run();
    transaction.commit();
    sealed_ = catalog_.seal();
    run.catalog = sha256_hex(sealed_);
    run.catalog_bytes = sealed_.size();
  }

  bool is_unchanged() const {
    if (!previous_ || report_.parcels_sent > 0) return false;
    RemoteRun now = report_.run;
    now.sequence = previous_->sequence;
    now.spooled_us = previous_->spooled_us;
    return print_manifest(now) == print_manifest(*previous_);
  }

  void write_manifest() {
    RemoteRun& run = report_.run;
    if (is_unchanged()) {
      run = *previous_;
      return;
    }
    if (ensure(catalog_key(run.catalog), sealed_, {}, "")) report_.facts_sent += sealed_.size();
    run.sequence = previous_ ? previous_->sequence + 1 : 1;
    run.spooled_us = store::now_us();
    const std::string manifest = print_manifest(run);
    const auto bytes = std::as_bytes(std::span(manifest));
    if (!objects_.put_if_absent(manifest_key(run.key, run.sequence), bytes)) throw Overtaken();
    report_.facts_sent += bytes.size();
    report_.changed = true;
    check_parcels();
    check_manifest();
    remove_old_manifests();
  }

  /// Now that they are referred to nobody removes them any more; but somebody may have.
  void check_parcels() {
    const std::string catalog = catalog_key(report_.run.catalog);
    if (!objects_.head(catalog)) objects_.put(catalog, sealed_);
    const Listing there = list_parcels(objects_);
    for (const Record& record : records_.list()) {
      if (!there.contains(record.parcel)) throw Overtaken();
    }
  }

  /// A server that cannot refuse to replace an object may have taken another writer's for this one.
  void check_manifest() {
    const auto latest = latest_manifest(objects_, run_.key);
    if (!latest ||
        (latest->sequence == report_.run.sequence && latest->catalog != report_.run.catalog)) {
      throw Overtaken();
    }
  }

  /// The one before stays: somebody may be reading it.
  void remove_old_manifests() {
    for (const ObjectInfo& object : objects_.list(fmt::format("{}{}/", kRuns, run_.key))) {
      const auto name = parse_manifest_key(object.key);
      if (name && name->sequence < report_.run.sequence - 1) objects_.remove(object.key);
    }
  }

  store::Database& database_;
  const store::Run& run_;
  ObjectStore& objects_;
  const TransferOptions& options_;
  std::filesystem::path cache_;
  RecordSource source_;
  NewCatalog catalog_;
  std::int64_t target_ = 0;  ///< the run in it
  std::optional<RemoteRun> previous_;
  std::optional<RunCatalog> previous_catalog_;
  Listing parcels_;
  std::vector<Content> checkpoints_, discarded_, objects_here_;
  Records records_;
  std::vector<std::size_t> ends_;  ///< of checkpoints, in the records
  std::size_t only_there_ = 0;     ///< so many records, the first, have no copy here
  std::vector<Record> here_;       ///< the same records where they lie in the packs
  std::int64_t missing_ = 0;
  std::vector<std::byte> sealed_;
  SpoolReport report_;
};

}  // namespace

SpoolReport spool(store::Store& store, const store::Run& run, ObjectStore& objects,
                  const TransferOptions& options) {
  const auto use = store.use_run(run.key);
  for (int tries = 1;; ++tries) {
    try {
      return Spooling(store, run, objects, options)();
    } catch (const Overtaken&) {
      if (tries == kTries) {
        throw Busy(
            fmt::format("others keep changing run {} in {}: try again", run.key, objects.url()));
      }
    } catch (const Moved&) {
      if (tries == kTries) throw Busy("the store's packs keep changing: try again");
    }
  }
}

}  // namespace flor::remote
