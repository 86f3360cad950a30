// Runs in an object store: uploading (spool), listing, downloading (fetch), and deleting
// checkpoints (prune). docs/internals/protocols.md describes the objects.
#pragma once

#include "remote/objects/object_store.h"

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>
#include <flor/store/keep_rules.h>
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

/// A run in an object store, as its manifest describes it.
struct RemoteRun {
  std::string key;         ///< key of the run: 16 hex digits
  std::string experiment;  ///< name of its experiment
  std::string state;       ///< at the time of spooling: "finished", "failed", "running" or
                           ///< "interrupted"
  std::int64_t started_us = 0;
  std::int64_t spooled_us = 0;
  std::int64_t epochs = 0;
  std::int64_t checkpoints = 0;
  std::uint64_t raw_bytes = 0;     ///< length of these checkpoints before encoding
  std::uint64_t stored_bytes = 0;  ///< length of the records that they need
  std::string leader;              ///< for a rank of a group: key of rank 0's run; otherwise empty
  std::int64_t rank = 0, world = 1;
  std::int64_t sequence = 0;  ///< number of this manifest among those of the run
  std::string catalog;        ///< SHA-256 of the catalog object, in hex
  std::uint64_t catalog_bytes = 0;

  bool operator==(const RemoteRun&) const = default;
};

/// Progress of a transfer. The callback is called from several threads, but never concurrently.
struct TransferProgress {
  std::uint64_t done = 0, all = 0;  ///< bytes of content, done and in total
};
using OnProgress = std::function<void(const TransferProgress&)>;

struct TransferOptions {
  unsigned threads = 8;  ///< number of concurrent requests
  OnProgress progress = {};
};

struct SpoolOptions : TransferOptions {
  /// First checks the run's objects in the object store, and uploads damaged parcels again.
  bool repair = false;
};

struct SpoolReport {
  RemoteRun run;
  bool changed = false;            ///< true if a new manifest was written
  std::int64_t chunks = 0;         ///< chunks that the run needs
  std::int64_t chunks_sent = 0;    ///< those of `chunks` that the object store lacked
  std::int64_t parcels_sent = 0;   ///< parcels uploaded with these chunks
  std::int64_t parcels_found = 0;  ///< parcels that an earlier attempt had left
  std::uint64_t bytes_sent = 0;    ///< bytes of parcels
  std::uint64_t facts_sent = 0;    ///< bytes of the catalog and the manifest
  std::int64_t damaged = 0;        ///< parcels found missing or damaged in the object store
  /// Checkpoints and logged objects that are damaged in the object store and not here either.
  std::int64_t lost = 0;
};

/// Uploads a run: its facts, its checkpoints and the tensors it logged. Content that the object
/// store already has, from whichever run, is not uploaded again. The manifest is written last, so
/// that readers see the old or the new state of the run. A spool that dies leaves parcels, which
/// the next attempt reuses or `prune` removes. A checkpoint deleted here stays in the object store,
/// and one deleted there is not uploaded again. May be called while the run is recorded, and by
/// several processes at once. Throws Error if the object store has something of the run that is
/// missing here (fetch it first), Damaged if the store is damaged.
SpoolReport spool(store::Store& store, const store::Run& run, ObjectStore& objects,
                  const SpoolOptions& options);

struct FetchOptions : TransferOptions {
  /// First and last of the wanted epochs, both included. Fetched are the state before the first one
  /// (or the nearest earlier stored state), the loop ends from there on, and the state after each
  /// epoch. Absent: all checkpoints.
  std::optional<std::int64_t> first_epoch, last_epoch;
  /// Fetch only these checkpoints, regardless of epochs.
  std::optional<std::vector<store::CheckpointKey>> only;
  bool objects = true;  ///< also fetch tensors and images that were logged
  /// Also fetch what another machine added to a run that was recorded here, or to its group. All
  /// runs of the group then count as fetched.
  bool take_over = false;
};

struct FetchReport {
  RemoteRun run;
  bool added = false;                ///< the run did not exist here before
  std::int64_t checkpoints = 0;      ///< number of checkpoints fetched
  std::int64_t chunks_received = 0;  ///< chunks that were missing here
  std::uint64_t bytes_received = 0;  ///< bytes of parcels or parts of parcels
  /// CPU time in seconds of decoding received records and comparing their digests, over all
  /// threads.
  double proof_seconds = 0;
};

/// Downloads a run: its facts and the wanted checkpoints. The other checkpoints count as deleted
/// and can be fetched later. Content that exists here is not downloaded again. The run and its
/// checkpoints appear in one transaction when their content is durable. A fetch that dies leaves
/// content, which the next attempt reuses or `flor gc` collects. A run that was recorded here
/// receives its own missing checkpoints and logged tensors, and findings of replays and evaluations
/// elsewhere, marked as such. It receives nothing recorded elsewhere unless `take_over` is set.
/// Throws Damaged if received content does not match its checksums, Busy while the run is recorded
/// here, Error if the run here is newer than the one there, or was recorded here and continued
/// there.
FetchReport fetch(store::Store& store, ObjectStore& objects, const RemoteRun& run,
                  const FetchOptions& options);

