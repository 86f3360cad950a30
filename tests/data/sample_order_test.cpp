// Orders of samples, beside those of Python.
#include <flor/data/sample_order.h>
#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace flor {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Samples = std::vector<std::uint64_t>;

Samples all_of(const SampleOrder& order) {
  Samples samples;
  for (std::uint64_t i = 0; i < order.size(); ++i) samples.push_back(order[i]);
  return samples;
}

/// What `list(DistributedSampler(range(n), world, rank, seed=seed, drop_last=...))` gives in
/// Python.
Samples share_of(std::uint64_t n, std::uint64_t world, std::uint64_t rank, std::uint64_t seed,
                 std::uint64_t epoch, Tail tail = Tail::repeat) {
  const SampleOrder order(n, Shuffle::torch, seed, epoch);
  const Share share{.units = n, .world = world, .rank = rank, .tail = tail};
  Samples samples;
  for (std::uint64_t i = 0; i < share.size(); ++i) samples.push_back(order[share.unit(i)]);
  return samples;
}

std::uint64_t chain(const Samples& samples) {
  std::uint64_t digest = 0;
  for (const std::uint64_t sample : samples) digest = detail::mix64(digest ^ sample);
  return digest;
}

// The vectors were made with PyTorch 1.13.1 (Debian's python3-torch):
//   s = DistributedSampler(range(n), num_replicas=w, rank=r, seed=seed, drop_last=drop)
//   s.set_epoch(epoch); list(s)
TEST(SampleOrder, IsTheOrderOfPythonsDistributedSampler) {
  EXPECT_THAT(share_of(10, 1, 0, 0, 0), ElementsAre(4, 1, 7, 5, 3, 9, 0, 8, 6, 2));
  EXPECT_THAT(share_of(10, 1, 0, 0, 1), ElementsAre(5, 6, 1, 2, 0, 8, 9, 3, 7, 4));
  EXPECT_THAT(share_of(10, 3, 0, 7, 2), ElementsAre(0, 7, 9, 3));
  EXPECT_THAT(share_of(10, 3, 1, 7, 2), ElementsAre(5, 6, 1, 0));
  EXPECT_THAT(share_of(10, 3, 2, 7, 2), ElementsAre(8, 2, 4, 5));
  EXPECT_THAT(share_of(10, 3, 0, 7, 2, Tail::drop), ElementsAre(0, 7, 9));
  EXPECT_THAT(share_of(10, 3, 2, 7, 2, Tail::drop), ElementsAre(8, 2, 4));
  EXPECT_THAT(share_of(24, 4, 3, 13006555, 9), ElementsAre(18, 5, 8, 16, 15, 12));
}

TEST(SampleOrder, FewerSamplesThanReplicasAreRepeatedAsInPython) {
  const Samples expected{1, 0, 2, 1, 0, 2, 1, 0};
  for (std::uint64_t rank = 0; rank < 8; ++rank) {
    EXPECT_THAT(share_of(3, 8, rank, 42, 5), ElementsAre(expected[rank]));
  }
}

// Epochs 0 to 9 of 97 samples on 4 replicas with seed 2024; digests (mix64 chained over all ranks)
// of what Python gives, with drop_last=False and True.
TEST(SampleOrder, EqualsPythonInTenEpochsOfFourReplicas) {
  constexpr std::uint64_t kRepeat[] = {0x41e8d8f28f922109, 0xfe693809016e63c3, 0xb471b4c464d05713,
                                       0xe5402f7a8d43775b, 0x2c1663d76872fec5, 0xe9fb2c520d3e74c3,
                                       0xb465af9b0571e564, 0xdedeee88cc6ab720, 0xac5aed6e7a5b0cde,
                                       0x9ea190ea8024ff6d};
  constexpr std::uint64_t kDrop[] = {0xf90d5f8c96850185, 0x1629942e6a7b4cdf, 0x183bff71ab9c30e9,
                                     0xc64e4854ba2f756c, 0x7cd591633387b8c0, 0xef0a9c955a1e5a1f,
                                     0xf2ad322ef065a0c1, 0x4602a3863cf6667f, 0x23a9c8bd40d6c24c,
                                     0x7fec814c0fa0fb6e};
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    Samples repeat, drop;
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
      std::ranges::copy(share_of(97, 4, rank, 2024, epoch), std::back_inserter(repeat));
      std::ranges::copy(share_of(97, 4, rank, 2024, epoch, Tail::drop), std::back_inserter(drop));
    }
    EXPECT_EQ(chain(repeat), kRepeat[epoch]) << epoch;
    EXPECT_EQ(chain(drop), kDrop[epoch]) << epoch;
  }
}

