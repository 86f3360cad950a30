// The order in which an epoch visits the samples of a data set, and how replicas share that
// order: pure functions of their arguments, independent of libtorch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flor {

/// How the samples of an epoch are ordered. The names of the enumerators are part of checkpoints
/// and records.
enum class Shuffle {
  /// Not shuffled: 0, 1, 2, ...
  none,
  /// The order of `torch.randperm(n, generator=Generator().manual_seed(seed + epoch))` on a CPU,
  /// which Python's `torch.utils.data.DistributedSampler` uses. Takes 4 bytes per sample.
  torch,
  /// A keyed permutation that is computed for one position at a time: needs no memory.
  keyed,
};

/// The treatment of the last samples, when every replica has the same number and fewer samples than
/// replicas are left.
enum class Tail {
  /// They are shared out, and a replica that gets none repeats a sample from the head of the order,
  /// as in Python's DistributedSampler. Every replica has the same number of samples; fewer samples
  /// than there are replicas are used twice.
  repeat,
  /// They are left out. Every replica has the same number of samples.
  drop,
  /// They are shared out, so some replicas have one sample more than others, and every sample is
  /// used exactly once. Exception: if fewer samples are left to deal than there are replicas, a
  /// replica that would get none repeats one, as with `repeat`, since a replica without a batch
  /// would fall out of step.
  uneven,
};

std::string_view to_string(Shuffle shuffle);  ///< "none", "torch", "keyed"
std::string_view to_string(Tail tail);        ///< "repeat", "drop", "uneven"
/// Parses the name of an enumerator. Throws flor::Error with the list of names.
Shuffle parse_shuffle(std::string_view name);
Tail parse_tail(std::string_view name);

/// A bijection of [0, size) that needs no memory: a Feistel network of eight rounds over the
/// smallest power of two that is not below `size`, applied again until the value is in range (cycle
/// walking; J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). From 256
/// samples on this takes fewer than two applications on average. Not secure against an attacker.
class KeyedPermutation {
 public:
  /// A permutation of [0, size), one for each (seed, epoch).
  KeyedPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);
  std::uint64_t size() const { return size_; }  ///< number of samples
  /// The sample at `position`, which must be below size().
  std::uint64_t operator[](std::uint64_t position) const;

 private:
  static constexpr std::size_t kRounds = 8;
  std::uint64_t once(std::uint64_t value) const;

  std::uint64_t size_;
  unsigned low_bits_ = 0, high_bits_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

/// The order of the samples in one epoch. With Shuffle::torch it takes time to make and 4 bytes of
/// memory per sample, or 8 from 2^32 samples on. Immutable, so any thread may read it.
class SampleOrder {
 public:
  /// The order of the samples [0, samples).
  SampleOrder(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed, std::uint64_t epoch);
  /// An order for replicas that each hold a part of the data, their lane. The sample at position p
  /// is one of lane p % lanes, and a lane has the same samples in every epoch.
  static SampleOrder in_lanes(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed,
                              std::uint64_t epoch, std::uint64_t lanes);
  /// The order from which in_lanes deals the samples to lanes: lane r has those at positions r, r +
  /// lanes, ... It is the same for every epoch.
  static SampleOrder pool(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed) {
    return {samples, shuffle, seed, 0};
  }

  std::uint64_t size() const { return keyed_.size(); }  ///< how many samples
  /// The sample at `position`, which must be below size().
  std::uint64_t operator[](std::uint64_t position) const {
    if (lanes_ > 0) position = in_lane(position);
    if (narrow_) return narrow_[static_cast<std::ptrdiff_t>(position)];
    if (wide_) return wide_[static_cast<std::ptrdiff_t>(position)];
    return shuffle_ == Shuffle::none ? position : keyed_[position];
  }

 private:
  std::uint64_t in_lane(std::uint64_t position) const;

  Shuffle shuffle_;
  KeyedPermutation keyed_;
  /// With Shuffle::torch one of these two has the samples, depending on how many there are.
  std::shared_ptr<const std::uint32_t[]> narrow_;
  std::shared_ptr<const std::uint64_t[]> wide_;
  std::uint64_t lanes_ = 0;
  /// Which row comes when, counting only full rows. A row has one sample of each lane.
  std::shared_ptr<const SampleOrder> rows_;
};

/// How whole batches are shared. A replica cannot take one batch more than the others and stay in
/// step, so `uneven` becomes `repeat`.
constexpr Tail tail_of_batches(Tail tail) { return tail == Tail::uneven ? Tail::repeat : tail; }

/// The units (samples or batches) of an epoch that one of `world` replicas gets: every `world`-th
/// position from `base` + its rank on. The units before `base` were consumed earlier, perhaps by
/// another number of replicas.
struct Share {
  std::uint64_t units = 0;   ///< number of units in the epoch
  std::uint64_t base = 0;    ///< the first position that is shared
  std::uint64_t world = 1;   ///< number of replicas
  std::uint64_t rank = 0;    ///< of this replica
  Tail tail = Tail::repeat;  ///< how unequal shares are filled

  /// How many units this replica gets. 0 only if no replica gets any.
  std::uint64_t size() const;
  /// The fewest units that any of the replicas gets: `size()` or one less.
  std::uint64_t least() const;
  /// The position of this replica's `index`-th unit. A position from `units` on stands for a
  /// repeated unit.
  std::uint64_t position(std::uint64_t index) const { return base + rank + index * world; }
  /// The replica's `index`-th unit.
  std::uint64_t unit(std::uint64_t index) const { return position(index) % units; }
};

/// The batches of one epoch where no batch may mix groups (such as pictures of one shape, or
/// sentences of one length). Every sample is in exactly one batch, with two exceptions: Tail::drop
/// leaves out samples that do not fill a batch of their group, and Tail::repeat fills such a batch
/// by using samples of the group a second time. The samples are visited in a SampleOrder, and full
/// batches come in the order in which they fill up. Partial batches follow, the largest first.
class GroupedBatches {
 public:
  /// `groups` has a number for each sample; samples with equal numbers are of one group.
  GroupedBatches(std::span<const std::int64_t> groups, std::uint64_t batch_size, Tail tail,
                 const SampleOrder& order);

  /// The number of batches, which does not depend on the order.
  static std::uint64_t count(std::span<const std::int64_t> groups, std::uint64_t batch_size,
                             Tail tail);
  std::uint64_t size() const { return begins_.size() - 1; }  ///< how many batches
  /// The samples of one batch.
  std::span<const std::uint64_t> operator[](std::uint64_t batch) const {
    return std::span(samples_).subspan(begins_[batch], begins_[batch + 1] - begins_[batch]);
  }

 private:
  std::vector<std::uint64_t> samples_;
  std::vector<std::size_t> begins_{0};
};

namespace detail {
/// A bijection of the 64-bit numbers that changes half of the bits on average (the finalizer of
/// S. Vigna's splitmix64).
constexpr std::uint64_t mix64(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}
/// The digest of one sample. The sum of digests identifies a multiset of samples, in any order.
constexpr std::uint64_t sample_digest(std::uint64_t sample) {
  return mix64(sample ^ 0x666C6F7273616D70);
}
}  // namespace detail

}  // namespace flor
