#include <flor/data/sample_order.h>

#include <flor/store/error.h>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace flor {
namespace {

constexpr std::array kShuffles{std::pair{Shuffle::none, std::string_view("none")},
                               std::pair{Shuffle::torch, std::string_view("torch")},
                               std::pair{Shuffle::keyed, std::string_view("keyed")}};
constexpr std::array kTails{std::pair{Tail::repeat, std::string_view("repeat")},
                            std::pair{Tail::drop, std::string_view("drop")},
                            std::pair{Tail::uneven, std::string_view("uneven")}};

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  throw Error("there is no such kind: " + std::to_string(static_cast<int>(value)));
}

template <typename Names>
auto parse(const Names& names, std::string_view what, std::string_view text) {
  std::string all;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    all.append(all.empty() ? "" : ", ").append(name);
  }
  throw Error("there is no " + std::string(what) + " '" + std::string(text) + "': use one of " +
              all);
}

/// MT19937 (M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS 8, 1998), with the numbers
/// of std::mt19937. It computes a whole state at a time, which the compiler vectorizes: ten times
/// as fast.
class MersenneTwister {
 public:
  static constexpr std::size_t kSize = 624;
  using Block = std::array<std::uint32_t, kSize>;

  explicit MersenneTwister(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < kSize; ++i) {
      state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }
  }

  void next(Block& numbers) {
    constexpr std::size_t kMiddle = 397, kRest = kSize - kMiddle;
    for (std::size_t i = 0; i < kRest; ++i) twist(i, i + 1, i + kMiddle);
    for (std::size_t i = kRest; i < kSize - 1; ++i) twist(i, i + 1, i - kRest);
    twist(kSize - 1, 0, kMiddle - 1);
    for (std::size_t i = 0; i < kSize; ++i) {
      std::uint32_t bits = state_[i];
      bits ^= bits >> 11;
      bits ^= (bits << 7) & 0x9D2C5680U;
      bits ^= (bits << 15) & 0xEFC60000U;
      numbers[i] = bits ^ (bits >> 18);
    }
  }

 private:
  void twist(std::size_t i, std::size_t next, std::size_t far) {
    const std::uint32_t bits = (state_[i] & 0x80000000U) | (state_[next] & 0x7FFFFFFFU);
    state_[i] = state_[far] ^ (bits >> 1) ^ ((0U - (bits & 1U)) & 0x9908B0DFU);
  }

  Block state_{};
};

/// 0, 1, 2, ... in large memory pages if the system has them, since later accesses are to random
/// places.
template <typename Index>
std::shared_ptr<Index[]> ascending(std::uint64_t samples) {
  constexpr std::uintptr_t kPage = 2 << 20;
  auto order = std::make_shared_for_overwrite<Index[]>(samples);
  const auto begin = (reinterpret_cast<std::uintptr_t>(order.get()) + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(order.get() + samples) / kPage * kPage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::iota(order.get(), order.get() + samples, Index{0});
  return order;
}

/// The order of torch.randperm on a CPU: a Fisher-Yates shuffle that draws 32 bits per sample from
/// MT19937. The swaps access random places, which are prefetched.
template <typename Index>
std::shared_ptr<const Index[]> torch_order(std::uint64_t samples, std::uint64_t seed) {
  constexpr std::uint64_t kBlock = MersenneTwister::kSize, kAhead = 32;
  const std::shared_ptr<Index[]> shared = ascending<Index>(samples);
  Index* order = shared.get();
  const std::uint64_t draws = samples > 0 ? samples - 1 : 0;
  MersenneTwister generator(static_cast<std::uint32_t>(seed));
  MersenneTwister::Block bits;
  // The targets of the swaps of this block and of the next one.
  std::array<Index, 2 * kBlock> targets{};
  const auto draw = [&](std::uint64_t first, Index* to) {
    if (first >= draws) return;
    generator.next(bits);
    for (std::uint64_t k = 0; k < std::min(kBlock, draws - first); ++k) {
      // The number of samples left fits into an Index, whose division is faster.
      const std::uint64_t left = samples - first - k;
      to[k] = static_cast<Index>(first + k + bits[k] % static_cast<Index>(left));
    }
  };
  draw(0, targets.data());
  for (std::uint64_t first = 0; first < draws; first += kBlock) {
    draw(first + kBlock, &targets[kBlock]);
    for (std::uint64_t k = 0; k < std::min(kBlock, draws - first); ++k) {
      __builtin_prefetch(&order[targets[k + kAhead]], 1);
      std::swap(order[first + k], order[targets[k]]);
    }
    std::copy_n(&targets[kBlock], kBlock, targets.begin());
  }
  return shared;
}

/// The number of samples in each group.
std::map<std::int64_t, std::uint64_t> group_sizes(std::span<const std::int64_t> groups) {
  std::map<std::int64_t, std::uint64_t> sizes;
  for (const std::int64_t group : groups) ++sizes[group];
  return sizes;
}

void check_batch_size(std::uint64_t batch_size) {
  if (batch_size == 0) throw Error("a batch needs at least one sample: the batch size is 0");
}

}  // namespace