// Digests of torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).
TEST(SampleOrder, EqualsRandpermForLargerSetsAndSeedsOfMoreThan32Bits) {
  EXPECT_EQ(chain(all_of({1000, Shuffle::torch, 0, 0})), 0xbe027c02b2bd6a56);
  EXPECT_EQ(chain(all_of({1000, Shuffle::torch, 0, 9})), 0xf8673c8617ff8251);
  EXPECT_EQ(chain(all_of({65537, Shuffle::torch, 123456789012, 3})), 0x3141d06f4ee4d509);
  EXPECT_EQ(chain(all_of({1000003, Shuffle::torch, 5, 1})), 0xa4432614005bd838);
}

TEST(SampleOrder, WithoutShufflingIsThatOfTheSamples) {
  EXPECT_THAT(all_of({4, Shuffle::none, 9, 9}), ElementsAre(0, 1, 2, 3));
}

TEST(SampleOrder, OfNothingIsEmpty) {
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::torch, Shuffle::keyed}) {
    EXPECT_THAT(all_of({0, shuffle, 1, 0}), IsEmpty());
    EXPECT_THAT(all_of({1, shuffle, 1, 0}), ElementsAre(0));
  }
}

TEST(SampleOrder, NamesAreParsedBackAndOthersRefusedWithAList) {
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::torch, Shuffle::keyed}) {
    EXPECT_EQ(parse_shuffle(to_string(shuffle)), shuffle);
  }
  for (const Tail tail : {Tail::repeat, Tail::drop, Tail::uneven}) {
    EXPECT_EQ(parse_tail(to_string(tail)), tail);
  }
  EXPECT_THAT([] { parse_tail("cut"); },
              ::testing::ThrowsMessage<Error>("there is no tail 'cut': use one of repeat, drop, "
                                              "uneven"));
}

// Keyed permutations ------------------------------------------------------------------------------

TEST(KeyedPermutation, IsABijectionForEverySizeUpTo600AndForRandomLargerOnes) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> sizes(600);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (int i = 0; i < 40; ++i) sizes.push_back(600 + random() % 100'000);
  for (const std::uint64_t size : sizes) {
    const KeyedPermutation permutation(size, random(), random() % 100);
    std::vector<bool> hit(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t sample = permutation[i];
      ASSERT_LT(sample, size);
      ASSERT_FALSE(hit[sample]) << "of " << size << ": " << sample << " comes twice";
      hit[sample] = true;
    }
  }
}

TEST(KeyedPermutation, OfTheLargestSizesStaysInRangeAndRepeatsNothing) {
  for (const std::uint64_t size :
       {std::uint64_t{1} << 40, (std::uint64_t{1} << 63) + 12345, ~std::uint64_t{0}}) {
    const KeyedPermutation permutation(size, 3, 4);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const std::uint64_t sample = permutation[size - 1 - i];
      ASSERT_LT(sample, size);
      ASSERT_TRUE(seen.insert(sample).second);
    }
  }
}

TEST(KeyedPermutation, DependsOnTheSeedAndTheEpochAlone) {
  const KeyedPermutation a(1000, 1, 2), b(1000, 1, 2), other_seed(1000, 2, 2),
      other_epoch(1000, 1, 3);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(a[i], b[i]);
    same += (a[i] == other_seed[i]) + (a[i] == other_epoch[i]);
  }
  EXPECT_LT(same, 20);  // 2 are expected of random permutations
}

// Of random permutations, chi-squared over position and sample has the mean (n-1)^2; the standard
// deviation is sqrt(2) (n-1).
TEST(KeyedPermutation, PutsEverySampleEverywhereEquallyOften) {
  for (const std::uint64_t size : {3, 5, 10, 37, 64}) {
    constexpr int kEpochs = 20'000;
    std::vector<int> count(size * size);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const KeyedPermutation permutation(size, 17, epoch);
      for (std::uint64_t i = 0; i < size; ++i) ++count[i * size + permutation[i]];
    }
    const double expected = double(kEpochs) / double(size);
    double chi = 0;
    for (const int c : count) chi += (c - expected) * (c - expected) / expected;
    const double freedom = double((size - 1) * (size - 1));
    EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << size;
  }
}

