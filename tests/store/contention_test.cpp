// Two processes record, give up what is old and read back what they have, while a third collects
// garbage all the time; one of the three is killed at a random moment. Whatever the others do, each
// checkpoint that was reported and not given up is there.
#include "database/store_impl.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "promises.h"
#include "support/syscall_tracer.h"

#include <signal.h>

#include <chrono>
#include <thread>

namespace flor::store {
namespace {

using flor::testing::SharedCounter;

constexpr std::size_t kContended = 20'000;
constexpr int kSteps = 24;
constexpr int kRetained = 3;

class ContentionTest : public StoreTest {
 protected:
  struct Writer {
    std::int64_t run = 0;
    unsigned seed = 0;
    SharedCounter written, given_up;  ///< numbers of steps
    pid_t pid = -1;
  };

  std::filesystem::path fast_home() const { return memory_ / "home"; }

  void add_run(Writer& writer, unsigned seed) {
    writer.seed = seed;
    writer.written.set(0);
    writer.given_up.set(0);
    writer.run = Store::open(fast_home(), OpenMode::create)->catalog().add_run(new_run()).id;
    for (int step = 0; step < kSteps; ++step) {
      promises_.attempt(writer.run, boundary(step), make_snapshot(seed, step, kContended));
    }
  }

  int record(Writer& mine) {
    const auto store = Store::open(fast_home(), OpenMode::create);
    CheckpointWriter writer(*store, mine.run);
    for (int step = 0; step < kSteps; ++step) {
      const Snapshot snapshot = make_snapshot(mine.seed, step, kContended);
      writer.write(boundary(step), snapshot);
      mine.written.set(step + 1);
      const int oldest = std::max(0, step - kRetained + 1);
      if (oldest > 0) {
        mine.given_up.set(oldest);
        const CheckpointKey key = boundary(oldest - 1);
        store->catalog().drop_checkpoints(mine.run, std::span(&key, 1));
      }
      const auto info = store->catalog().checkpoint(mine.run, boundary(oldest));
      if (!info) return 3;
      expect_holds(*store, info->id, make_snapshot(mine.seed, oldest, kContended), 2);
      if (HasFailure()) return 4;
    }
    return 0;
  }

  int collect_all_the_time(SharedCounter& collections, const SharedCounter& stop) {
    const auto store = Store::open(fast_home(), OpenMode::create);
    while (stop.get() == 0) {
      collect(*store, false);
      collections.set(collections.get() + 1);
    }
    return 0;
  }

  /// `victim`: 0 and 1 a writer, 2 the collector, 3 nobody.
  void play_round(int victim, bool same_content, int delay_us) {
    SharedCounter stop, collections;
    Writer writers[2];
    for (unsigned i = 0; i < 2; ++i) add_run(writers[i], same_content ? 1 : 1 + i);
    pid_t pids[3];
    for (int i = 0; i < 2; ++i) pids[i] = start_process([&] { return record(writers[i]); });
    pids[2] = start_process([&] { return collect_all_the_time(collections, stop); });
    if (victim < 3) {
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
      ::kill(pids[victim], SIGKILL);
    }
    for (int i = 0; i < 2; ++i) expect_end(pids[i], i == victim);
    stop.set(1);
    expect_end(pids[2], victim == 2);

    std::vector<int> kept;
    for (int i = 0; i < 2; ++i) {
      const int first = promises_.size() - (2 - i) * kSteps;
      for (int step = writers[i].given_up.get(); step < writers[i].written.get(); ++step) {
        kept.push_back(first + step + 1);
      }
      EXPECT_TRUE(i == victim || writers[i].written.get() == kSteps);
    }
    checkpoints_ += kept.size();
    collections_ += collections.get();
    promises_.expect_kept(fast_home(), kept);
    collect(*Store::open(fast_home(), OpenMode::create), false);
    promises_.expect_kept(fast_home(), kept);
    expect_same_when_made_again(fast_home());
  }

  static void expect_end(pid_t pid, bool killed) {
    const int status = wait_for(pid);
    if (killed && status == -SIGKILL) return;  // else it was done before
    EXPECT_EQ(status, 0);
  }

  void play(int rounds) {
    std::minstd_rand random(4711);
    for (int round = 0; round < rounds; ++round) {
      play_round(round % 4, random() % 2 == 0, static_cast<int>(random() % 300'000));
      if (HasFailure()) FAIL() << "round " << round;
      if (round % 8 == 7) {
        // A store that stays small.
        std::filesystem::remove_all(fast_home());
        promises_ = {};
      }
    }
    std::printf("%d rounds, %d collections meanwhile, %zu checkpoints kept, none lost\n", rounds,
                collections_, checkpoints_);
    RecordProperty("rounds", rounds);
    EXPECT_GT(collections_, 0);
    EXPECT_GT(checkpoints_, 0u);
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  Promises promises_;
  std::size_t checkpoints_ = 0;
  int collections_ = 0;
};

TEST_F(ContentionTest, TwoWritersAndACollectionLoseNothing) { play(8); }

class ContentionOftenTest : public ContentionTest {};

TEST_F(ContentionOftenTest, TwoWritersAndACollectionLoseNothing) { play(96); }

}  // namespace
}  // namespace flor::store
