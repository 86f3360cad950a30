// Retention: which checkpoints of a run are kept, deleting the others, and bringing them back.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/ranking.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// A unit that is kept or deleted as a whole. An epoch: the boundary after it, the ends of its
/// nested loops, and the attached locals of the loops that begin at that boundary. Or one
/// checkpoint that the program saved.
struct RetainedUnit {
  Candidate candidate;
  std::string name;                       ///< of a saved one; empty for an epoch
  std::int64_t taken_us = 0;              ///< when the last of its checkpoints was taken
  std::vector<std::int64_t> checkpoints;  ///< ids
  std::uint64_t raw_bytes = 0;
  /// The bytes that deleting this one alone would free: its records, headers included, that no
  /// other checkpoint, logged object or base needs. 0 if sizes were not asked for.
  std::uint64_t frees = 0;
  Decision decision;
};

struct RetentionReport {
  KeepRules rules;  ///< those that were applied: with the best one of the run's own strategy
  std::vector<RetainedUnit> units;  ///< in the order of their time
  std::int64_t kept = 0, deleted = 0;
  /// Units that no rule keeps, but whose deletion the full disk had no room to record.
  std::int64_t left = 0;
  bool fits = true;          ///< false: the units that must stay take more than KeepRules::under
  std::uint64_t before = 0;  ///< bytes of records that the run's checkpoints need
  std::uint64_t after = 0;   ///< the same of those that are kept
  std::uint64_t freed = 0;   ///< a collection frees so much of them: no other user needs it
};

enum class Sizes : std::uint8_t {
  weighed,  ///< reads which chunks every checkpoint of the store has
  skipped,  ///< `before`, `after`, `freed` and `frees` stay 0, unless there is `KeepRules::under`
};

/// Decides over the checkpoints of a run, and deletes those that no rule keeps, all of them in one
/// transaction: other processes see all or none of the deletions, whatever happens to this one. A
/// full disk may have room for a part only: then it is one transaction after another, each decided
/// anew. Never deleted: the state before each main loop, a checkpoint inside an epoch, checkpoints
/// that the run needs to be resumed, unless it has finished, and checkpoints that have yet to be
/// scored: their evaluation is queued, or a live watch has not looked at them. With `rules` that
/// name no metric the score of the run's own strategy, if it has one, determines the best. A
/// deleted checkpoint takes its space until `collect`, and can be brought back until then. Safe
/// while others record, replay and read, and while others do the same. Throws UsageError for rules
/// that make no sense; with sizes also NotFound or UsageError for a metric that the run does not
/// have, or that is no number.
RetentionReport retain(Store& store, std::int64_t run, const KeepRules& rules, Sizes sizes);
/// Decides, with sizes, and changes nothing.
RetentionReport plan_retention(const Store& store, std::int64_t run, const KeepRules& rules);

struct RestoreReport {
  std::int64_t restored = 0;   ///< checkpoints that are back
  std::int64_t collected = 0;  ///< that cannot come back, since their content was collected
};

/// Brings deleted checkpoints of a run back: all, or those of one epoch or of one name. One
/// transaction. Throws Busy while garbage is collected.
RestoreReport restore_discarded(Store& store, std::int64_t run,
                                std::optional<std::int64_t> epoch = {},
                                std::string_view saved = {});

/// A checkpoint of a run as `best_checkpoint` and `latest_checkpoint` find it.
struct FoundCheckpoint {
  Candidate::Group group = Candidate::Group::epoch;
  std::int64_t number = 0;
  std::string name;  ///< of a saved one
  Score score;
  std::int64_t id = 0;  ///< of the boundary, or of the saved checkpoint
};

/// The best one that the run itself has stored, by the score: of the saved ones if there are any,
/// else of the epochs. Without a metric the newest. Nothing if none is stored. In a group of ranks
/// the scores are those of rank 0, where it has any.
std::optional<FoundCheckpoint> best_checkpoint(const Store& store, std::int64_t run,
                                               const CheckpointStrategy& strategy);
/// The newest one, likewise.
std::optional<FoundCheckpoint> latest_checkpoint(const Store& store, std::int64_t run,
                                                 const CheckpointStrategy& strategy);
/// The newest epoch of which the run itself has stored the state, whatever it saved beside them.
std::optional<FoundCheckpoint> latest_epoch(const Store& store, std::int64_t run);
/// Those among which `best_checkpoint` chooses, with their scores by a metric, oldest first. Epochs
/// that are complete but not stored are among them with the id 0, where epochs rank.
std::vector<FoundCheckpoint> scored_checkpoints(const Store& store, std::int64_t run,
                                                std::string_view metric);
/// Throws NotFound or UsageError where no checkpoint of the run can have a score of that name.
void require_metric(const Store& store, std::int64_t run, const std::string& metric);

}  // namespace flor::store
