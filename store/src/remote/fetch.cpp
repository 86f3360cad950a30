// Implements `fetch`: downloads the content of a run that the store lacks, and then enters the run.
#include "base/worker_pool.h"
#include "codec/decode_scratch.h"
#include "database/database.h"
#include "database/rows.h"
#include "database/store_impl.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/catalog/labels.h"
#include "index/copies/fetched_replays.h"
#include "index/copies/row_copy.h"
#include "index/copies/run_image.h"
#include "index/values/logged_evaluations.h"
#include "index/values/metric_rows.h"
#include "index/writing.h"
#include "pack/pack_rows.h"
#include "pack/pack_writer.h"
#include "remote/chunk_proof.h"
#include "remote/contents.h"
#include "remote/facts/evaluation_rows.h"
#include "remote/facts/run_catalog.h"
#include "remote/facts/run_comparison.h"
#include "remote/facts/run_progress.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/parcels.h"
#include "remote/objects/sha256.h"
#include "remote/remote.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>

namespace flor::remote {
namespace {

using store::Connection;
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr int kTries = 5;

/// Records are made durable in batches of about this many bytes. A killed fetch loses at most one
/// batch.
constexpr std::uint64_t kBatchBytes = std::uint64_t{256} << 20;

/// A part of a parcel to download, and the records in it: indices into a list, ordered by offset.
struct FetchRequest {
  std::string parcel;
  std::uint64_t begin = 0, end = 0;
  bool whole = false;
  std::vector<std::size_t> records;
};

/// Returns the requests for one batch of records.
std::vector<FetchRequest> plan_requests(const std::vector<Record>& records,
                                        std::span<const std::size_t> batch,
                                        const std::map<std::string, std::uint64_t>& parcel_bytes) {
  std::map<std::string, std::vector<std::size_t>> by_parcel;
  for (const std::size_t i : batch) by_parcel[records[i].parcel].push_back(i);
  std::vector<FetchRequest> requests;
  for (auto& [parcel, list] : by_parcel) {
    std::ranges::sort(list, {}, [&](std::size_t i) { return records[i].offset; });
    std::uint64_t wanted = 0;
    for (const std::size_t i : list) wanted += records[i].bytes();
    const std::uint64_t all = parcel_bytes.at(parcel);
    if (wanted == all) {
      requests.push_back({parcel, 0, all, true, std::move(list)});
      continue;
    }
    // Adjacent records are read with one request; gaps of unwanted bytes are not read.
    for (const std::size_t i : list) {
      const std::uint64_t begin = records[i].offset, end = begin + records[i].bytes();
      FetchRequest* last = requests.empty() ? nullptr : &requests.back();
      const bool joins =
          last && last->parcel == parcel && begin <= last->end && end - last->begin <= kParcelBytes;
      if (!joins) {
        requests.push_back({parcel, begin, end, false, {i}});
      } else {
        last->end = std::max(last->end, end);
        last->records.push_back(i);
      }
    }
  }
  return requests;
}

/// Returns the CPU time of this thread in seconds.
double thread_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Which facts of a run a fetch changes.
enum class Takes : std::uint8_t {
  nothing,
  replays,  ///< findings of replays elsewhere; the most that a run recorded here receives
  all,      ///< everything: the run is new, was fetched before, or counts as fetched from now on
};

class Fetching {
 public:
  Fetching(store::Store& store, ObjectStore& objects, const RemoteRun& run,
           const FetchOptions& options)
      : store_(store),
        database_(*store.impl().database),
        objects_(objects),
        options_(options),
        catalog_(objects, run, catalog_cache(store.home())),
        reader_(catalog_.connection(), catalog_.run()),
        packs_(database_.paths, database_.files, store::PackOrigin::elsewhere) {
    report_.run = run;
  }

  FetchReport operator()() {
    // The lock keeps recorders out. The use prevents that content which comes back is collected.
    auto lock = store_.lock_run(report_.run.key);
    if (!lock) throw Busy(fmt::format("run {} is being recorded or fetched here", report_.run.key));
    const auto use = store_.use_run(report_.run.key);
    check_contradiction();
    choose();
    for (int tries = 1;; ++tries) {
      receive();
      if (commit()) return std::move(report_);
      if (tries == kTries) {
        throw Busy("flor gc keeps removing what is being fetched: try again");
      }
    }
  }

