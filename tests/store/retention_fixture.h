// Runs with several epochs, and what the tests of retention ask and say about them.
#pragma once

#include "retention/retention.h"
#include "store_fixture.h"

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

inline const WriterOptions kOneThread{.threads = 1, .priority = {}};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline CheckpointKey loop_end(std::int64_t iteration, const std::string& loop = "train") {
  return {CheckpointKind::loop_end, 0, iteration, loop};
}

inline Value logged(const std::string& name, std::int64_t epoch, ValueType type, Scalar scalar,
                    std::int64_t step = -1) {
  Value value;
  value.name = name;
  value.place = {step < 0 ? "epoch" : "epoch/train", epoch, step, ""};
  value.type = type;
  value.value = std::move(scalar);
  return value;
}

inline KeepRules best(std::int64_t count, ScoreOrder order = ScoreOrder::min,
                      const std::string& metric = "loss") {
  return {.best = {{.count = count, .metric = metric, .order = order}}};
}

class RetentionTest : public StoreTest {
 protected:
  /// A run whose epochs logged these losses, NaN included; nothing where there is none.
  Run record(Store& store, const std::vector<Score>& losses, std::size_t weights = 300,
             NewRun start = new_run("linear")) {
    const Run run = store.catalog().add_run(std::move(start));
    CheckpointWriter writer(store, run.id, kOneThread);
    writer.write(boundary(0), state(0, weights));
    writer.write(loop_end(0, "train@begin"), make_snapshot(9, 0, 8));
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto epoch = static_cast<std::int64_t>(i);
      if (losses[i]) add(store, run, logged("loss", epoch, ValueType::real, *losses[i]));
      writer.write(loop_end(epoch), state(epoch + 1, weights));
      writer.write(boundary(epoch + 1), state(epoch + 1, weights));
      writer.write(loop_end(epoch + 1, "train@begin"), make_snapshot(9, static_cast<int>(i), 8));
      store.catalog().add_execution(run.id, {0, epoch, "train", 4, false, 0.5});
      store.catalog().add_iteration(run.id, {0, epoch, 0.75, 0.0015});
      store.catalog().put_main_loop(run.id, {0, "epoch", 0, epoch + 1, false, false});
    }
    return run;
  }
  /// A rank of two; `leader`: the run of rank 0. All losses are the same.
  Run record_rank(Store& store, std::int64_t leader, std::int64_t rank, std::size_t epochs) {
    NewRun start = new_run("linear");
    start.rank = RankPlace{leader, rank, 2};
    return record(store, std::vector<Score>(epochs, 1.0), 300, std::move(start));
  }
  static Snapshot state(std::int64_t epoch, std::size_t weights) {
    return make_snapshot(1, static_cast<int>(epoch), weights);
  }
  static void add(Store& store, const Run& run, const Value& value) {
    store.catalog().add_values(run.id, std::span(&value, 1));
  }
  static std::int64_t add_replay(Store& store, const Run& run) {
    NewReplay replay;
    replay.run = run.id;
    replay.last_epoch = 2;
    return store.catalog().add_replay(replay);
  }
  /// A loop with attached locals runs in an epoch, of which its end may be stored.
  static void execute(Store& store, const Run& run, std::int64_t epoch, bool stored) {
    CheckpointWriter writer(store, run.id, kOneThread);
    writer.write(loop_end(epoch, "eval@begin"), make_snapshot(9, 0, 8));
    if (stored) writer.write(loop_end(epoch, "eval"), make_snapshot(9, 1, 8));
    store.catalog().add_execution(run.id, {0, epoch, "eval", 4, false, 0.5});
  }
  /// Says how many epochs are complete, whatever is stored of them.
  static void complete(Store& store, const Run& run, std::int64_t epochs) {
    store.catalog().put_main_loop(run.id, {0, "epoch", 0, epochs, false, false});
  }
  static void save(Store& store, const Run& run, std::int64_t number, const std::string& name,
                   double loss) {
    const CheckpointKey key{CheckpointKind::saved, 0, 0, name};
    CheckpointWriter(store, run.id, kOneThread).write(key, state(number, 300));
    store.catalog().add_saved(run.id, {.number = number,
                                       .name = name,
                                       .key = key,
                                       .place = {"epoch", 0, -1, ""},
                                       .ordinal = number,
                                       .scores = {{"loss", loss}}});
  }
  static void finish(Store& store, const Run& run) {
    store.catalog().finish_run(run.id, 1, false, "");
  }

  /// Epochs of which the boundary is stored, counted from 1; 0 is the state before the loop.
  static std::vector<std::int64_t> epochs(const Store& store, const Run& run) {
    std::vector<std::int64_t> list;
    for (const CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
      if (info.key.kind == CheckpointKind::boundary) list.push_back(info.key.iteration);
    }
    return list;
  }
  static std::set<std::string> keys(const Store& store, const Run& run) {
    std::set<std::string> set;
    for (const CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
      set.insert(info.key.loop + std::to_string(info.key.iteration));
    }
    return set;
  }
  static void expect_intact(const Store& store, const Run& run, std::size_t weights = 300) {
    for (const CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
      if (info.key.kind != CheckpointKind::boundary) continue;
      expect_holds(store, info.id, state(info.key.iteration, weights));
    }
    EXPECT_EQ(damage(store), "");
  }
};

}  // namespace flor::store
