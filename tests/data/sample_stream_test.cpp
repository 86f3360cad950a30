// One replica's way through its samples: what is progress, what is not, and what is refused.
#include "support/thread_group.h"

#include <flor/data/sample_audit.h>
#include <flor/data/sample_stream.h>
#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace flor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

using Samples = std::vector<std::size_t>;

/// Without shuffling, so that a test shows which samples are meant.
SampleSetup plain(std::uint64_t samples, Tail tail = Tail::repeat) {
  return {.samples = samples, .shuffle = Shuffle::none, .tail = tail};
}

/// Uses what is left, in batches of `batch`.
Samples use_up(SampleStream& stream, std::uint64_t batch = 4) {
  Samples used;
  stream.begin();
  while (const auto samples = stream.next(batch)) {
    used.insert(used.end(), samples->begin(), samples->end());
    stream.advance();
  }
  return used;
}

/// Draws `batches` and uses the first `steps` of them.
void use(SampleStream& stream, std::uint64_t batch, int batches, int steps) {
  stream.begin();
  for (int i = 0; i < batches; ++i) ASSERT_TRUE(stream.next(batch));
  for (int i = 0; i < steps; ++i) stream.advance();
}

/// Every call that throws must leave the object as it was.
template <typename Body>
std::string refused(SampleStream& stream, Body&& body) {
  const std::string before = stream.print();
  std::string message;
  try {
    body();
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(stream.print(), before);
  return message;
}

// Progress ----------------------------------------------------------------------------------------

TEST(SampleStream, WhatALoaderReadAheadIsNoProgress) {
  SampleStream stream(plain(20), 1, 0);
  use(stream, 4, 3, 1);  // three batches drawn, one used
  EXPECT_EQ(stream.consumed(), 4u);
  EXPECT_EQ(stream.drawn(), 12u);

  SampleStream resumed(plain(20), 1, 0);
  resumed.parse(stream.print());
  EXPECT_EQ(use_up(resumed).front(), 4u);
}

TEST(SampleStream, ALoopThatWasLeftGoesOnBehindTheLastUsedSample) {
  SampleStream stream(plain(10), 1, 0);
  use(stream, 3, 3, 2);
  EXPECT_THAT(use_up(stream), ElementsAre(6, 7, 8, 9));
}

TEST(SampleStream, SizeAndRemainingAreThoseOfTheShare) {
  SampleStream stream(plain(10), 2, 1);
  EXPECT_EQ(stream.size(), 5u);
  use(stream, 2, 2, 2);
  EXPECT_EQ(stream.remaining(), 1u);
  EXPECT_EQ(stream.consumed_by_all(), 8u);
}

TEST(SampleStream, AdvancingFurtherThanWasHandedOutIsRefused) {
  SampleStream stream(plain(10), 1, 0);
  use(stream, 4, 2, 1);
  EXPECT_THAT(
      refused(stream, [&] { stream.advance(5); }),
      AllOf(HasSubstr("advance(5): 4 of 10 are used in epoch 0, and 4 more were handed out"),
            HasSubstr("nothing was changed")));
  EXPECT_THAT(refused(stream, [&] { stream.advance(-3); }), HasSubstr("advance(-3)"));
  stream.advance(3);
  stream.advance();  // the rest of that batch
  EXPECT_EQ(stream.consumed(), 8u);
  EXPECT_THAT(refused(stream, [&] { stream.advance(); }), HasSubstr("reported already (8 of 10)"));
}

TEST(SampleStream, AdvancingPastTheEndLeavesAStateThatCanBeLoaded) {
  SampleStream stream(plain(10), 1, 0);
  use_up(stream);
  EXPECT_THAT(refused(stream, [&] { stream.advance(1); }), HasSubstr("advance(1): 10 of 10"));
  SampleStream other(plain(10), 1, 0);
  other.parse(stream.print());
  EXPECT_TRUE(other.complete());
}

TEST(SampleStream, ForgettingToAdvanceIsNoticedBeforeTheSamplesComeAgain) {
  SampleStream stream(plain(10), 1, 0);
  use(stream, 5, 2, 0);
  const auto message = HasSubstr("none was reported as used: call advance() after each step");
  EXPECT_THAT(refused(stream, [&] { stream.begin(); }), message);
  EXPECT_THAT(refused(stream, [&] { stream.set_epoch(1); }), message);
}

/// All replicas of an epoch that goes on from `state` (empty: that begins).
struct Rest {
  std::vector<int> batches;  ///< of each replica
  std::vector<std::uint64_t> resume_epochs;
  std::map<std::size_t, int> uses;
};

Rest rest_of_epoch(const SampleSetup& setup, const std::string& state, std::uint64_t world,
                   std::uint64_t batch) {
  Rest rest;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    SampleStream stream(setup, world, rank);
    if (!state.empty()) stream.parse(state);
    if (stream.resume_epoch() > 0) continue;  // nothing is left
    stream.begin();
    rest.batches.push_back(0);
    while (const auto samples = stream.next(batch)) {
      ++rest.batches.back();
      for (const std::size_t sample : *samples) ++rest.uses[sample];
      stream.advance();
    }
    rest.resume_epochs.push_back(stream.resume_epoch());
  }
  return rest;
}