 private:
  void choose() {
    checkpoints_ = reader_.checkpoints();
    first_ = nearest_state(options_.first_epoch.value_or(0));
    std::erase_if(checkpoints_, [&](Content& content) {
      if (is_wanted(content)) return false;
      unwanted_.push_back(std::move(content));
      return true;
    });
    if (options_.objects) objects_wanted_ = reader_.objects();
    for (const auto* wanted : {&checkpoints_, &objects_wanted_}) {
      for (const Content& content : *wanted) {
        reader_.check(content);
        reader_.add_records(content.chunks, records_);
      }
    }
    const auto packs = catalog_.connection()("SELECT name, bytes FROM pack");
    while (packs->step()) {
      parcel_bytes_[packs->text(0)] = static_cast<std::uint64_t>(packs->integer(1));
    }
  }

  bool is_wanted(const Content& content) {
    if (options_.only) return std::ranges::count(*options_.only, content.key) > 0;
    if (!options_.first_epoch && !options_.last_epoch) return true;
    const std::int64_t last = options_.last_epoch.value_or(INT64_MAX - 1);
    // A boundary is the state before its epoch.
    const bool at_edge =
        content.key.kind == store::CheckpointKind::boundary || content.key.loop.ends_with("@begin");
    const std::int64_t epoch = epoch_of(content);
    return epoch >= first_ && epoch <= (at_edge ? last + 1 : last);
  }

  /// Returns the epoch of a checkpoint, counted over all main loops.
  std::int64_t epoch_of(const Content& content) {
    const auto loop =
        catalog_.connection()("SELECT first_epoch FROM main_loop WHERE run = ?1 AND ordinal = ?2",
                              catalog_.run(), content.key.main_loop);
    return (loop->step() ? loop->integer(0) : 0) + content.key.iteration;
  }

  /// Returns the epoch where a replay would begin: that of the last stored state that is not after
  /// epoch `first`.
  std::int64_t nearest_state(std::int64_t first) {
    std::int64_t nearest = 0;
    for (const Content& content : checkpoints_) {
      if (content.key.kind != store::CheckpointKind::boundary) continue;
      const std::int64_t epoch = epoch_of(content);
      if (epoch <= first) nearest = std::max(nearest, epoch);
    }
    return nearest;
  }

  std::optional<std::int64_t> local_run() {
    const auto row = database_.connection("SELECT id FROM run WHERE key = ?1", report_.run.key);
    if (!row->step()) return std::nullopt;
    return row->integer(0);
  }

  /// Returns the depth that a record will have here, where its base may be stored in another form.
  std::uint8_t depth_here(const Record& record) const { return depths_.at(record.digest); }

  /// Returns which records are missing here, and computes the depths that they will have.
  std::vector<std::size_t> missing() {
    std::vector<std::size_t> list;
    const Lock lock(database_.mutex);
    depths_.clear();
    for (std::size_t i = 0; i < records_.list().size(); ++i) {
      const Record& record = records_.list()[i];
      const auto row = database_.connection("SELECT depth, raw_bytes FROM chunk WHERE digest = ?1",
                                            record.digest);
      if (row->step()) {
        if (row->integer(1) != record.raw_bytes) {
          throw Damaged(
              fmt::format("run {} in {} gives the chunk {} another length than it has here: "
                          "it was not taken over",
                          report_.run.key, objects_.url(), record.digest.hex()));
        }
        depths_[record.digest] = static_cast<std::uint8_t>(row->integer(0));
        continue;
      }
      const int depth = record.has_base() ? depths_.at(record.base) + 1 : 0;
      if (depth > kDepthMax) {
        throw Error(
            fmt::format("run {} builds upon content that is archived here in chains that "
                        "are too long: fetch it to another store (--home)",
                        report_.run.key));
      }
      depths_[record.digest] = static_cast<std::uint8_t>(depth);
      list.push_back(i);
    }
    return list;
  }

