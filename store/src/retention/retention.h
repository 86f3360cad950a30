// Retention: decides which checkpoints of a run are kept, deletes the others, and restores them.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/keep_rules.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// A unit that is kept or deleted as a whole. For an epoch: the boundary after it, the ends of its
/// nested loops, and the attached locals of the loops that begin at that boundary. Otherwise one
/// checkpoint that the program saved.
struct RetainedUnit {
  Candidate candidate;
  std::string name;                       ///< name of a saved checkpoint; empty for an epoch
  std::int64_t taken_us = 0;              ///< when its last checkpoint was taken, Unix microseconds
  std::vector<std::int64_t> checkpoints;  ///< ids of its checkpoints
  std::uint64_t raw_bytes = 0;
  /// Bytes that deleting this unit alone would free: its records, including headers, that no other
  /// checkpoint, logged object or base needs. 0 if sizes were not computed.
  std::uint64_t frees = 0;
  Decision decision;
};

struct RetentionReport {
  KeepRules rules;  ///< the applied rules, including the implied rule for the best by the run's own
                    ///< strategy
  std::vector<RetainedUnit> units;  ///< in order of time
  std::int64_t kept = 0, deleted = 0;
  /// Units that no rule keeps but that remain, because the full disk had no room to record their
  /// deletion.
  std::int64_t left = 0;
  bool fits = true;          ///< false: the units that must be kept take more than KeepRules::under
  std::uint64_t before = 0;  ///< bytes of records that the run's checkpoints needed
  std::uint64_t after = 0;   ///< bytes of records that the kept ones need
  std::uint64_t freed = 0;   ///< bytes that garbage collection will free, because nothing else
                             ///< needs them
};

enum class Sizes : std::uint8_t {
  weighed,  ///< computed by reading which chunks every checkpoint of the store has
  skipped,  ///< `before`, `after`, `freed` and `frees` stay 0, unless KeepRules::under is set
};

/// Decides over the checkpoints of a run, and deletes those that no rule keeps. This is one
/// transaction, so other processes see all or none of the deletions. If a full disk has room for
/// only a part, it becomes several transactions, each decided anew.
///
/// Never deleted are the state before each main loop, checkpoints inside an epoch, checkpoints
/// needed to resume an unfinished run, and checkpoints that have yet to be scored (their evaluation
/// is queued, or a living watch has not looked at them). If `rules` name no metric, the best is
/// determined by the score of the run's own strategy, if it has one. A deleted checkpoint occupies
/// space, and can be restored, until `collect`.
///
/// Safe while others record, replay, read, or call this. Throws UsageError for invalid rules; with
/// sizes also NotFound or UsageError for a metric that the run does not have or that is not a
/// number.
RetentionReport retain(Store& store, std::int64_t run, const KeepRules& rules, Sizes sizes);
/// Decides, with sizes, without deleting anything.
RetentionReport plan_retention(const Store& store, std::int64_t run, const KeepRules& rules);

struct RestoreReport {
  std::int64_t restored = 0;   ///< number of restored checkpoints
  std::int64_t collected = 0;  ///< checkpoints that cannot be restored because their content was
                               ///< collected
};

/// Restores deleted checkpoints of a run in one transaction: all, or those of one epoch, or the one
/// with this name. Throws Busy while garbage is collected.
RestoreReport restore_discarded(Store& store, std::int64_t run,
                                std::optional<std::int64_t> epoch = {},
                                std::string_view saved = {});

/// A checkpoint of a run, as returned by the functions below.
struct FoundCheckpoint {
  Candidate::Group group = Candidate::Group::epoch;
  std::int64_t number = 0;
  std::string name;  ///< name of a saved checkpoint
  Score score;
  std::int64_t id = 0;  ///< id of the boundary, or of the saved checkpoint
};

/// Returns the best checkpoint by the strategy's score among those that the run itself has stored:
/// among saved ones if there are any, otherwise among epochs. Without a metric the newest is the
/// best. Returns nullopt if none is stored. In a group, scores are those of rank 0 where it has
/// any.
std::optional<FoundCheckpoint> best_checkpoint(const Store& store, std::int64_t run,
                                               const CheckpointStrategy& strategy);
/// Returns the newest checkpoint among those that `best_checkpoint` chooses from.
std::optional<FoundCheckpoint> latest_checkpoint(const Store& store, std::int64_t run,
                                                 const CheckpointStrategy& strategy);
/// Returns the newest epoch whose state the run itself has stored, ignoring saved checkpoints.
std::optional<FoundCheckpoint> latest_epoch(const Store& store, std::int64_t run);
/// Returns the checkpoints that `best_checkpoint` chooses from, with their scores by a metric,
/// oldest first. When it chooses among epochs, complete epochs that are not stored are included
/// with id 0.
std::vector<FoundCheckpoint> scored_checkpoints(const Store& store, std::int64_t run,
                                                std::string_view metric);
/// Throws NotFound or UsageError if no checkpoint of the run can have a score with this name.
void require_metric(const Store& store, std::int64_t run, const std::string& metric);

}  // namespace flor::store
