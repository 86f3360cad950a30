// A recording as the recorder has it, of a program that a test plays: loops by hand, and a state of
// one number.
#pragma once

#include "base/background_thread.h"
#include "record/loop_recorder.h"
#include "record/run_storage.h"
#include "session/journal.h"
#include "state/registry.h"
#include "support/temporary_directory.h"

#include <flor/store/store.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flor::detail::recording_test {

inline store::Value number(const char* name, std::int64_t epoch, double value) {
  store::Value made;
  made.name = name;
  made.place.epoch = epoch;
  made.value = value;
  return made;
}

/// One process: it begins with a run that is in the store.
class Recording {
 public:
  Recording(std::shared_ptr<store::Store> opened, store::Run of, Flags given = {})
      : store(std::move(opened)), run(std::move(of)), flags(std::move(given)) {
    std::vector<Slot> slots;
    slots.push_back(slot_of(named("x", x)));
    registry.add(std::move(slots));
    loops.set_rule(flags);
  }
  ~Recording() { background.reset(); }

  /// When all that precedes the first loop is done.
  void open() {
    storage.open({});
    background = std::make_unique<Background>(priority, [] {});
  }
  void drain() { background->drain(); }

  Frame frame(const char* name) {
    Frame made(name, {});
    made.component = name;
    made.depth = frames.size();
    made.opened_at = Clock::now();
    return made;
  }
  void begin(Frame& main) {
    loops.begin_main(main);
    frames.push_back(&main);
    loops.open_main(main);
  }
  void begin_iteration(Frame& main) {
    main.iteration.began = Clock::now();
    loops.begin_iteration(true);
  }
  /// Complete iterations; each adds 1 to the state.
  void execute(Frame& main, int iterations) {
    for (int i = 0; i < iterations; ++i) {
      begin_iteration(main);
      ++x;
      loops.end_iteration(main, false);
      drain();
    }
  }
  void end(Frame& main, LoopEnd how) {
    loops.end_main(main, how);
    std::erase(frames, &main);
  }
  /// A step of a nested loop.
  void step(Frame& nested) {
    ++nested.index;
    loops.step(nested);
    drain();
  }
  void write_waiting() {
    background->post([this] { storage.write_waiting(); });
    drain();
  }

  int x = 0;
  std::shared_ptr<store::Store> store;
  store::Run run;
  Flags flags;
  Registry registry;
  Journal journal;
  std::vector<Frame*> frames;
  std::shared_ptr<store::BackgroundPriority> priority =
      std::make_shared<store::BackgroundPriority>();
  std::unique_ptr<Background> background;
  GroupMember group{std::nullopt};
  RunStorage storage{
      {.store = store,
       .run = run,
       .priority = priority,
       .group = group,
       .flush_journal = [] {},
       .written_files = [] { return std::vector<store::UsedFile>(); }}};
  LoopRecorder loops{{.flags = flags,
                      .frames = frames,
                      .registry = registry,
                      .background = background,
                      .priority = priority,
                      .run = run,
                      .storage = storage,
                      .group = group}};
};

class RecordingTest : public ::testing::Test {
 protected:
  store::Run add_run() {
    store::NewRun run;
    run.experiment = "test";
    return store_->catalog().add_run(run);
  }
  static Flags every(std::int64_t iterations) {
    Flags flags;
    flags.every = iterations;
    return flags;
  }
  store::Run now(const store::Run& run) const {
    (void)store_->catalog().follow();
    return store_->catalog().run(run.id).value();
  }
  /// "2" for a boundary, "2 train@4" for one inside an iteration.
  std::vector<std::string> stored(const store::Run& run) const {
    (void)store_->catalog().follow();
    std::vector<std::string> names;
    for (const store::CheckpointInfo& info : store_->catalog().checkpoints(run.id)) {
      names.push_back(std::to_string(info.key.iteration) +
                      (info.key.loop.empty() ? "" : " " + info.key.loop));
    }
    return names;
  }

  flor::testing::TemporaryDirectory home_{flor::testing::fast_parent()};
  std::shared_ptr<store::Store> store_ = store::Store::open(home_.path(), store::OpenMode::create);
};

}  // namespace flor::detail::recording_test