  /// Reads a chunk of the local store, to decode records that build on it.
  bool read_here(const Digest& digest, std::span<std::byte> raw) {
    store::ChunkReader reader(database_.paths, database_.files);
    std::uint32_t id = 0;
    {
      const Lock lock(database_.mutex);
      const auto row = database_.connection("SELECT id FROM chunk WHERE digest = ?1", digest);
      if (!row->step()) return false;
      id = static_cast<std::uint32_t>(row->integer(0));
      reader.load_rows(database_.connection, std::span(&id, 1));
    }
    if (reader.row(id).raw_bytes != raw.size()) return false;
    store::DecodeScratchPool::Lease scratch(scratch_);
    try {
      reader.read(*scratch, id, raw);
    } catch (const store::PackMissing&) {
      throw Busy("flor gc or flor archive changes what is being fetched: try again");
    }
    return true;
  }

  [[noreturn]] void throw_flaw(const Record& record, const std::string& why) const {
    throw Damaged(fmt::format("{}/{} is damaged: the record at offset {}: {}", objects_.url(),
                              parcel_key(record.parcel), record.offset, why));
  }

  void receive() {
    const std::vector<std::size_t> list = missing();
    ChunkProof proof(
        catalog_cache(store_.home()),
        [&](const Digest& digest, std::span<std::byte> raw) { return read_here(digest, raw); },
        [&](const Record& record, const std::string& why) { throw_flaw(record, why); });
    for (const std::size_t i : list) proof.expect(records_.list()[i]);
    taken_ = 0;
    for (const std::size_t i : list) progress_.all += records_.list()[i].bytes();
    for (std::size_t begin = 0; begin < list.size();) {
      std::size_t end = begin;
      for (std::uint64_t bytes = 0; end < list.size() && bytes < kBatchBytes; ++end) {
        bytes += records_.list()[list[end]].bytes();
      }
      receive(std::span(list).subspan(begin, end - begin), proof);
      begin = end;
    }
  }

  /// Downloads a batch, in which records come after their bases, unless those are here already.
  /// Rows are added only after all records were decoded and match their digests.
  void receive(std::span<const std::size_t> batch, ChunkProof& proof) {
    const std::vector<FetchRequest> requests = plan_requests(records_.list(), batch, parcel_bytes_);
    std::map<std::size_t, store::RecordPlace> places;
    std::mutex mutex;
    bool committing = false;
    try {
      store::WorkerPool(options_.threads, nullptr).for_each(requests.size(), [&](std::size_t i) {
        const FetchRequest& request = requests[i];
        const std::vector<std::byte> bytes = read(request);
        const double begun = thread_seconds();
        for (const std::size_t number : request.records) {
          const Record& record = records_.list()[number];
          proof.take(record, std::span(bytes).subspan(record.offset - request.begin));
        }
        const double spent = thread_seconds() - begun;
        const std::lock_guard lock(mutex);
        report_.proof_seconds += spent;
        for (const std::size_t record : request.records) {
          const std::uint64_t at = records_.list()[record].offset - request.begin;
          places[record] = append(records_.list()[record], std::span(bytes).subspan(at));
          ++report_.chunks_received;
        }
        report_.bytes_received += bytes.size();
        progress_.done = std::min(progress_.all, progress_.done + bytes.size());
        if (options_.progress) options_.progress(progress_);
      });
      taken_ += batch.size();
      if (proof.proven() != taken_) {
        throw Damaged(
            fmt::format("run {} in {} builds upon content that is neither there nor here: "
                        "it was not taken over",
                        report_.run.key, objects_.url()));
      }
      packs_.sync();
      const Lock lock(database_.mutex);
      store::Transaction transaction(database_.connection);
      const std::vector<std::int64_t> rows = put_pack_rows(database_.connection, packs_);
      for (const std::size_t i : batch) put_chunk(records_.list()[i], places.at(i), rows);
      committing = true;
      transaction.commit();
      packs_.committed();
    } catch (...) {
      packs_.roll_back(committing);
      throw;
    }
  }

