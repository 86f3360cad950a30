// The order in which an epoch visits the samples of a data set, and how replicas share it:
// functions of their arguments alone. Knows nothing of libtorch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flor {

/// How the samples of an epoch are ordered. The names reach checkpoints and records.
enum class Shuffle {
  /// 0, 1, 2, ...
  none,
  /// The result of `torch.randperm(n, generator=Generator().manual_seed(seed + epoch))` on a CPU,
  /// which is the order of Python's `torch.utils.data.DistributedSampler`. Takes 4 bytes a sample.
  torch,
  /// A keyed permutation that is computed sample by sample: no memory, whatever the size.
  keyed,
};

/// The treatment of the samples that are left when every replica has got equally many.
enum class Tail {
  /// They are shared out, and replicas that got none repeat samples from the head of the order, as
  /// Python's DistributedSampler does. Every replica has equally many; fewer samples than there are
  /// replicas are used twice.
  repeat,
  /// They are left out. Every replica has equally many.
  drop,
  /// They are shared out: some replicas have one sample more than others. Every sample is used
  /// exactly once, except where fewer are left than there are replicas: then those that would get
  /// none repeat samples, as with `repeat`, since a replica without a batch is not in step.
  uneven,
};

std::string_view to_string(Shuffle shuffle);  ///< "none", "torch", "keyed"
std::string_view to_string(Tail tail);        ///< "repeat", "drop", "uneven"
/// Parses the name. Throws flor::Error with the list of names.
Shuffle parse_shuffle(std::string_view name);
Tail parse_tail(std::string_view name);

/// A bijection of [0, size) that needs no memory: eight rounds of a Feistel network over the
/// smallest power of two that holds `size`, walked along its cycles until the value is in range (J.
/// Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). Fewer than two steps
/// on average, from 256 samples on. Not meant to resist an attacker who tries to predict it.
class KeyedPermutation {
 public:
  /// A permutation of [0, size), one for each (seed, epoch).
  KeyedPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);
  std::uint64_t size() const { return size_; }  ///< of the set
  /// `position` < size().
  std::uint64_t operator[](std::uint64_t position) const;

 private:
  static constexpr std::size_t kRounds = 8;
  std::uint64_t once(std::uint64_t value) const;

  std::uint64_t size_;
  unsigned low_bits_ = 0, high_bits_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

/// The order of one epoch. Costs time and memory when it is made, for Shuffle::torch: 4 bytes a
/// sample, from 2^32 samples on 8. Immutable, so any thread may read it.
class SampleOrder {
 public:
  /// The order of the samples [0, samples).
  SampleOrder(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed, std::uint64_t epoch);
  /// Keeps the samples in `lanes`: the one at position p is always of lane p % lanes, which has the
  /// same samples in every epoch. For replicas that hold their part of the data.
  static SampleOrder in_lanes(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed,
                              std::uint64_t epoch, std::uint64_t lanes);
  /// How in_lanes deals the samples out: lane r has those at r, r + lanes, ...
  static SampleOrder pool(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed) {
    return {samples, shuffle, seed, 0};
  }

  std::uint64_t size() const { return keyed_.size(); }  ///< how many samples
  /// The sample at `position` < size().
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
  std::shared_ptr<const std::uint32_t[]> narrow_;  ///< one of the two for Shuffle::torch
  std::shared_ptr<const std::uint64_t[]> wide_;
  std::uint64_t lanes_ = 0;
  std::shared_ptr<const SampleOrder> rows_;  ///< of the full rows, one sample of each lane
};

/// How whole batches are shared: a replica cannot take one more than the others and stay in step.
constexpr Tail tail_of_batches(Tail tail) { return tail == Tail::uneven ? Tail::repeat : tail; }

/// The units (samples, or batches) of an epoch that one of `world` replicas gets: from position
/// `base` on every `world`-th, beginning with its own rank. Units before `base` were consumed
/// before, by however many replicas there were then.
struct Share {
  std::uint64_t units = 0;   ///< of the epoch
  std::uint64_t base = 0;    ///< the first position that is shared
  std::uint64_t world = 1;   ///< replicas
  std::uint64_t rank = 0;    ///< of this replica
  Tail tail = Tail::repeat;  ///< how unequal shares are filled

  /// How many units this replica gets: none only where no replica gets any.
  std::uint64_t size() const;
  /// The least that any of the replicas gets: `size()` or one less.
  std::uint64_t least() const;
  /// Where its `index`-th unit stands; from `units` on it is a repeated one.
  std::uint64_t position(std::uint64_t index) const { return base + rank + index * world; }
  /// Which unit that is.
  std::uint64_t unit(std::uint64_t index) const { return position(index) % units; }
};

/// The batches of one epoch where no batch may mix groups (pictures of one shape, sentences of one
/// length). Every sample is in exactly one batch, except that Tail::drop leaves out the samples
/// that do not fill a batch of their group, and Tail::repeat fills such batches with samples of the
/// same group a second time. Full batches come in the order in which they fill up when the samples
/// are visited in a SampleOrder; partial batches follow, the largest first.
class GroupedBatches {
 public:
  /// `groups` has the group of each sample; any numbers.
  GroupedBatches(std::span<const std::int64_t> groups, std::uint64_t batch_size, Tail tail,
                 const SampleOrder& order);

  /// The number of batches: the same for every order.
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
/// Sums of these distinguish multisets of samples, whatever their order.
constexpr std::uint64_t sample_digest(std::uint64_t sample) {
  return mix64(sample ^ 0x666C6F7273616D70);
}
}  // namespace detail

}  // namespace flor