std::string_view to_string(Shuffle shuffle) { return name_of(kShuffles, shuffle); }
std::string_view to_string(Tail tail) { return name_of(kTails, tail); }
Shuffle parse_shuffle(std::string_view name) { return parse(kShuffles, "shuffle", name); }
Tail parse_tail(std::string_view name) { return parse(kTails, "tail", name); }

KeyedPermutation::KeyedPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size) {
  // Networks of fewer bits are visibly not uniform.
  constexpr std::uint64_t kSmallest = 256;
  const auto bits = static_cast<unsigned>(std::bit_width(std::max(kSmallest, size) - 1));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  std::uint64_t key = detail::mix64(detail::mix64(seed) ^ epoch);
  for (std::uint64_t& round_key : keys_) round_key = key = detail::mix64(key);
}

std::uint64_t KeyedPermutation::once(std::uint64_t value) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  const std::uint64_t high_mask =
      high_bits_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << high_bits_) - 1;
  std::uint64_t low = value & low_mask, high = value >> low_bits_;
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= detail::mix64(low ^ keys_[round]) & high_mask;
    low ^= detail::mix64(high ^ keys_[round + 1]) & low_mask;
  }
  return (high << low_bits_) | low;
}

std::uint64_t KeyedPermutation::operator[](std::uint64_t position) const {
  if (size_ <= 1) return 0;
  do position = once(position);
  while (position >= size_);
  return position;
}

SampleOrder::SampleOrder(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed,
                         std::uint64_t epoch)
    : shuffle_(shuffle), keyed_(samples, seed, epoch) {
  if (shuffle != Shuffle::torch) return;
  if (samples <= std::numeric_limits<std::uint32_t>::max()) {
    narrow_ = torch_order<std::uint32_t>(samples, seed + epoch);
  } else {
    wide_ = torch_order<std::uint64_t>(samples, seed + epoch);
  }
}

SampleOrder SampleOrder::in_lanes(std::uint64_t samples, Shuffle shuffle, std::uint64_t seed,
                                  std::uint64_t epoch, std::uint64_t lanes) {
  if (lanes == 0) throw Error("samples cannot be dealt to 0 lanes");
  SampleOrder order = pool(samples, shuffle, seed);
  order.lanes_ = lanes;
  order.rows_ = std::make_shared<const SampleOrder>(samples / lanes, shuffle, seed, epoch + 1);
  return order;
}

/// Shuffles whole rows. The last row stays last if it is not full.
std::uint64_t SampleOrder::in_lane(std::uint64_t position) const {
  const std::uint64_t row = position / lanes_;
  return row < rows_->size() ? (*rows_)[row] * lanes_ + position % lanes_ : position;
}

std::uint64_t Share::size() const {
  const std::uint64_t rest = units - base;
  switch (tail) {
    case Tail::repeat:
      return rest / world + (rest % world != 0);
    case Tail::drop:
      return rest / world;
    case Tail::uneven:
      if (rest < world) return rest > 0 ? 1 : 0;  // without a sample it would fall out of step
      return rest / world + (rank < rest % world);
  }
  return 0;
}

std::uint64_t Share::least() const {
  const std::uint64_t rest = units - base;
  return tail == Tail::uneven && rest >= world ? rest / world : size();
}

GroupedBatches::GroupedBatches(std::span<const std::int64_t> groups, std::uint64_t batch_size,
                               Tail tail, const SampleOrder& order) {
  check_batch_size(batch_size);
  if (order.size() != groups.size()) {
    throw Error("groups were given for " + std::to_string(groups.size()) + " samples, but " +
                std::to_string(order.size()) + " samples are to be ordered");
  }
  struct Buffer {
    std::vector<std::uint64_t> open;  ///< less than a full batch
    std::vector<std::uint64_t> head;  ///< the group's first samples, for repeating
  };
  std::map<std::int64_t, Buffer> buffers;
  const auto close = [&](std::span<const std::uint64_t> batch) {
    samples_.insert(samples_.end(), batch.begin(), batch.end());
    begins_.push_back(samples_.size());
  };
  samples_.reserve(groups.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const std::uint64_t sample = order[i];
    Buffer& buffer = buffers[groups[sample]];
    if (buffer.head.size() < batch_size) buffer.head.push_back(sample);
    buffer.open.push_back(sample);
    if (buffer.open.size() < batch_size) continue;
    close(buffer.open);
    buffer.open.clear();
  }
  if (tail == Tail::drop) return;
  std::vector<Buffer*> rest;
  for (auto& [group, buffer] : buffers) {
    if (!buffer.open.empty()) rest.push_back(&buffer);
  }
  std::ranges::stable_sort(rest, std::greater(), [](const Buffer* b) { return b->open.size(); });
  for (Buffer* buffer : rest) {
    for (std::size_t i = 0; tail == Tail::repeat && buffer->open.size() < batch_size; ++i) {
      buffer->open.push_back(buffer->head[i % buffer->head.size()]);
    }
    close(buffer->open);
  }
}

std::uint64_t GroupedBatches::count(std::span<const std::int64_t> groups, std::uint64_t batch_size,
                                    Tail tail) {
  check_batch_size(batch_size);
  std::uint64_t batches = 0;
  for (const auto& [group, size] : group_sizes(groups)) {
    batches += size / batch_size + (tail != Tail::drop && size % batch_size != 0);
  }
  return batches;
}

}  // namespace flor
