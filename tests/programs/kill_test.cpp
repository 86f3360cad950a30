// A recording is killed at random instants. Each time the store must be sound, hold everything that
// was reported as stored, replay, and take the next recording.
#include "workbench.h"

#include <chrono>
#include <random>
#include <thread>

namespace flor::testing::kill_test {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::IsEmpty;

class Kill : public ::testing::Test {
 protected:
  static Words recording() {
    return {"--flor",   "test",       "--flor_every", "1",
            "--kwargs", "size=20000", "epochs=12",    "steps=2"};
  }
  std::unique_ptr<Process> start() const {
    auto options = bench_.options();
    options.environment["FLOR_LOG"] = "info";
    return std::make_unique<Process>(Words{program("trainer").string()} + recording(), options);
  }
  /// "boundary 3" and "train 2" of the lines that say what was stored.
  static std::set<std::string> reported(const std::string& err) {
    std::set<std::string> keys;
    for (const auto& line : lines_with(err, {"flor: stored "})) {
      std::istringstream words(line);
      std::string word, kind, number;
      words >> word >> word >> kind >> number;
      const bool before = line.find(", before train") != std::string::npos;
      const char* place = kind == "boundary" ? "boundary 0/"
                          : before           ? "train@begin 0/"
                                             : "train 0/";
      keys.insert(place + number);
    }
    return keys;
  }
  /// Every checkpoint of the run is read back and compared with its digests.
  void read_all() const {
    const auto store = bench_.store();
    for (const auto& info : store->catalog().checkpoints(bench_.last_run().id)) {
      const store::CheckpointReader reader(*store, info.id);
      for (std::size_t i = 0; i < reader.items().size(); ++i) {
        EXPECT_EQ(reader.read(i).size(), reader.items()[i].bytes);
      }
    }
  }

  void storm(int kills, unsigned seed) {
    bench_.use_home(disk_ / "store");  // a real disk: this is about what is durable in which order
    const auto began = Clock::now();
    const auto whole = start()->wait();
    ASSERT_EQ(whole.status, 0) << whole.err;
    auto length = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
    ASSERT_EQ(reported(whole.err).size(), 37u)
        << "boundaries, ends of loops and what precedes them";
    std::mt19937 engine(seed);
    std::size_t runs = bench_.run_count();
    int cut_short = 0;
    for (int i = 0; i < kills; ++i) {
      SCOPED_TRACE("kill " + std::to_string(i));
      const auto process = start();
      const std::chrono::microseconds instant(
          std::uniform_int_distribution<long>(0, length.count())(engine));
      std::this_thread::sleep_for(instant);
      process->kill(SIGKILL);
      const auto result = process->wait();
      if (result.signal != SIGKILL) length = instant;  // so short it is while the machine is idle
      ASSERT_THAT(bench_.damage(), IsEmpty());
      if (bench_.run_count() == runs) continue;  // it had not begun
      runs = bench_.run_count();
      const auto run = bench_.last_run();
      if (result.signal == SIGKILL && run.state != store::RunState::finished) {
        EXPECT_EQ(run.state, store::RunState::interrupted);
        ++cut_short;
      }
      const auto stored = bench_.checkpoints();
      for (const auto& key : reported(result.err)) {
        EXPECT_TRUE(stored.contains(key)) << key << " was reported as stored";
      }
      read_all();
      if (i % 5 == 0 && run.epochs > 0) expect_replays(whole, run.epochs);
    }
    EXPECT_GT(cut_short, kills / 8) << "the instants were to lie inside the recording";
    EXPECT_EQ(bench_.run("trainer", recording()).status, 0) << "a following recording works";
    expect_replays(whole, 12);
  }

  void expect_replays(const ProcessResult& whole, std::int64_t epochs) const {
    const auto replayed = bench_.replay("trainer", {"--flor_run", "test", "--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    auto expected = lines_of(whole.out);
    expected.resize(static_cast<std::size_t>(epochs) * 3);
    EXPECT_EQ(lines_of(replayed.out), expected);
  }

  Workbench bench_;
  TemporaryDirectory disk_;
};

TEST_F(Kill, AtFiftyRandomInstantsTheStoreStaysSoundAndGoesOn) { storm(50, 1); }

using KillSlow = Kill;
TEST_F(KillSlow, AtFiveHundredRandomInstantsTheStoreStaysSoundAndGoesOn) { storm(500, 2); }

}  // namespace
}  // namespace flor::testing::kill_test
