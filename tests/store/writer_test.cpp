// How a checkpoint is written: with how many threads, how much effort and how much memory.
#include "database/sqlite.h"
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "pack/chunk_encoder.h"
#include "run_fixture.h"
#include "support/content.h"
#include "support/packs.h"
#include "support/sanitized.h"

#include <flor/store/error.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

/// Tells a test that the writer writes.
class WatchedFilesystem : public Filesystem {
 public:
  std::function<void()> on_write = [] {};

  ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) override {
    on_write();
    return Filesystem::pwrite(descriptor, bytes, size, offset);
  }
};

/// Many chunks of every kind that the codec knows; a later step differs a little.
Snapshot varied_snapshot(int step) {
  Snapshot snapshot = make_snapshot(3, step, 900'000);
  const auto add = [&](const char* name, ElementType type, auto first, auto change,
                       std::size_t count) {
    std::vector<decltype(first)> values(count);
    std::minstd_rand random(7);
    for (auto& value : values) {
      value = static_cast<decltype(first)>(first + static_cast<decltype(first)>(random() % 1000) +
                                           static_cast<decltype(first)>(change * step));
    }
    std::vector<std::byte> bytes(count * sizeof(first));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    SnapshotItem item = bytes_snapshot(name, std::move(bytes)).items[0];
    item.item.type = type;
    snapshot.items.push_back(item);
  };
  add("f64", ElementType::f64, 1.0, 0.01, 300'000);
  add("i64", ElementType::i64, std::int64_t{1} << 40, std::int64_t{3}, 300'000);
  add("i32", ElementType::i32, 17, 1, 600'000);
  add("f16", ElementType::f16, std::uint16_t{0x3800}, std::uint16_t{1}, 1'500'000);
  add("bf16", ElementType::bf16, std::uint16_t{0x3f80}, std::uint16_t{1}, 1'500'000);
  snapshot.items.push_back(
      bytes_snapshot("noise", random_bytes(static_cast<unsigned>(step), 3'000'000)).items[0]);
  std::string text;
  while (text.size() < 2'000'000) text += std::to_string(text.size() + step) + " some text, ";
  const auto letters = std::as_bytes(std::span(text));
  snapshot.items.push_back(bytes_snapshot("text", {letters.begin(), letters.end()}).items[0]);
  return snapshot;
}

class WriterTest : public RunTest {};

WriterOptions with_threads(unsigned threads) {
  WriterOptions options;
  options.threads = threads;
  return options;
}

WriterOptions with_effort(Effort effort) {
  WriterOptions options;
  options.effort = effort;
  return options;
}

TEST_F(WriterTest, WritesTheSameBytesWithAnyNumberOfThreads) {
  std::string expected;
  for (const unsigned threads : {1u, 2u, 5u}) {
    const auto place = directory_ / ("home" + std::to_string(threads));
    const auto store = Store::open(place, OpenMode::create);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id, with_threads(threads));
    for (int step = 0; step < 3; ++step) {
      const Snapshot snapshot = varied_snapshot(step);
      expect_holds(*store, writer.write(boundary(step), snapshot).id, snapshot);
    }
    const auto pack = flor::testing::packs_of(place).at(0).path();
    std::string bytes = testing::content_of(pack);
    bytes.erase(0, 32);  // the header has the pack's random name
    if (expected.empty()) expected = bytes;
    EXPECT_TRUE(bytes == expected) << threads << " threads";
    EXPECT_GT(bytes.size(), 10'000'000u);
  }
}

TEST_F(WriterTest, ComesBackBitForBitWhateverTheEffort) {
  for (const Effort effort : {Effort::full, Effort::fast, Effort::raw}) {
    CheckpointWriter writer(*store_, run_.id, with_effort(effort));
    EXPECT_EQ(writer.effort(), effort);
    for (int step = 0; step < 3; ++step) {
      const Snapshot snapshot = varied_snapshot(step + 10 * static_cast<int>(effort));
      expect_holds(*store_, writer.write(boundary(step), snapshot).id, snapshot);
    }
  }
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(WriterTest, TakesNoBaseInAHurryAndStoresAsItIsInAGreaterOne) {
  CheckpointWriter writer(*store_, run_.id, with_effort(Effort::fast));
  writer.write(boundary(0), varied_snapshot(0));
  const std::uint64_t fast = writer.write(boundary(1), varied_snapshot(1)).stored_bytes;
  EXPECT_EQ(query("SELECT count(*) FROM chunk WHERE base IS NOT NULL"), 0);
  EXPECT_GT(query("SELECT count(*) FROM chunk WHERE codec = 2"), 5);
  const std::int64_t before = query("SELECT max(id) FROM chunk");
  writer.set_effort(Effort::raw);
  const Snapshot snapshot = varied_snapshot(2);
  const std::uint64_t raw = writer.write(boundary(2), snapshot).stored_bytes;
  EXPECT_EQ(query("SELECT count(*) FROM chunk WHERE codec <> 0 AND id > " + std::to_string(before)),
            0);
  EXPECT_LT(fast, raw);
  writer.set_effort(Effort::full);
  EXPECT_LT(writer.write(boundary(3), varied_snapshot(3)).stored_bytes, fast);
}

TEST_F(WriterTest, StoresDifferencesToWhatWasWrittenInAHurry) {
  for (const Effort hurried : {Effort::fast, Effort::raw}) {
    const int first = 100 * static_cast<int>(hurried);
    CheckpointWriter writer(*store_, run_.id, with_effort(hurried));
    writer.write(boundary(first), varied_snapshot(first));
    const std::int64_t before = query("SELECT max(id) FROM chunk");
    writer.set_effort(Effort::full);
    const Snapshot snapshot = varied_snapshot(first + 1);
    const CheckpointInfo info = writer.write(boundary(first + 1), snapshot);
    EXPECT_GT(query("SELECT count(*) FROM chunk JOIN chunk AS base ON base.id = chunk.base WHERE "
                    "base.id <= " +
                    std::to_string(before) + " AND chunk.id > " + std::to_string(before)),
              5);
    expect_holds(*store_, info.id, snapshot);
  }
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(WriterTest, FollowsTheEffortFromTheNextChunkOn) {
  WatchedFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::existing, files);
  CheckpointWriter writer(*store, run_.id, with_threads(1));
  const Snapshot snapshot = make_snapshot(1, 0, 1'500'000);
  int writes = 0;
  files.on_write = [&] {
    if (++writes == 3) writer.set_effort(Effort::raw);
  };
  const CheckpointInfo info = writer.write(boundary(0), snapshot);
  files.on_write = [] {};
  EXPECT_GT(query("SELECT count(*) FROM chunk WHERE codec <> 0 AND raw_bytes = 1048576"), 0);
  EXPECT_GT(query("SELECT count(*) FROM chunk WHERE codec = 0 AND raw_bytes = 1048576"), 0);
  // Nothing that was begun later is of an earlier effort.
  EXPECT_LT(query("SELECT max(id) FROM chunk WHERE codec <> 0"),
            query("SELECT min(id) FROM chunk WHERE codec = 0 AND raw_bytes = 1048576"));
  expect_holds(*store, info.id, snapshot);
}

TEST_F(WriterTest, TheEffortMayChangeAllTheTime) {
  CheckpointWriter writer(*store_, run_.id, with_threads(3));
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (unsigned i = 0; !done; ++i) {
      writer.set_effort(static_cast<Effort>(i % 3));
      std::this_thread::yield();
    }
  });
  std::vector<std::int64_t> ids;
  for (int step = 0; step < 4; ++step) {
    ids.push_back(writer.write(boundary(step), varied_snapshot(step)).id);
  }
  done = true;
  other.join();
  for (int step = 0; step < 4; ++step) {
    expect_holds(*store_, ids[static_cast<std::size_t>(step)], varied_snapshot(step));
  }
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(WriterTest, HoldsNoMoreMemoryThanItSays) {
  for (const unsigned threads : {1u, 3u}) {
    CheckpointWriter writer(*store_, run_.id, with_threads(threads));
    const int first = static_cast<int>(10 * threads);
    for (int step = first; step < first + 3; ++step) {
      writer.write(boundary(step), varied_snapshot(step));
    }
    const std::uint64_t bytes = writer.buffer_bytes();
    EXPECT_GT(bytes, 1u << 20);
    EXPECT_LE(bytes, CheckpointWriter::buffer_bytes_max(threads));
    // Ten times the state takes no more than that either.
    Snapshot large;
    for (int i = 0; i < 10; ++i) {
      for (SnapshotItem item : varied_snapshot(1000 + first + i).items) {
        item.item.name += std::to_string(i);
        large.items.push_back(item);
      }
    }
    writer.write(boundary(first + 3), large);
    EXPECT_LE(writer.buffer_bytes(), CheckpointWriter::buffer_bytes_max(threads));
  }
}

TEST_F(WriterTest, KeepsFewPayloadsInFlightHoweverSlowTheDiskIs) {
  constexpr unsigned kThreads = 3;
  ChunkEncoder encoder(with_threads(kThreads));
  const std::vector<std::byte> content = random_bytes(1, 40 * 65536);
  std::vector<NewChunk> chunks(40);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].raw = std::span(content).subspan(i * 65536, 65536);
    chunks[i].digest = digest_of(chunks[i].raw);
  }
  std::size_t next = 0;
  encoder.encode(chunks, [&](const NewChunk& chunk, const EncodedChunk& encoded) {
    EXPECT_EQ(&chunk, &chunks[next++]);
    EXPECT_EQ(encoded.header.digest, chunk.digest);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others could run far ahead
  });
  EXPECT_EQ(next, chunks.size());
  EXPECT_GE(encoder.payloads_most(), 1u);
  EXPECT_LE(encoder.payloads_most(), ChunkEncoder::ring_size(kThreads));
  EXPECT_LE(encoder.memory(), ChunkEncoder::memory_max(kThreads));
}

TEST_F(WriterTest, ADiskThatFailsUnderSeveralThreadsLeavesTheWriterUsable) {
  FaultyFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::existing, files);
  CheckpointWriter writer(*store, run_.id, with_threads(3));
  const Snapshot snapshot = varied_snapshot(0);
  int failures = 0;
  for (int n = 1; n < 40; n += 3) {
    files.heal();
    files.fail_at = n;
    try {
      writer.write(boundary(0), snapshot);
      break;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("No space left"));
      ++failures;
    }
  }
  EXPECT_GT(failures, 5);
  files.heal();
  expect_holds(*store, writer.write(boundary(1), snapshot).id, snapshot);
  EXPECT_EQ(damage(*store), "");
}

