// The samplers in libtorch's data loaders: what the loader reads ahead with its workers, archives,
// and the state that a session keeps.
#include "support/memory_state.h"

#include <flor/data/samplers.h>
#include <flor/torch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <numeric>
#include <random>
#include <sstream>

namespace flor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Hands out the indices themselves.
class Indices : public ::torch::data::datasets::BatchDataset<Indices, std::vector<std::size_t>> {
 public:
  explicit Indices(std::size_t size) : size_(size) {}
  std::vector<std::size_t> get_batch(c10::ArrayRef<std::size_t> indices) override {
    return indices.vec();
  }
  c10::optional<std::size_t> size() const override { return size_; }

 private:
  std::size_t size_;
};

auto loader_of(std::size_t size, const InterruptibleDistributedSampler& sampler, std::size_t batch,
               std::size_t workers) {
  ::torch::data::DataLoaderOptions options(batch);
  options.workers(workers);
  if (workers > 0) options.max_jobs(2 * workers + 1);  // without workers they would not be done
  return ::torch::data::make_data_loader(Indices(size), sampler, options);
}

InterruptibleDistributedSampler sampler_of(std::size_t size, std::uint64_t world = 1,
                                           std::uint64_t rank = 0) {
  return InterruptibleDistributedSampler(
      size, {.world = world, .rank = rank, .seed = 2024, .tail = Tail::uneven});
}

TEST(Loader, SharesItsPositionWithTheProgramsSampler) {
  for (const std::size_t workers : {0, 2}) {
    auto sampler = sampler_of(50);
    const auto loader = loader_of(50, sampler, 8, workers);
    std::vector<std::size_t> used;
    for (int epoch = 0; epoch < 2; ++epoch) {
      sampler.set_epoch(static_cast<std::uint64_t>(epoch));
      for (const auto& batch : *loader) {
        used.insert(used.end(), batch.begin(), batch.end());
        sampler.advance();
        EXPECT_EQ(sampler.consumed(), used.size() - 50 * static_cast<std::size_t>(epoch));
      }
      EXPECT_TRUE(sampler.complete());
    }
    for (const std::uint64_t epoch : {0, 1}) {
      const SampleOrder order(50, Shuffle::torch, 2024, epoch);
      for (std::uint64_t i = 0; i < 50; ++i) ASSERT_EQ(used[50 * epoch + i], order[i]);
    }
  }
}

TEST(Loader, WhatItsWorkersReadAheadIsServedAgainAfterAResume) {
  std::vector<std::size_t> used;
  auto first = sampler_of(50);
  {
    const auto loader = loader_of(50, first, 4, 2);
    for (const auto& batch : *loader) {
      used.insert(used.end(), batch.begin(), batch.end());
      first.advance();
      if (used.size() == 20) break;
    }
  }
  EXPECT_GT(first.stream().drawn(), 20u);
  flor::testing::MemoryState state;
  state.save("sampler", first);
  auto resumed = sampler_of(50);
  state.load("sampler", resumed);
  const auto loader = loader_of(50, resumed, 4, 2);
  for (const auto& batch : *loader) {
    used.insert(used.end(), batch.begin(), batch.end());
    resumed.advance();
  }
  std::ranges::sort(used);
  std::vector<std::size_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(used, all);
}

TEST(Loader, AnEpochWithoutAdvanceIsRefusedWhenTheNextBegins) {
  auto sampler = sampler_of(20);
  const auto loader = loader_of(20, sampler, 5, 0);
  for (const auto& batch : *loader) EXPECT_EQ(batch.size(), 5u);
  EXPECT_THAT([&] { loader->begin(); },
              ThrowsMessage<Error>(HasSubstr("call advance() after each step")));
}

TEST(Loader, ArchivesOfLibtorchKeepThePosition) {
  auto sampler = sampler_of(20);
  const auto loader = loader_of(20, sampler, 5, 0);
  auto batch = loader->begin();
  EXPECT_EQ(batch->size(), 5u);
  sampler.advance();
  std::stringstream stream;
  ::torch::serialize::OutputArchive out;
  sampler.save(out);
  out.save_to(stream);
  auto loaded = sampler_of(20);
  ::torch::serialize::InputArchive in;
  in.load_from(stream);
  loaded.load(in);
  EXPECT_EQ(loaded.stream().print(), sampler.stream().print());
  auto other = sampler_of(21);
  EXPECT_THAT([&] { other.load(in); },
              ThrowsMessage<Error>(HasSubstr("samples 20, and this program has 21")));
}

TEST(Loader, EqualsPythonsDistributedSamplerForEveryReplica) {
  // list(DistributedSampler(range(24), 4, rank, seed=13006555)) in epoch 9, see sample_order_test.
  InterruptibleDistributedSampler sampler(24, {.world = 4, .rank = 3, .seed = 13006555});
  sampler.set_epoch(9);
  const auto loader = loader_of(24, sampler, 4, 0);
  std::vector<std::size_t> used;
  for (const auto& batch : *loader) used.insert(used.end(), batch.begin(), batch.end());
  EXPECT_THAT(used, ElementsAre(18, 5, 8, 16, 15, 12));
}

TEST(Loader, TheOrderIsThatOfLibtorchsOwnRandperm) {
  std::mt19937 random(7);
  for (const std::int64_t n : {0, 1, 2, 3, 100, 1023, 4096, 100'003}) {
    const std::uint64_t seed = random();
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed + 5);
    const auto expected = ::torch::randperm(n, generator);
    const SampleOrder order(static_cast<std::uint64_t>(n), Shuffle::torch, seed, 5);
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(static_cast<std::int64_t>(order[static_cast<std::uint64_t>(i)]),
                expected.data_ptr<std::int64_t>()[i]);
    }
  }
}

TEST(Loader, OfGroupsGetsBatchesOfOneGroup) {
  std::vector<std::int64_t> groups(30);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<std::int64_t>(i % 4);
  InterruptibleDistributedGroupedBatchSampler sampler(groups, 4, {.tail = Tail::uneven});
  const auto loader = ::torch::data::make_data_loader(Indices(30), sampler, 4);
  std::size_t used = 0;
  for (const auto& batch : *loader) {
    for (const std::size_t sample : batch) EXPECT_EQ(groups[sample], groups[batch[0]]);
    used += batch.size();
    sampler.advance();
  }
  EXPECT_EQ(used, 30u);
  EXPECT_TRUE(sampler.complete());
}

TEST(Loader, ADataSetThatChangedItsSizeIsRefused) {
  InterruptibleSampler sampler(10);
  EXPECT_THAT([&] { sampler.reset(11); },
              ThrowsMessage<Error>(HasSubstr("made for 10 samples, but the data set now has 11")));
}

}  // namespace
}  // namespace flor