  std::vector<std::byte> read(const FetchRequest& request) {
    const std::string key = parcel_key(request.parcel);
    const std::string where = fmt::format("{}/{}", objects_.url(), key);
    std::vector<std::byte> bytes =
        request.whole ? objects_.get(key, request.end)
                      : objects_.get_range(key, request.begin, request.end - request.begin);
    if (request.whole && sha256_hex(bytes) != request.parcel) {
      throw Damaged(fmt::format("{} is damaged: its content does not have its SHA-256", where));
    }
    for (const std::size_t i : request.records) {
      const Record& record = records_.list()[i];
      check_record(record, std::span<const std::byte>(bytes).subspan(record.offset - request.begin),
                   where);
    }
    return bytes;
  }

  store::RecordPlace append(const Record& record, std::span<const std::byte> bytes) {
    store::RecordHeader header =
        store::decode_record_header(bytes.first<store::kRecordHeaderBytes>()).value();
    header.depth = depth_here(record);
    return packs_.append(header, bytes.subspan(store::kRecordHeaderBytes, record.stored_bytes));
  }

  void put_chunk(const Record& record, const store::RecordPlace& place,
                 const std::vector<std::int64_t>& packs) {
    // If another process has stored the same content meanwhile, that is used, and this record is
    // garbage.
    const auto insert = database_.connection(
        "INSERT OR IGNORE INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, type, "
        "depth, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, CASE WHEN ?8 > 0 THEN (SELECT id "
        "FROM "
        "chunk WHERE digest = ?9 AND depth < ?8) END)",
        record.digest, packs.at(packs_.number_of(place)), static_cast<std::int64_t>(place.offset),
        std::int64_t{record.raw_bytes}, std::int64_t{record.stored_bytes},
        std::int64_t{record.codec}, static_cast<std::int64_t>(record.type),
        std::int64_t{depth_here(record)}, record.base);
    insert->run();
    if (insert->changes() > 0) {
      database_
          .connection("INSERT OR IGNORE INTO foreign_chunk (chunk) VALUES (?1)",
                      database_.connection.last_id())
          ->run();
    }
    const auto row = database_.connection(
        "SELECT depth > 0 AND base IS NULL FROM chunk WHERE digest = ?1", record.digest);
    if (!row->step() || row->integer(0) != 0) {
      throw Busy("flor archive or flor gc changes what is being fetched: try again");
    }
  }

  /// Returns false if content that is needed was collected meanwhile.
  bool commit() {
    store::Writing writing(database_);
    database_.require_content();
    Connection& to = database_.connection;
    for (const Record& record : records_.list())
      if (!to("SELECT 1 FROM chunk WHERE digest = ?1", record.digest)->step()) return false;
    std::optional<std::int64_t> run = local_run();
    report_.added = !run;
    const Takes takes = report_.added ? Takes::all : takes_of(*run);
    const bool replaces = takes == Takes::all;
    const store::RunOrigin origin{store::RunOrigin::Kind::fetched, objects_.url(), store::now_us()};
    if (replaces) {
      if (run) forget_checkpoints(*run);
      const std::int64_t leads = leader();
      if (options_.take_over) {
        if (run) count_as_fetched(writing, *run, origin);
        if (leads != 0) count_as_fetched(writing, leads, origin);
      }
      run = store::take_facts(catalog_.connection(), catalog_.run(), database_, leads, origin);
    } else if (takes == Takes::replays) {
      store::merge_replays(catalog_.connection(), catalog_.run(), database_, *run, origin);
    }
    if (takes != Takes::nothing) store::recount_metrics(database_, *run);
    restored_objects_.clear();
    for (const Content& content : objects_wanted_) {
      if (put_object(to, content)) restored_objects_.push_back(content);
    }
    if (replaces && !options_.objects) note_absent_objects(to);
    for (const Content& content : checkpoints_) restore(*run, content, replaces);
    if (replaces) {
      for (Content& content : unwanted_) {
        content.discarded_us = store::now_us();
        put_discarded(to, *run, content);
      }
      for (const Content& content : reader_.discarded()) {
        if (!kept_.contains(content.name())) put_discarded(to, *run, content);
      }
    }
    Evaluations evaluations;
    add_evaluations(catalog_.connection(), catalog_.run(), evaluations);
    const auto taken = evaluations_to_take(database_, *run, evaluations);
    store::enter_evaluations(to, taken);
    store::recount_checkpoints(to, *run);
    const bool only_adds = only_adds_checkpoints();
    if (!only_adds) store::take_labels(catalog_.connection(), catalog_.run(), to, *run);
    if (!options_.only) store::bring_back_fetched(writing, *run);
    note(writing, *run, takes, origin);
    log(taken);
    writing.commit();
    return true;
  }