TEST_F(WriterTest, AForkedChildNeedNotWaitForThreadsThatItDoesNotHave) {
  auto writer = std::make_unique<CheckpointWriter>(*store_, run_.id, with_threads(3));
  writer->write(boundary(0), make_snapshot(1, 0));
  const pid_t child = start_process([&] {
    ::alarm(20);  // instead of hanging for ever
    writer.reset();
    return 0;
  });
  EXPECT_EQ(wait_for(child), 0);
  const Snapshot snapshot = make_snapshot(1, 1);
  expect_holds(*store_, writer->write(boundary(1), snapshot).id, snapshot);
}

TEST(Record, TheChecksumOfBytesFollowsFromTheirDigest) {
  for (std::size_t size = 0; size < 3000; size += size < 300 ? 1 : 97) {
    const std::vector<std::byte> bytes = random_bytes(static_cast<unsigned>(size), size);
    EXPECT_EQ(checksum(bytes, digest_of(bytes)), checksum(bytes)) << size;
  }
  const std::vector<std::byte> chunk = random_bytes(1, kChunkBytes);
  EXPECT_EQ(checksum(chunk, digest_of(chunk)), checksum(chunk));
}

TEST(WorkerPool, DoesEachPieceOfWorkOnce) {
  for (const unsigned threads : {1u, 4u}) {
    WorkerPool pool(threads, nullptr);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> done(100);
      pool.for_each(done.size(), [&](std::size_t i) { ++done[i]; });
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(WorkerPool, ThrowsWhatAWorkerThrewAndGoesOn) {
  WorkerPool pool(4, nullptr);
  const auto fail_at_seven = [](std::size_t i) {
    if (i == 7) throw Error("seven");
  };
  EXPECT_EQ(message_of<Error>([&] { pool.for_each(1000, fail_at_seven); }), "seven");
  std::atomic<int> done{0};
  pool.for_each(10, [&](std::size_t) { ++done; });
  EXPECT_EQ(done, 10);
}

TEST(WorkerPool, CanBeUsedAndDestroyedInAForkedChild) {
  // One allows no new threads in a forked child. The other's allocator does not know of fork(), and
  // waits for ever where a thread that is just starting had its lock.
  if (testing::kThreadSanitizer || testing::kAddressSanitizer) {
    GTEST_SKIP() << "sanitizers do not support threads in a forked child";
  }
  auto pool = std::make_unique<WorkerPool>(3, nullptr);
  pool->for_each(10, [](std::size_t) {});
  const pid_t child = start_process([&] {
    ::alarm(20);
    std::atomic<int> done{0};
    pool->for_each(10, [&](std::size_t) { ++done; });
    pool.reset();
    return done == 10 ? 0 : 1;
  });
  EXPECT_EQ(wait_for(child), 0);
}

TEST(BackgroundPriority, IsLowUnlessSomebodyWaits) {
  BackgroundPriority group;
  std::atomic<int> policy{-1};
  std::atomic<int> asked{0};
  std::thread thread([&] {
    const BackgroundPriority::Member member(group, "flor-test");
    for (int answered = 0; answered < 3;) {
      if (asked == answered) {
        std::this_thread::yield();
        continue;
      }
      ++answered;
      policy = ::sched_getscheduler(0);
      asked = -answered;
      while (asked < 0) std::this_thread::yield();
    }
  });
  const auto policy_now = [&](int question) {
    asked = question;
    while (asked != -question) std::this_thread::yield();
    const int answer = policy;
    asked = question;
    return answer;
  };
  const int before = policy_now(1);
  int hurried = -1;
  {
    const BackgroundPriority::Hurry hurry(group);
    const BackgroundPriority::Hurry again(group);
    hurried = policy_now(2);
  }
  const int after = policy_now(3);
  thread.join();
  EXPECT_EQ(after, before);
  EXPECT_EQ(hurried, SCHED_OTHER);
  // Where a thread may not leave SCHED_IDLE again it has a nice value instead.
  EXPECT_TRUE(before == SCHED_IDLE || before == SCHED_OTHER) << before;
}

}  // namespace
}  // namespace flor::store
