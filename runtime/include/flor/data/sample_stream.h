// The samples of a data set, epoch after epoch, shared by replicas, and resumable from any
// position. The samplers (flor/data/samplers.h) are built on it. Independent of libtorch.
#pragma once

#include <flor/data/sample_order.h>
#include <flor/state.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor {

class Group;

/// The samples to visit, and how. Loading a state checks that all of it but `record` is the same.
struct SampleSetup {
  std::uint64_t samples = 0;         ///< size of the data set
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  std::uint64_t seed = 0;            ///< together with the epoch, determines the order
  Tail tail = Tail::repeat;          ///< what happens to the last samples
  /// The group of each sample. If given, samples come in batches of `batch_size` of one group each.
  std::vector<std::int64_t> groups = {};
  std::uint64_t batch_size = 0;  ///< only with `groups`
  /// Each replica gets samples of its own lane (SampleOrder::in_lanes) in every epoch. There are as
  /// many lanes as replicas when the epoch begins. Cannot be combined with `groups`.
  bool sharded = false;
  /// Any text that identifies the data set, e.g. a digest of its file names.
  std::string data = {};
  /// The name under which a record of each epoch is logged, for audit_samples(). Empty: none is
  /// logged.
  std::string record = "samples";
};

/// The positions [from, to) of an epoch's order, consumed by `world` replicas.
struct SampleSpan {
  std::uint64_t from = 0;   ///< the first position
  std::uint64_t to = 0;     ///< one after the last position
  std::uint64_t world = 1;  ///< number of replicas
  bool operator==(const SampleSpan&) const = default;  ///< member by member
};

/// One replica's progress through the epochs. Two positions are kept: how far samples were *drawn*
/// (a data loader reads ahead), and how far they were *consumed*, which only the training loop
/// knows and reports with `advance`. Only consumed samples are saved as progress; after an
/// interruption all others are drawn again.
///
/// The order of an epoch depends on (seed, epoch) alone, and the state says what all replicas
/// together have consumed, so any number of replicas can load it. This relies on replicas going in
/// step, as in data-parallel training: when one saves its state, all have taken the same number of
/// steps with the same number of samples each. `agree` checks this.
///
/// A function that throws leaves the object unchanged. To be used by one thread.
class SampleStream {
 public:
  /// Throws flor::Error if rank >= world, if `groups` does not have one number per sample, or if
  /// Tail::drop would leave no sample at all.
  SampleStream(SampleSetup setup, std::uint64_t world, std::uint64_t rank);

  const SampleSetup& setup() const { return setup_; }  ///< as it was made
  std::uint64_t world() const { return world_; }       ///< number of replicas
  std::uint64_t rank() const { return rank_; }         ///< of this replica

  // Epochs ----------------------------------------------------------------------------------------

  std::uint64_t epoch() const { return place_.epoch; }  ///< number of the current epoch
  /// True when this replica has consumed its share of the epoch, or end_epoch() has given up the
  /// rest.
  bool complete() const;
  /// The epoch to continue with: the current one, or the next if the current one is complete.
  std::uint64_t resume_epoch() const { return place_.epoch + (finished() ? 1 : 0); }
  /// Moves to `epoch`. The current epoch keeps its progress if it is named again after an
  /// interruption. Throws if the current epoch was begun and is not complete, or if `epoch` is
  /// complete already.
  void set_epoch(std::uint64_t epoch);
  /// Gives up the rest of the epoch, which then counts as complete. The audit shows what was not
  /// used.
  void end_epoch();

  // Progress, in units of this replica: samples, or batches where there are groups ----------------

  /// Units in this replica's share of the epoch, as the share was dealt last.
  std::uint64_t size() const { return place_.share.size(); }
  /// Units that this replica has consumed of its share.
  std::uint64_t consumed() const { return place_.count; }
  /// Units that this replica has not consumed yet.
  std::uint64_t remaining() const { return complete() ? 0 : size() - place_.count; }
  /// Units that were drawn of the share, consumed ones included.
  std::uint64_t drawn() const { return drawn_; }
  /// How many positions of the epoch's order all replicas together have consumed.
  std::uint64_t consumed_by_all() const;