  /// Logs the results before the run is entered. If that fails, they do not count.
  void log(const std::vector<store::EvaluationEvent>& taken) {
    store::EvaluationLog log(database_.files, database_.paths);
    for (const store::EvaluationEvent& event : taken) log.append(event);
    log.sync();
  }

  /// Writes the events of the fetch to the run's journal.
  void note(store::Writing& writing, std::int64_t run, Takes takes,
            const store::RunOrigin& origin) {
    Connection& here = database_.connection;
    if (takes == Takes::replays) {
      writing.note(run,
                   store::MergeEvent{origin, store::image_of(catalog_.connection(), catalog_.run(),
                                                             store::ImageOf::none)});
    }
    if (store::is_of_here(here, run)) {
      note_restored(writing, run);
    } else {
      store::CopyEvent copy = store::copy_event(here, run);
      copy.leader = report_.run.leader;
      writing.note(run, copy);
    }
  }

  /// Adds events for checkpoints and objects that a run recorded here received again.
  void note_restored(store::Writing& writing, std::int64_t run) {
    const ContentReader reader(database_.connection, run);
    std::map<Content::Name, Content> here;
    for (Content& content : reader.checkpoints()) {
      Content::Name name = content.name();
      here.emplace(std::move(name), std::move(content));
    }
    for (const Content::Name& name : restored_) {
      const auto found = here.find(name);
      if (found == here.end()) continue;
      const Content& content = found->second;
      store::CheckpointEvent event;
      event.info = {.id = 0,
                    .key = content.key,
                    .raw_bytes = static_cast<std::uint64_t>(content.raw_bytes),
                    .stored_bytes = 0,
                    .created_us = content.created_us,
                    .digest = content.digest};
      event.layout = content.layout;
      event.items = *content.items;
      event.chunks = content.chunks;
      event.foreign = true;
      writing.note(run, event);
    }
    for (const Content& content : restored_objects_) {
      writing.note(run,
                   store::ObjectEvent{.digest = content.digest,
                                      .raw_bytes = static_cast<std::uint64_t>(content.raw_bytes),
                                      .stored_bytes = 0,
                                      .items = *content.items,
                                      .chunks = content.chunks,
                                      .packs = {},
                                      .foreign = true});
    }
  }

  /// Notes which logged objects of the run are not here, and where they are.
  void note_absent_objects(Connection& to) {
    for (const Content& content : reader_.objects()) {
      to("INSERT OR IGNORE INTO absent_object (digest, place) SELECT ?1, ?2 WHERE NOT EXISTS "
         "(SELECT "
         "1 FROM object WHERE digest = ?1)",
         content.digest, objects_.url())
          ->run();
    }
  }

  /// Called before anything is downloaded.
  void check_contradiction() {
    const Lock lock(database_.mutex);
    if (const auto run = local_run()) {
      takes_of(*run);
    } else {
      leader();
    }
  }

  /// True if only some checkpoints of a run that is here are fetched, for a replay that waits for
  /// them.
  bool only_adds_checkpoints() const { return options_.only && !options_.only->empty(); }