/// Replicas have equally many batches and go on with the same epoch; of the samples from `base` on
/// (in the order of no shuffling) none is missing, and only what fills up comes twice.
void expect_in_step(const SampleSetup& setup, const std::string& state, std::uint64_t base,
                    std::uint64_t world, std::uint64_t batch) {
  const Rest rest = rest_of_epoch(setup, state, world, batch);
  SCOPED_TRACE(std::to_string(setup.samples) + " samples, " + std::to_string(base) + " used, " +
               std::to_string(world) + " replicas, batches of " + std::to_string(batch) + ", " +
               std::string(to_string(setup.tail)));
  ASSERT_TRUE(rest.batches.empty() || rest.batches.size() == world);
  for (const int batches : rest.batches) ASSERT_EQ(batches, rest.batches[0]);
  const bool any = !rest.batches.empty() && rest.batches[0] > 0;
  for (const std::uint64_t epoch : rest.resume_epochs) ASSERT_EQ(epoch, any ? 1u : 0u);
  if (!setup.groups.empty()) return;
  const std::uint64_t left = setup.samples - base;
  std::uint64_t missing = 0, again = 0;
  for (std::uint64_t sample = base; sample < setup.samples; ++sample) {
    missing += !rest.uses.contains(sample);
  }
  for (const auto& [sample, uses] : rest.uses) again += static_cast<std::uint64_t>(uses);
  again -= std::min(again, left - missing);
  ASSERT_EQ(missing, setup.tail == Tail::drop ? left % world : 0);
  const std::uint64_t filling = (world - left % world) % world;
  ASSERT_EQ(again, setup.tail == Tail::repeat                   ? filling
                   : setup.tail == Tail::uneven && left < world ? (left > 0 ? filling : 0)
                                                                : 0);
}

