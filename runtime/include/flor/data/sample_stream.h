// The samples of a data set, epoch after epoch, shared by replicas and interrupted at any place:
// the part of the samplers (flor/data/samplers.h) that knows nothing of libtorch.
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

/// The samples to visit, and how. All of it but `record` is checked when a state is loaded.
struct SampleSetup {
  std::uint64_t samples = 0;         ///< of the data set
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  std::uint64_t seed = 0;            ///< with the epoch it gives the order
  Tail tail = Tail::repeat;          ///< how unequal shares are filled
  /// Not empty: batches of `batch_size` samples, none of which mixes groups. One number a sample.
  std::vector<std::int64_t> groups = {};
  std::uint64_t batch_size = 0;  ///< with `groups` only
  /// Each replica gets the samples of its own lane in every epoch (SampleOrder::in_lanes), as many
  /// lanes as there are replicas when the epoch begins. Not with `groups`.
  bool sharded = false;
  /// Anything that tells data sets apart, e.g. a digest of the names of the files.
  std::string data = {};
  /// The name under which the end of each epoch is logged, for the audit; empty: it is not.
  std::string record = "samples";
};

/// A piece of an epoch: the positions [from, to), consumed by `world` replicas.
struct SampleSpan {
  std::uint64_t from = 0;   ///< the first position
  std::uint64_t to = 0;     ///< the one after the last
  std::uint64_t world = 1;  ///< replicas
  bool operator==(const SampleSpan&) const = default;  ///< member by member
};

/// One replica's way through the epochs. Two positions are kept apart: how far samples were *drawn*
/// (a data loader reads ahead) and how far they were *consumed*, which only the training loop knows
/// and reports with `advance`. Only consumed samples are progress: they are saved, and after an
/// interruption all others are drawn again.
///
/// The order of an epoch depends on (seed, epoch) alone, and the state on what all replicas have
/// consumed, so it can be loaded by any number of replicas. This takes replicas that go in step, as
/// they do in data-parallel training: where one saves its state, all have taken equally many steps
/// of equally many samples (`agree` checks that).
///
/// Every function that throws leaves the object as it was. For one thread.
class SampleStream {
 public:
  /// Throws flor::Error if rank >= world, if `groups` does not fit, or if Tail::drop would leave
  /// nothing at all.
  SampleStream(SampleSetup setup, std::uint64_t world, std::uint64_t rank);

  const SampleSetup& setup() const { return setup_; }  ///< as it was made
  std::uint64_t world() const { return world_; }       ///< replicas
  std::uint64_t rank() const { return rank_; }         ///< of this replica

  // Epochs ----------------------------------------------------------------------------------------

  std::uint64_t epoch() const { return place_.epoch; }  ///< the present one
  /// True when this replica has consumed its share of the epoch, or gave up the rest.
  bool complete() const;
  /// The epoch to continue with: the present one, or the next if that is complete.
  std::uint64_t resume_epoch() const { return place_.epoch + (finished() ? 1 : 0); }
  /// Goes to that epoch; an epoch that was interrupted keeps its progress. Throws where the present
  /// epoch was begun and is not complete, or `epoch` is complete already.
  void set_epoch(std::uint64_t epoch);
  /// Drops the rest of the epoch: it counts as complete. The audit tells.
  void end_epoch();

  // Progress, in units of this replica: samples, or batches where there are groups ----------------

  std::uint64_t size() const { return place_.share.size(); }  ///< since the share was last dealt
  std::uint64_t consumed() const { return place_.count; }     ///< since the share was last dealt
  /// Units of this epoch.
  std::uint64_t remaining() const { return complete() ? 0 : size() - place_.count; }
  std::uint64_t drawn() const { return drawn_; }  ///< since `begin`
  /// Positions of the epoch's order that all replicas together have consumed.
  std::uint64_t consumed_by_all() const;

  /// Begins a data loader: it draws the samples that follow the consumed ones. Begins the next
  /// epoch if the present one is complete. Throws if everything was drawn and nothing ever reported
  /// by `advance`.
  void begin();
  /// The next samples of this replica, at most `batch_size`; none at the end. With groups: one
  /// batch, and `batch_size` must be the one of the setup. All replicas get equally many
  /// batches: with Tail::uneven a single sample that others do not have comes with the batch before
  /// it.
  std::optional<std::vector<std::size_t>> next(std::uint64_t batch_size);

  /// Reports that the oldest batch that was drawn and not consumed yet has been consumed.
  void advance();
  /// The same, counted in units. Throws if `units` is negative, or more than were drawn.
  void advance(std::int64_t units);

  /// Compares the progress of all replicas, and throws on each of them if they are not in step.
  /// Where replicas end an epoch with different numbers of batches of their own making, this also
  /// tells each of them how far the others are, so that any of them may save.
  void agree(Group& group);

  /// The JSON for audit_samples, which is logged when the epoch is complete.
  std::string epoch_record() const;

  // State -----------------------------------------------------------------------------------------

  /// One line of JSON.
  std::string print() const;
  /// Takes over a state that `print` of any replica returned, of the same data, seed and kind. With
  /// as many replicas as there were, each continues in its own share of the epoch, whichever state
  /// they load; with more or fewer, the rest of it is dealt anew among them. Throws flor::Error
  /// naming what does not fit.
  void parse(const std::string& text);

  /// For flor::checkpoints.
  void save(const StateWriter& writer) const { writer.bytes("", print()); }
  void load(const StateReader& reader) { parse(reader.bytes("")); }  ///< for flor::checkpoints

 private:
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t lanes = 0;  ///< of a sharded data set, else 0
    Share share;
    std::uint64_t count = 0;         ///< consumed of the share
    std::uint64_t digest = 0;        ///< of their samples
    std::uint64_t others = 0;        ///< consumed by all, if agree() told; else 0
    bool ended = false;              ///< by end_epoch
    std::vector<SampleSpan> before;  ///< consumed before the share was dealt
  };
  struct Units;  // which samples the units of an epoch are

  /// No replica has anything left of the epoch.
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

  // State of the data loader that is iterating.
  std::uint64_t drawn_ = 0;     ///< of the share
  std::uint64_t begun_at_ = 0;  ///< consumed when it began
  bool iterating_ = false;
  std::deque<std::uint64_t> digests_;  ///< of the units drawn and not consumed
  std::deque<std::uint64_t> batches_;  ///< `drawn_` at the end of each batch not consumed

  std::shared_ptr<const Units> order_;  ///< made when it is needed
};

}  // namespace flor