  /// Returns which facts the catalog has that the run here lacks. Throws Error if each side lacks
  /// something of the other, if they contradict each other, or if the run was recorded here and
  /// continued elsewhere.
  Takes takes_of(std::int64_t run) {
    if (only_adds_checkpoints()) return Takes::nothing;
    const RunProgress here(database_.connection, run);
    const RunProgress there(catalog_.connection(), catalog_.run());
    const bool is_older = there.is_ahead_of(here) && !here.is_ahead_of(there);
    const bool is_own = store::is_of_here(database_.connection, run);
    const std::string differs = contradiction({database_.connection, run},
                                              {catalog_.connection(), catalog_.run()}, is_older);
    if (!differs.empty()) {
      throw Error(
          fmt::format("run {} in {} contradicts the one here: {}: nothing was changed here; to "
                      "look at that one, "
                      "fetch it to another store (--home)",
                      report_.run.key, objects_.url(), differs));
    }
    if (is_own && there.is_further_than(here) && !options_.take_over) throw_went_on(here, there);
    if (!there.is_ahead_of(here)) return Takes::nothing;
    if (is_older) return is_own && !there.is_further_than(here) ? Takes::replays : Takes::all;
    throw Error(fmt::format(
        "run {} has gone on, or was replayed, both here and in {}: fetch it to another store "
        "(--home), or spool it to another place",
        report_.run.key, objects_.url()));
  }

  [[noreturn]] void throw_went_on(const RunProgress& here, const RunProgress& there) const {
    const bool more = there.epochs() > here.epochs();
    throw Error(fmt::format(
        "run {} was recorded here, and {} in {}: nothing was changed here; to look at that one, "
        "fetch it to another store (--home), or let the run here count as fetched, with "
        "--take-over",
        report_.run.key,
        there.was_resumed_after(here) ? "was resumed elsewhere, as it is"
        : more                        ? fmt::format("has {} epoch{} instead of {}", there.epochs(),
                             there.epochs() == 1 ? "" : "s", here.epochs())
                                      : "has more",
        objects_.url()));
  }

  /// Makes the run and its group count as fetched. The user has allowed this, so that facts
  /// recorded elsewhere can enter them.
  void count_as_fetched(store::Writing& writing, std::int64_t run, const store::RunOrigin& origin) {
    Connection& to = database_.connection;
    std::vector<std::int64_t> members{run};
    const auto ranks = to(
        "SELECT run FROM rank_run WHERE leader = ?1 OR leader = (SELECT leader FROM rank_run WHERE "
        "run = ?1)",
        run);
    while (ranks->step()) members.push_back(ranks->integer(0));
    for (const std::int64_t member : members) {
      if (store::is_of_here(to, member)) writing.add(member, store::OriginEvent{origin});
    }
  }

  /// Called before the facts of the run are replaced. Keeps only checkpoints that the catalog has
  /// or had at the same place; others belong to a course that the run left when it was resumed.
  void forget_checkpoints(std::int64_t run) {
    Connection& to = database_.connection;
    std::map<Content::Place, Digest> there;
    for (const Content& content : reader_.checkpoints()) there[content.place()] = content.digest;
    std::set<Content::Name> once;
    for (const Content& content : reader_.discarded()) once.insert(content.name());
    for (const Content& content : ContentReader(to, run).checkpoints()) {
      const auto now = there.find(content.place());
      if (now != there.end() ? now->second == content.digest : once.contains(content.name())) {
        kept_.insert(content.name());
      } else {
        to("DELETE FROM checkpoint WHERE id = ?1", content.id)->run();
      }
    }
    std::erase_if(unwanted_,
                  [&](const Content& content) { return kept_.contains(content.name()); });
    to("DELETE FROM discarded WHERE run = ?1", run)->run();
  }

