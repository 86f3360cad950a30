// Runs in an object store: spooled there, looked at, fetched back, thinned out.
// docs/internals/protocols.md describes the objects.
#pragma once

#include "remote/objects/object_store.h"

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>
#include <flor/store/ranking.h>
#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::remote {

/// The manifest of a run.
struct RemoteRun {
  std::string key;         ///< of the run: 16 hex digits
  std::string experiment;  ///< its NAME
  std::string state;       ///< when it was spooled: finished, failed, running or interrupted
  std::int64_t started_us = 0;
  std::int64_t spooled_us = 0;
  std::int64_t epochs = 0;
  std::int64_t checkpoints = 0;
  std::uint64_t raw_bytes = 0;     ///< of these checkpoints
  std::uint64_t stored_bytes = 0;  ///< records that they need
  std::string leader;              ///< of one rank of a group: key of rank 0's run; else empty
  std::int64_t rank = 0, world = 1;
  std::int64_t sequence = 0;  ///< counts the manifests of the run
  std::string catalog;        ///< SHA-256 of the catalog object, in hex
  std::uint64_t catalog_bytes = 0;

  bool operator==(const RemoteRun&) const = default;
};

/// How far a transfer is; called from several threads, one at a time.
struct TransferProgress {
  std::uint64_t done = 0, all = 0;  ///< bytes of content
};
using OnProgress = std::function<void(const TransferProgress&)>;

struct TransferOptions {
  unsigned threads = 8;  ///< requests at once
  OnProgress progress = {};
};

struct SpoolOptions : TransferOptions {
  /// Checks the run's objects there first, and sends damaged parcels again.
  bool repair = false;
};

struct SpoolReport {
  RemoteRun run;
  bool changed = false;            ///< a new manifest was written
  std::int64_t chunks = 0;         ///< that the run needs
  std::int64_t chunks_sent = 0;    ///< of these, not found there
  std::int64_t parcels_sent = 0;   ///< objects with these
  std::int64_t parcels_found = 0;  ///< that an earlier attempt had left there
  std::uint64_t bytes_sent = 0;    ///< in parcels
  std::uint64_t facts_sent = 0;    ///< bytes of the catalog and the manifest
  std::int64_t damaged = 0;        ///< parcels that were found missing or damaged there
  /// Checkpoints and objects that are damaged there, and not here to be sent again.
  std::int64_t lost = 0;
};

/// Uploads a run to the object store: its facts, its checkpoints and the tensors it logged. Content
/// that is there already is not sent again, whichever run brought it. The manifest is written last,
/// so that a reader sees the run as it was before or as it is now. A spool that dies in between
/// leaves parcels that the next attempt finds, or `prune` removes. A checkpoint that was deleted
/// here stays there, and one that was deleted there is not sent again. May be called while the run
/// is recorded, and by any number of processes. Throws Error if the run there has something that
/// the one here lacks (fetch it first), Damaged where the store is.
SpoolReport spool(store::Store& store, const store::Run& run, ObjectStore& objects,
                  const SpoolOptions& options);

struct FetchOptions : TransferOptions {
  /// Epochs that are wanted, both included: the state before the first, or the nearest one before
  /// that if it was not stored, the ends of nested loops from there on, and the state after each.
  /// Absent: all checkpoints.
  std::optional<std::int64_t> first_epoch, last_epoch;
  /// Only these checkpoints, whatever their epochs.
  std::optional<std::vector<store::CheckpointKey>> only;
  bool objects = true;  ///< tensors and images that were logged, too
  /// Fetches what another machine added to a run that was recorded here, or to its group: the run
  /// counts as fetched from then on, with all ranks of its group.
  bool take_over = false;
};

struct FetchReport {
  RemoteRun run;
  bool added = false;                ///< the run was not known here
  std::int64_t checkpoints = 0;      ///< that came
  std::int64_t chunks_received = 0;  ///< that were not here
  std::uint64_t bytes_received = 0;  ///< in parcels, or parts of them
  /// Processor time of all threads that decoded received records and compared their digests.
  double proof_seconds = 0;
};

/// Downloads a run: its facts, and the wanted checkpoints; all others count as deleted and can be
/// fetched later. Content that is here is not received again. The run and its checkpoints appear in
/// one transaction, when their content is durable; a fetch that dies before leaves content that the
/// next attempt finds, or `flor gc` collects. A run that was recorded here gets its own checkpoints
/// and logged tensors, and what replays and evaluations elsewhere found, marked as such; never what
/// was recorded elsewhere, unless `take_over` is set. Throws Damaged where arriving content does
/// not match its checksums, Busy while the run is recorded here, Error if the run here is ahead of
/// the one there, or was recorded here and continued there.
FetchReport fetch(store::Store& store, ObjectStore& objects, const RemoteRun& run,
                  const FetchOptions& options);