  /// Begins a pass of the data loader: drawing continues after the last consumed sample, or with
  /// the next epoch if the current one is complete. Throws if all samples were drawn and `advance`
  /// never reported any.
  void begin();
  /// Draws the next samples of this replica, at most `batch_size`; nothing at the end. With groups
  /// it draws one batch, and `batch_size` must be that of the setup. All replicas get the same
  /// number of batches: with Tail::uneven, a last sample that other replicas do not have is added
  /// to the batch before it, which then has `batch_size` + 1.
  std::optional<std::vector<std::size_t>> next(std::uint64_t batch_size);

  /// Reports that the oldest batch that is drawn but not consumed has been consumed.
  void advance();
  /// Reports `units` as consumed. Throws if `units` is negative, or more than are drawn and not
  /// consumed.
  void advance(std::int64_t units);

  /// Compares the progress of all replicas, and throws on each of them if they are not in step.
  /// Replicas may end an epoch with different numbers of batches if the program forms its own; this
  /// call then tells each replica how far the others are, so that any of them may save. All
  /// replicas call it.
  void agree(Group& group);

  /// The record of this epoch as JSON for audit_samples(). It is logged when the epoch is complete.
  std::string epoch_record() const;

  // State -----------------------------------------------------------------------------------------

  /// The state as one line of JSON.
  std::string print() const;
  /// Loads a state that `print` of any replica returned, for the same data, seed and kind of order.
  /// With an unchanged number of replicas, each continues in its own share of the epoch, whichever
  /// replica's state it loads. With another number, the rest of the epoch is dealt anew among them.
  /// Throws flor::Error naming what does not fit.
  void parse(const std::string& text);

  /// For flor::checkpoints.
  void save(const StateWriter& writer) const { writer.bytes("", print()); }
  void load(const StateReader& reader) { parse(reader.bytes("")); }  ///< for flor::checkpoints

 private:
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t lanes = 0;  ///< number of lanes of a sharded data set, else 0
    Share share;
    std::uint64_t count = 0;         ///< units consumed of the share
    std::uint64_t digest = 0;        ///< sum of the sample_digest of the consumed samples
    std::uint64_t others = 0;        ///< units consumed by all replicas if agree() found it, else 0
    bool ended = false;              ///< end_epoch() was called
    std::vector<SampleSpan> before;  ///< consumed before the share was dealt
  };
  struct Units;  // which samples the units of an epoch are

  /// True if no replica has anything left of the epoch.
  bool finished() const;
  static bool complete(const Place& place);
  static std::uint64_t consumed_by_all(const Place& place);
  Share share_from(std::uint64_t base) const;
  Place first_of(std::uint64_t epoch) const;
  Place read(const std::string& text) const;
  void begin_epoch(std::uint64_t epoch);
  void forget_drawn();
  void check_reported(const std::string& what) const;
  std::uint64_t batch_of(std::uint64_t batch_size) const;
  const Units& units_of(const Place& place);
  void deal_anew(Place& place) const;
  void take_own_share(Place& place);
  void log_epoch() const;

  SampleSetup setup_;
  std::uint64_t units_ = 0;
  std::uint64_t groups_digest_ = 0;
  std::uint64_t world_, rank_;
  Place place_;

  // Position of the current pass of the data loader.
  std::uint64_t drawn_ = 0;     ///< units drawn of the share
  std::uint64_t begun_at_ = 0;  ///< `place_.count` when the pass began
  bool iterating_ = false;
  std::deque<std::uint64_t> digests_;  ///< one for each unit drawn and not consumed
  std::deque<std::uint64_t> batches_;  ///< `drawn_` after each batch that is not consumed yet

  std::shared_ptr<const Units> order_;  ///< made at first use
};

}  // namespace flor