/// Returns the run with this key. Throws NotFound if there is none, Damaged if its manifest is
/// damaged.
RemoteRun choose_run(ObjectStore& objects, std::string_view key);

/// A run whose manifest is damaged or was written by a newer Flor.
struct UnreadableRun {
  std::string key;
  std::string why;  ///< one line, with the remedy
  bool damaged = true;
};
struct RunList {
  std::vector<RemoteRun> runs;  ///< newest first
  std::vector<UnreadableRun> unreadable;
  bool empty() const { return runs.empty() && unreadable.empty(); }
};

/// Where the list of runs is read from. Reading manifests takes a request for each; the listing
/// takes few requests, but does not show that a manifest is damaged.
enum class RunsFrom { manifests, listing };

/// Lists the runs in the object store.
RunList list_runs(ObjectStore& objects, unsigned threads = 8, RunsFrom from = RunsFrom::manifests);

/// A temporary store with the rows, but no content, of runs in an object store: what they recorded,
/// and which checkpoints they have. The destructor deletes it.
class RemoteFacts {
 public:
  /// `home`: home of a store that caches catalogs; empty: no cache. Throws Damaged if a catalog is
  /// damaged.
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
  std::vector<std::string> findings;  ///< damage, one line each; empty if there is none
  std::int64_t runs = 0, parcels = 0, chunks = 0;
  std::uint64_t bytes = 0;       ///< total length of the parcels
  std::uint64_t bytes_read = 0;  ///< number of bytes of parcels that were read
};

/// Checks that the runs are complete: that each catalog matches its digest, and that each parcel
/// exists with its length. `read_data`: also reads every parcel, and verifies its SHA-256 and the
/// checksums of its records.
VerifyReport verify(ObjectStore& objects, const std::vector<RemoteRun>& runs, bool read_data,
                    const TransferOptions& options);

struct DropReport {
  std::int64_t checkpoints = 0;  ///< deleted here; they exist only in the object store
  std::int64_t awaited = 0;      ///< not deleted, because an evaluation of them is pending
  std::uint64_t freed = 0;
};

/// Deletes those checkpoints of a local run that, according to `there`, are in the object store,
/// and collects garbage. The caller must have verified `there`. Checkpoints that evaluators have
/// yet to score stay. Throws Busy while the run is recorded, Error if it or another rank of its
/// group has not finished.
DropReport drop_local(store::Store& store, const store::Run& run, const RemoteRun& there,
                      ObjectStore& objects);

/// Two hours. A spool relies for one hour on unreferenced objects that it has found; the second
/// hour allows for differing clocks.
inline constexpr std::int64_t kShortestGraceUs = std::int64_t{2} * 3600 * 1'000'000;

struct PruneOptions {
  /// Which checkpoints to keep; absent: the program's own strategy, or all if it has none.
  std::optional<store::KeepRules> rules;
  bool whole_runs = false;  ///< remove the runs completely
  /// How long unreferenced objects stay, in microseconds, because a process may be about to refer
  /// to them. At least kShortestGraceUs, or 0 if no other process uses the object store.
  std::int64_t grace_us = 0;
  bool dry_run = false;
  unsigned threads = 8;
};

struct PruneReport {
  std::int64_t runs_removed = 0;
  std::int64_t checkpoints = 0;      ///< number of deleted checkpoints
  std::int64_t objects_removed = 0;  ///< number of removed parcels, catalogs and manifests
  std::uint64_t freed = 0;
  std::int64_t waiting = 0;  ///< objects that can be removed when the grace period is over
  std::uint64_t waiting_bytes = 0;
  std::int64_t unfinished = 0;  ///< uncompleted uploads
  /// Failures, one line each: of single runs, or that no object was removed because a damaged run's
  /// references are unknown.
  std::vector<std::string> findings;
  bool damaged = false;  ///< at least one of the findings is damage
  bool fits = true;      ///< false: the checkpoints of a run that must be kept take more than
                         ///< KeepRules::under
};

/// Deletes checkpoints of `runs` by the rules of `flor keep`, the same ones in all ranks of a
/// group, and then removes all unreferenced parcels and catalogs. Objects whose names do not have
/// Flor's form stay. For runs that are removed completely, only `key` must be set. A failure for
/// one run does not stop the others. Throws UsageError if the grace is too short or the rules are
/// invalid.
PruneReport prune(ObjectStore& objects, const std::vector<RemoteRun>& runs,
                  const PruneOptions& options);

}  // namespace flor::remote