/// One run by its key. Throws NotFound if it is not there, Damaged if its manifest is.
RemoteRun choose_run(ObjectStore& objects, std::string_view key);

/// A run whose manifest is damaged, or of a newer Flor.
struct UnreadableRun {
  std::string key;
  std::string why;  ///< a line with the remedy
  bool damaged = true;
};
struct RunList {
  std::vector<RemoteRun> runs;  ///< the newest first
  std::vector<UnreadableRun> unreadable;
  bool empty() const { return runs.empty() && unreadable.empty(); }
};

/// The source of the runs' facts. The listing takes few requests where manifests take one each; a
/// damaged manifest does not show then.
enum class RunsFrom { manifests, listing };

/// The runs that are there.
RunList list_runs(ObjectStore& objects, unsigned threads = 8, RunsFrom from = RunsFrom::manifests);

/// A store with the rows of runs in an object store and none of their content: what they recorded,
/// and which checkpoints they have. It is deleted with this object.
class RemoteFacts {
 public:
  /// `home`: of a store that keeps catalogs; empty: none does. Throws Damaged for a damaged
  /// catalog.
  RemoteFacts(ObjectStore& objects, const std::vector<RemoteRun>& runs,
              const std::filesystem::path& home);
  ~RemoteFacts();
  RemoteFacts(const RemoteFacts&) = delete;
  RemoteFacts& operator=(const RemoteFacts&) = delete;
  const std::filesystem::path& directory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct VerifyReport {
  std::vector<std::string> findings;  ///< damage, a line each; empty if all is well
  std::int64_t runs = 0, parcels = 0, chunks = 0;
  std::uint64_t bytes = 0;       ///< of the parcels
  std::uint64_t bytes_read = 0;  ///< of these, read
};

/// Checks that the runs are complete: each catalog has its digest, and each parcel is there in its
/// length. With `read_data` reads every parcel: its SHA-256 and the checksums of its records.
VerifyReport verify(ObjectStore& objects, const std::vector<RemoteRun>& runs, bool read_data,
                    const TransferOptions& options);

struct DropReport {
  std::int64_t checkpoints = 0;  ///< that are only in the object store now
  std::int64_t awaited = 0;      ///< that stay, since an evaluation of them is to come
  std::uint64_t freed = 0;
};

/// Deletes the checkpoints of a run here that are in the object store according to `there`, which
/// the caller has verified, and collects garbage. Those that evaluators have yet to score stay.
/// Throws Busy while the run is recorded, Error unless it, and all ranks of its group, have
/// finished.
DropReport drop_local(store::Store& store, const store::Run& run, const RemoteRun& there,
                      ObjectStore& objects);

/// Twice the hour for which spooling relies on unreferenced objects: clocks may differ.
inline constexpr std::int64_t kShortestGraceUs = std::int64_t{2} * 3600 * 1'000'000;

struct PruneOptions {
  /// Rules for the checkpoints to keep; absent: the program's own strategy, or keep all.
  std::optional<store::KeepRules> rules;
  bool whole_runs = false;  ///< removes the runs altogether
  /// How long unreferenced objects stay: a process may be about to refer to them. At least
  /// kShortestGraceUs, or 0 if no other process uses the object store.
  std::int64_t grace_us = 0;
  bool dry_run = false;
  unsigned threads = 8;
};

struct PruneReport {
  std::int64_t runs_removed = 0;
  std::int64_t checkpoints = 0;      ///< deleted
  std::int64_t objects_removed = 0;  ///< parcels, catalogs, manifests
  std::uint64_t freed = 0;
  std::int64_t waiting = 0;  ///< objects that go when the grace is over
  std::uint64_t waiting_bytes = 0;
  std::int64_t unfinished = 0;  ///< remains of objects that were not completed
  /// Failures, a line each: of single runs, or that no object is removed because a damaged run's
  /// references are unknown.
  std::vector<std::string> findings;
  bool damaged = false;  ///< one of these is damage
  bool fits = true;      ///< false: the checkpoints that must stay of a run take more than
                         ///< KeepRules::under
};

/// Deletes checkpoints of `runs` by the rules of `flor keep`, groups of ranks together, then all
/// unreferenced parcels and catalogs; objects that are not named as Flor names them stay. For runs
/// to be removed as a whole the key is enough. A failure for one run does not keep the others from
/// being thinned out. Throws UsageError for a grace that is too short, or rules that make no sense.
PruneReport prune(ObjectStore& objects, const std::vector<RemoteRun>& runs,
                  const PruneOptions& options);

}  // namespace flor::remote