// Shares ------------------------------------------------------------------------------------------

TEST(Share, SizesDifferByAtMostOneAddUpAndNoReplicaIsLeftWithout) {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t units = random() % 100, base = random() % (units + 1),
                        world = 1 + random() % 12;
    for (const Tail tail : {Tail::repeat, Tail::drop, Tail::uneven}) {
      std::uint64_t sum = 0;
      std::set<std::uint64_t> positions;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const Share share{units, base, world, rank, tail};
        sum += share.size();
        ASSERT_LE(share.least(), share.size());
        ASSERT_LE(share.size() - share.least(), tail == Tail::uneven ? 1u : 0u);
        for (std::uint64_t k = 0; k < share.size(); ++k) positions.insert(share.position(k));
      }
      ASSERT_EQ(positions.size(), sum);  // no position twice
      const std::uint64_t rest = units - base;
      const bool filled = rest > 0 && rest < world;
      const std::uint64_t expected = tail == Tail::uneven ? (filled ? world : rest)
                                     : tail == Tail::drop ? rest / world * world
                                                          : (rest + world - 1) / world * world;
      ASSERT_EQ(sum, expected);
      if (positions.empty()) continue;
      ASSERT_EQ(*positions.rbegin(), base + sum - 1);  // none left out
    }
  }
}

// Groups ------------------------------------------------------------------------------------------

TEST(GroupedBatches, ServeEverySampleWhereOthersLoseSome) {
  // Seven samples in seven groups, and groups of five and three in batches of four: with batches
  // that are filled up from the largest remainders, samples are never served.
  const std::vector<std::int64_t> alone{0, 1, 2, 3, 4, 5, 6}, two{0, 0, 0, 0, 0, 1, 1, 1};
  for (const Tail tail : {Tail::repeat, Tail::uneven}) {
    for (const auto& [groups, size] : {std::pair{alone, 3u}, std::pair{two, 4u}}) {
      const GroupedBatches batches(groups, size, tail,
                                   SampleOrder(groups.size(), Shuffle::torch, 0, 0));
      std::set<std::uint64_t> served;
      for (std::uint64_t i = 0; i < batches.size(); ++i) {
        served.insert(batches[i].begin(), batches[i].end());
        if (tail == Tail::repeat) {
          EXPECT_EQ(batches[i].size(), size);
        }
      }
      EXPECT_EQ(served.size(), groups.size());
    }
  }
}

TEST(GroupedBatches, NeverMixGroupsAndServeEachSampleOnce) {
  std::mt19937 random(3);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<std::int64_t> groups(random() % 60);
    for (std::int64_t& group : groups) group = random() % 5 - 2;
    const std::uint64_t size = 1 + random() % 7;
    for (const Tail tail : {Tail::repeat, Tail::drop, Tail::uneven}) {
      const GroupedBatches batches(groups, size, tail,
                                   SampleOrder(groups.size(), Shuffle::keyed, 5, i));
      ASSERT_EQ(batches.size(), GroupedBatches::count(groups, size, tail));
      std::vector<int> uses(groups.size());
      for (std::uint64_t b = 0; b < batches.size(); ++b) {
        for (const std::uint64_t sample : batches[b]) {
          ASSERT_EQ(groups[sample], groups[batches[b][0]]);
          ++uses[sample];
        }
        ASSERT_TRUE(batches[b].size() == size ||
                    (tail == Tail::uneven && batches[b].size() < size));
      }
      const int least = tail == Tail::drop ? 0 : 1;
      for (const int count : uses) ASSERT_GE(count, least);
      if (tail == Tail::repeat) continue;
      ASSERT_THAT(uses, Each(::testing::Le(1)));
    }
  }
}

TEST(GroupedBatches, RefuseWhatDoesNotFit) {
  EXPECT_THROW(GroupedBatches(std::vector<std::int64_t>{1, 2}, 0, Tail::drop,
                              SampleOrder(2, Shuffle::none, 0, 0)),
               Error);
  EXPECT_THROW(GroupedBatches(std::vector<std::int64_t>{1, 2}, 2, Tail::drop,
                              SampleOrder(3, Shuffle::none, 0, 0)),
               Error);
}

}  // namespace
}  // namespace flor