TEST(SampleStream, ReplicasHaveEquallyManyBatchesAlsoInAnEpochThatMoreOfThemGoOnWith) {
  std::size_t cases = 0;
  for (const Tail tail : {Tail::uneven, Tail::repeat, Tail::drop}) {
    for (std::uint64_t n = 1; n < 30; ++n) {
      for (std::uint64_t before = 1; before <= 5; ++before) {
        for (std::uint64_t world = 1; world <= 11; world += 2) {
          if (tail == Tail::drop && n < std::max(before, world)) continue;
          for (std::uint64_t steps = 0; steps * before < n; ++steps) {
            SampleStream stream(plain(n, tail), before, steps % before);
            if (steps > 0) use(stream, 1, static_cast<int>(steps), static_cast<int>(steps));
            if (stream.complete()) continue;
            expect_in_step(plain(n, tail), stream.print(), steps * before, world, 1 + n % 4);
            if (HasFatalFailure()) return;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 10'000u);
}

TEST(SampleStream, ReplicasHaveEquallyManyBatchesOfGroups) {
  for (std::uint64_t n = 1; n < 25; ++n) {
    SampleSetup setup{.samples = n, .tail = Tail::uneven, .batch_size = 2};
    for (std::uint64_t i = 0; i < n; ++i) setup.groups.push_back(static_cast<std::int64_t>(i % 3));
    for (std::uint64_t world = 1; world < 8; ++world) {
      expect_in_step(setup, "", 0, world, 2);
      if (HasFatalFailure()) return;
      SampleStream stream(setup, 2, 1);
      stream.begin();
      (void)stream.next(2);
      stream.advance();
      if (!stream.complete()) expect_in_step(setup, stream.print(), 2, world, 2);
      if (HasFatalFailure()) return;
    }
  }
}

// Epochs ------------------------------------------------------------------------------------------

TEST(SampleStream, EveryEpochHasAnOrderOfItsOwn) {
  SampleStream stream({.samples = 50, .seed = 3}, 1, 0);
  const Samples first = use_up(stream), second = use_up(stream);
  EXPECT_EQ(stream.epoch(), 1u);
  EXPECT_NE(first, second);
  const SampleOrder order(50, Shuffle::torch, 3, 1);
  for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(second[i], order[i]);
}

TEST(SampleStream, TheNextEpochBeginsByItselfOrBySettingIt) {
  SampleStream by_itself(plain(4), 1, 0), set(plain(4), 1, 0);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    use_up(by_itself);
    set.set_epoch(epoch);
    use_up(set);
    EXPECT_EQ(by_itself.epoch(), epoch);
    EXPECT_EQ(set.print(), by_itself.print());
  }
}

TEST(SampleStream, ProgressIsNeverAppliedToAnotherEpoch) {
  SampleStream stream(plain(10), 1, 0);
  stream.set_epoch(2);
  use(stream, 4, 1, 1);
  EXPECT_THAT(refused(stream, [&] { stream.set_epoch(3); }),
              HasSubstr("epoch 2 is used up to 4 of 10; finish it, or give up the rest"));
  SampleStream resumed(plain(10), 1, 0);
  resumed.parse(stream.print());
  EXPECT_EQ(resumed.resume_epoch(), 2u);
  EXPECT_THAT(refused(resumed, [&] { resumed.set_epoch(0); }), HasSubstr("epoch 2 is used"));
  resumed.set_epoch(2);
  EXPECT_THAT(use_up(resumed), ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_EQ(resumed.resume_epoch(), 3u);
  EXPECT_THAT(refused(resumed, [&] { resumed.set_epoch(2); }),
              HasSubstr("epoch 2 is complete already; go on with epoch 3"));
}

TEST(SampleStream, AnExceptionInAnEpochKeepsTheProgressAndTheEpochGoesOn) {
  SampleStream stream(plain(10), 1, 0);
  try {
    stream.begin();
    while (const auto samples = stream.next(2)) {
      if ((*samples)[0] == 4) throw std::runtime_error("out of memory");
      stream.advance();
    }
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(stream.consumed(), 4u);
  stream.set_epoch(0);
  EXPECT_THAT(use_up(stream), ElementsAre(4, 5, 6, 7, 8, 9));
}

TEST(SampleStream, TheRestOfAnEpochCanBeGivenUp) {
  SampleStream stream(plain(10), 1, 0);
  use(stream, 4, 2, 1);
  stream.end_epoch();
  EXPECT_EQ(stream.remaining(), 0u);
  EXPECT_EQ(stream.resume_epoch(), 1u);
  const std::vector<std::string> records{stream.epoch_record()};
  const auto audit = audit_samples(records);
  EXPECT_EQ(audit.at(0).unused, 6u);
  EXPECT_FALSE(audit[0].exact());
  SampleStream more(plain(10), 3, 1);
  more.parse(stream.print());  // by another number of replicas, too
  EXPECT_EQ(more.resume_epoch(), 1u);
  stream.set_epoch(1);
  EXPECT_EQ(use_up(stream).size(), 10u);
}

TEST(SampleStream, OfNoSamplesWorksAndIsEmpty) {
  SampleStream stream(plain(0), 4, 2);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    stream.set_epoch(epoch);
    EXPECT_THAT(use_up(stream), IsEmpty());
  }
}

// What is refused ---------------------------------------------------------------------------------

TEST(SampleStream, RefusesReplicasThatCannotBe) {
  EXPECT_THAT([] { SampleStream(plain(4), 0, 0); },
              ThrowsMessage<Error>(HasSubstr("no rank 0 among 0 replicas")));
  EXPECT_THAT([] { SampleStream(plain(4), 2, 2); },
              ThrowsMessage<Error>(HasSubstr("no rank 2 among 2 replicas: ranks count from 0")));
  EXPECT_THAT([] { SampleStream(plain(3, Tail::drop), 4, 0); },
              ThrowsMessage<Error>(HasSubstr("3 samples are not enough for 4 replicas")));
}

TEST(SampleStream, RefusesTheStateOfAnotherDataSetOrGeometryAndSaysWhich) {
  SampleStream saved({.samples = 10, .seed = 1, .data = "a"}, 2, 0);
  use(saved, 2, 2, 2);
  const auto refusal = [&](SampleSetup setup) {
    SampleStream stream(std::move(setup), 2, 0);
    return refused(stream, [&] { stream.parse(saved.print()); });
  };
  EXPECT_THAT(refusal({.samples = 11, .seed = 1, .data = "a"}),
              HasSubstr("saved with samples 10, and this program has 11"));
  EXPECT_THAT(refusal({.samples = 10, .seed = 2, .data = "a"}), HasSubstr("seed 1"));
  EXPECT_THAT(refusal({.samples = 10, .seed = 1, .data = "b"}),
              HasSubstr("data \"a\", and this program has \"b\""));
  EXPECT_THAT(refusal({.samples = 10, .shuffle = Shuffle::keyed, .seed = 1, .data = "a"}),
              HasSubstr("shuffle \"torch\", and this program has \"keyed\""));
  EXPECT_THAT(refusal({.samples = 10, .seed = 1, .tail = Tail::drop, .data = "a"}),
              HasSubstr("tail"));
  EXPECT_THAT(refusal({.samples = 10,
                       .seed = 1,
                       .groups = std::vector<std::int64_t>(10),
                       .batch_size = 2,
                       .data = "a"}),
              HasSubstr("batch_size none, and this program has 2"));
  SampleStream same({.samples = 10, .seed = 1, .data = "a"}, 2, 0);
  EXPECT_NO_THROW(same.parse(saved.print()));
}

TEST(SampleStream, RefusesStatesThatCannotBe) {
  SampleStream stream(plain(10), 1, 0);
  const std::string good = stream.print();
  const auto refusal = [&](std::string from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refused(stream, [&] { stream.parse(text); });
  };
  EXPECT_THAT(refusal("\"count\":0", "\"count\":11"), HasSubstr("contradicts itself"));
  EXPECT_THAT(refusal("\"count\":0", "\"count\":-3"), HasSubstr("contradicts itself"));
  EXPECT_THAT(refusal("\"base\":0", "\"base\":11"), HasSubstr("contradicts itself"));
  EXPECT_THAT(refusal("\"world\":1", "\"world\":0"), HasSubstr("contradicts itself"));
  EXPECT_THAT(refusal("\"count\":0,", ""), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("{", "}"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("\"sampler\":1", "\"sampler\":2"), HasSubstr("later version"));
}

TEST(SampleStream, APositionThatChangesUnderALoaderIsNoticed) {
  SampleStream stream(plain(10), 1, 0), other(plain(10), 1, 0);
  use(other, 3, 1, 1);
  use(stream, 4, 2, 2);
  stream.parse(other.print());  // back to 3, while the loader stands at 8
  EXPECT_THAT(refused(stream, [&] { stream.next(4); }), HasSubstr("begin it again"));
  EXPECT_THAT(use_up(stream), ElementsAre(3, 4, 5, 6, 7, 8, 9));
}

TEST(SampleStream, ALoaderThatWasSteppedForwardGoesOnWhenItIsToldWhereItIs) {
  SampleStream saved(plain(10), 1, 0), resumed(plain(10), 1, 0);
  use(saved, 2, 3, 2);
  resumed.begin();
  for (int i = 0; i < 3; ++i) resumed.next(2);  // two steps, and one read ahead
  resumed.parse(saved.print());
  EXPECT_EQ(resumed.consumed(), 4u);
  EXPECT_THAT(*resumed.next(2), ElementsAre(6, 7));
  resumed.advance();  // the batch [4, 5]
  EXPECT_EQ(resumed.consumed(), 6u);
}

// World size --------------------------------------------------------------------------------------

/// What all replicas use from the state on, each sample by itself.
Samples rest_of(const std::string& state, std::uint64_t samples, std::uint64_t world,
                Tail tail = Tail::uneven) {
  Samples all;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    SampleStream stream(plain(samples, tail), world, rank);
    stream.parse(state);
    const Samples used = use_up(stream, 1);
    all.insert(all.end(), used.begin(), used.end());
  }
  std::ranges::sort(all);
  return all;
}

// The cases in which other samplers repeated 6 and lost 12 of 24 samples.
TEST(SampleStream, HalfAnEpochOfFourReplicasIsFinishedByAnyNumber) {
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    SampleStream stream(plain(24, Tail::uneven), 4, rank);
    use(stream, 3, 1, 1);
    for (const std::uint64_t world : {1, 2, 3, 4, 5, 8, 12}) {
      EXPECT_THAT(rest_of(stream.print(), 24, world),
                  ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
          << world;
    }
  }
}

TEST(SampleStream, AsManyReplicasAsBeforeKeepTheirSharesWhoseStateTheyLoad) {
  for (const Tail tail : {Tail::uneven, Tail::repeat}) {
    SampleSetup setup = plain(23, tail);
    setup.shuffle = Shuffle::torch;
    SampleStream saved(setup, 3, 0);
    use(saved, 2, 3, 2);  // each of them used 4
    testing::ThreadGroups groups(3);
    std::vector<std::string> records(3);
    const auto errors = groups.run([&](Group& group) {
      const auto rank = static_cast<std::uint64_t>(group.rank());
      SampleStream own(setup, 3, rank), stream(setup, 3, rank);
      stream.parse(saved.print());
      stream.agree(group);
      use(own, 2, 2, 2);
      EXPECT_EQ(stream.epoch_record(), own.epoch_record());
      EXPECT_EQ(use_up(stream, 2), use_up(own, 2));
      stream.agree(group);
      EXPECT_EQ(stream.resume_epoch(), 1u);
      records[rank] = stream.epoch_record();
    });
    EXPECT_THAT(errors, ::testing::Each(""));
    const auto audit = audit_samples(records);
    ASSERT_EQ(audit.size(), 1u);
    EXPECT_TRUE(audit[0].exact());
    EXPECT_EQ(audit[0].known, 3u);
    EXPECT_EQ(audit[0].once, tail == Tail::uneven ? 23u : 22u);
  }
}

TEST(SampleStream, AnEpochWhoseRestIsDroppedIsCompleteAlsoForReplicasThatAgree) {
  testing::ThreadGroups groups(3);
  const auto errors = groups.run([&](Group& group) {
    SampleStream stream(plain(11, Tail::drop), 3, static_cast<std::uint64_t>(group.rank()));
    use_up(stream);
    stream.agree(group);
    EXPECT_EQ(stream.resume_epoch(), 1u);
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(SampleStream, SamplesThatFillUpAreRepeatedAtTheEndOnly) {
  SampleStream stream(plain(10), 2, 0);
  use(stream, 2, 1, 1);  // 4 of 10
  EXPECT_THAT(rest_of(stream.print(), 10, 4, Tail::repeat), ElementsAre(0, 1, 4, 5, 6, 7, 8, 9));
}

TEST(SampleStream, ReplicasThatAreNotInStepAreToldSoOnAllOfThem) {
  testing::ThreadGroups groups(3);
  const auto errors = groups.run([&](Group& group) {
    SampleStream stream(plain(24), 3, static_cast<std::uint64_t>(group.rank()));
    use(stream, 2, 3, group.rank() == 1 ? 3 : 2);
    stream.agree(group);
  });
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("the replicas are not in step")));
}

TEST(SampleStream, ReplicasThatAgreeMaySaveFromAnyOfThemAtAnUnevenEnd) {
  testing::ThreadGroups groups(3);
  std::vector<std::string> states(3);
  const auto errors = groups.run([&](Group& group) {
    const auto rank = static_cast<std::uint64_t>(group.rank());
    SampleStream stream(plain(7, Tail::uneven), 3, rank);
    stream.begin();
    for (std::uint64_t i = 0; i < 2; ++i) {
      stream.next(1);
      stream.advance(1);
    }
    // Rank 0 has one more, [2, 6]: it comes with the last batch, of which only half was used.
    stream.agree(group);
    states[rank] = stream.print();
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  for (const std::string& state : states) {
    EXPECT_THAT(rest_of(state, 7, 1), ElementsAre(6)) << state;
    EXPECT_THAT(rest_of(state, 7, 2), ElementsAre(0, 6)) << "both have a batch";
  }
}

TEST(SampleStream, OfAShardedSetGivesAReplicaItsOwnSamplesInEveryEpochInAnotherOrder) {
  const SampleOrder pool = SampleOrder::pool(23, Shuffle::torch, 8);
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    SampleStream stream({.samples = 23, .seed = 8, .tail = Tail::uneven, .sharded = true}, 4, rank);
    std::set<std::size_t> lane;
    for (std::uint64_t i = rank; i < 23; i += 4) lane.insert(pool[i]);
    std::set<Samples> orders;
    for (int epoch = 0; epoch < 4; ++epoch) {
      const Samples used = use_up(stream);
      EXPECT_EQ(std::set<std::size_t>(used.begin(), used.end()), lane);
      orders.insert(used);
    }
    EXPECT_EQ(orders.size(), 4u);
  }
}

TEST(SampleStream, OfAShardedSetThatWasBegunByOthersIsFinishedAndDealtAnewInTheNextEpoch) {
  const SampleSetup setup{
      .samples = 12, .shuffle = Shuffle::none, .tail = Tail::uneven, .sharded = true};
  SampleStream stream(setup, 2, 0);
  use(stream, 2, 1, 1);  // 0 to 3 are used
  Samples rest;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    SampleStream more(setup, 3, rank);
    more.parse(stream.print());
    const Samples used = use_up(more);
    rest.insert(rest.end(), used.begin(), used.end());
    EXPECT_THAT(use_up(more), ElementsAre(rank, rank + 3, rank + 6, rank + 9));
  }
  std::ranges::sort(rest);
  EXPECT_THAT(rest, ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

// Groups ------------------------------------------------------------------------------------------

TEST(SampleStream, OfGroupsCountsBatchesAndGoesOnAtAnyWorldSize) {
  const std::vector<std::int64_t> groups{0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
  const auto setup = [&] {
    return SampleSetup{.samples = groups.size(),
                       .seed = 4,
                       .tail = Tail::uneven,
                       .groups = groups,
                       .batch_size = 2};
  };
  SampleStream first(setup(), 2, 0);
  EXPECT_EQ(first.size(), 4u);  // of 7 batches
  first.begin();
  std::multiset<std::size_t> used;
  const auto take = [&](SampleStream& stream) {
    const auto batch = stream.next(2);
    for (const std::size_t sample : *batch) {
      EXPECT_EQ(groups[sample], groups[(*batch)[0]]);
      used.insert(sample);
    }
    stream.advance();
  };
  SampleStream second(setup(), 2, 1);
  second.begin();
  take(first);
  take(second);
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    SampleStream stream(setup(), 3, rank);
    stream.parse(second.print());
    stream.begin();
    while (stream.remaining() > 0) take(stream);
  }
  EXPECT_EQ(used.size(), groups.size() + 2) << "of five batches three replicas get two each";
  EXPECT_EQ(std::set<std::size_t>(used.begin(), used.end()).size(), groups.size());
  EXPECT_THAT(refused(first, [&] { first.next(3); }),
              HasSubstr("asks for batches of 3, but the sampler makes batches of 2"));
}

}  // namespace
}  // namespace flor