  /// Returns the id of rank 0's run in the group of this rank; 0 without a group. Throws Error if
  /// that run was recorded here, or if its group already has another run of this rank.
  std::int64_t leader() {
    const RemoteRun& run = report_.run;
    check_rank();
    if (run.leader.empty()) return 0;
    Connection& to = database_.connection;
    const auto row = to("SELECT id FROM run WHERE key = ?1", run.leader);
    if (!row->step()) {
      throw NotFound(fmt::format("run {} is a rank of the group of run {}: fetch that first",
                                 run.key, run.leader));
    }
    const std::int64_t group = row->integer(0);
    const std::string claim =
        fmt::format("run {} in {} says that it is rank {} of the group of run {}", run.key,
                    objects_.url(), run.rank, run.leader);
    if (store::is_of_here(to, group) && !options_.take_over) {
      throw Error(fmt::format(
          "{}, which was recorded here: nothing was changed here; fetch both to another store "
          "(--home), or let that group count as fetched, with --take-over",
          claim));
    }
    const auto other = to(
        "SELECT key FROM rank_run JOIN run ON run.id = rank_run.run WHERE leader = ?1 AND rank = "
        "?2 AND key <> ?3",
        group, run.rank, run.key);
    if (!other->step()) return group;
    throw Error(fmt::format(
        "{}, as run {} here does: nothing was changed here; fetch it to another store (--home)",
        claim, other->text(0)));
  }

  /// Throws unless manifest and catalog agree about the run's place in its group.
  void check_rank() {
    const RemoteRun& run = report_.run;
    const auto row = catalog_.connection()("SELECT leader = run, rank FROM rank_run WHERE run = ?1",
                                           catalog_.run());
    const bool has_place = row->step(), leads = has_place && row->integer(0) != 0;
    const bool agree = run.leader.empty()
                           ? run.rank == 0 && (!has_place || (leads && row->integer(1) == 0))
                           : has_place && !leads && run.rank > 0 && row->integer(1) == run.rank;
    if (agree) return;
    throw Damaged(
        fmt::format("run {} in {} contradicts itself about its place in a group of ranks: it was "
                    "not fetched; spool it again from where it was recorded",
                    run.key, objects_.url()));
  }

  void restore(std::int64_t run, const Content& content, bool replaced) {
    Connection& to = database_.connection;
    const auto kind = static_cast<std::int64_t>(content.key.kind);
    const auto there =
        to("SELECT digest FROM checkpoint WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND "
           "iteration = ?4 AND loop = ?5",
           run, kind, content.key.main_loop, content.key.iteration, content.key.loop);
    if (there->step()) return;  // the same state, or a later one, is here
    if (!replaced && !is_known(run, content)) return;
    put_checkpoint(to, run, content);
    restored_.insert(content.name());
    ++report_.checkpoints;
    to("DELETE FROM discarded WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND iteration = ?4 "
       "AND loop = ?5 AND digest = ?6",
       run, kind, content.key.main_loop, content.key.iteration, content.key.loop, content.digest)
        ->run();
  }

  /// True if the local run has had this checkpoint; otherwise the run took another course here.
  bool is_known(std::int64_t run, const Content& content) {
    return database_
        .connection(
            "SELECT 1 FROM discarded WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND iteration "
            "= ?4 AND loop = ?5 AND digest = ?6",
            run, static_cast<std::int64_t>(content.key.kind), content.key.main_loop,
            content.key.iteration, content.key.loop, content.digest)
        ->step();
  }

  store::Store& store_;
  store::Database& database_;
  ObjectStore& objects_;
  const FetchOptions& options_;
  RunCatalog catalog_;
  ContentReader reader_;
  store::PackWriter packs_;
  std::vector<Content> checkpoints_, unwanted_, objects_wanted_;
  Records records_;
  std::set<Content::Name> restored_;
  std::vector<Content> restored_objects_;
  std::set<Content::Name> kept_;  ///< checkpoints that existed before the facts were replaced
  std::int64_t first_ = 0;        ///< first epoch whose checkpoints are wanted
  std::map<std::string, std::uint64_t> parcel_bytes_;
  std::unordered_map<Digest, std::uint8_t> depths_;
  store::DecodeScratchPool scratch_;
  std::size_t taken_ = 0;  ///< number of records that arrived in this attempt
  TransferProgress progress_;
  FetchReport report_;
};

}  // namespace

FetchReport fetch(store::Store& store, ObjectStore& objects, const RemoteRun& run,
                  const FetchOptions& options) {
  return Fetching(store, objects, run, options)();
}

}  // namespace flor::remote
