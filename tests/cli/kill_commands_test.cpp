// The commands that change a store, a bucket or a file, killed without a chance to clean up at any
// of their system calls: nothing that was there is lost or wrong, and the same command, given
// again, ends as if it had never been killed.
#include "store/store_fixture.h"
#include "support/packs.h"
#include "support/process.h"
#include "support/syscall_tracer.h"

#include <fmt/format.h>

#include <fcntl.h>

#include <climits>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace flor::testing {
namespace {

using store::Snapshot, store::Store;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::IsEmpty;

constexpr int kEpochs = 12;
constexpr std::size_t kWeights = 12'000;

/// Digests of checkpoints by run and place.
using Checkpoints = std::map<std::string, std::string>;

class KillCommands : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  std::filesystem::path original() const { return directory_ / "original"; }
  std::filesystem::path home() const { return directory_ / "home"; }
  std::filesystem::path bucket() const { return directory_ / "bucket"; }
  std::string url() const { return "file://" + bucket().string(); }

  void SetUp() override {
    const auto store = Store::open(original(), store::OpenMode::create);
    for (unsigned number = 0; number < 3; ++number) {
      const store::Run run = store->catalog().add_run(store::new_run(fmt::format("run{}", number)));
      store::CheckpointWriter writer(*store, run.id);
      store::Progress progress;
      for (int epoch = 0; epoch < kEpochs; ++epoch) {
        writer.write(store::boundary(epoch + 1), store::make_snapshot(number, epoch, kWeights));
        progress.iterations.push_back({0, epoch, 1, 0});
        store::Value loss;
        loss.name = "loss";
        loss.place = {"epoch", epoch, -1, ""};
        loss.value = 1.0 / (1 + epoch);
        store->catalog().add_values(run.id, std::span(&loss, 1));
      }
      progress.loops.push_back({0, "epoch", 0, kEpochs, true, false});
      store->catalog().add_progress(run.id, progress);
      store->catalog().finish_run(run.id, run.start.started_us + 1, false, "");
    }
    store->catalog().drop_run(store->catalog().resolve("run2").id);  // garbage
  }

  Words command(const Words& words) const {
    Words all{FLOR_CLI, "--home", home().string()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  ProcessResult flor(const Words& words) const { return run_process(command(words)); }

  /// The command, killed at its system call number `stop`; how many there were.
  TraceResult run_killed(const Words& words, int stop) const {
    const Words all = command(words);
    return SyscallTracer::run([] {}, [&] {
      std::vector<char*> argv;
      for (const std::string& word : all) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      const int null = ::open("/dev/null", O_RDWR);
      for (int descriptor = 0; descriptor < 3; ++descriptor) ::dup2(null, descriptor);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }, stop);
  }

  static Checkpoints checkpoints_in(const std::filesystem::path& home) {
    Checkpoints found;
    const auto store = Store::open(home, store::OpenMode::existing);
    for (const store::Run& run : store->catalog().runs()) {
      for (const auto& info : store->catalog().checkpoints(run.id)) {
        found[fmt::format("{} {}", run.start.experiment, info.key.iteration)] = info.digest.hex();
      }
    }
    return found;
  }
  static std::string damage_in(const std::filesystem::path& home) {
    try {
      return store::damage(*Store::open(home, store::OpenMode::existing));
    } catch (const NotFound&) {  // the process had not come to make one
      return {};
    }
  }
  static std::size_t values_in(const std::filesystem::path& home) {
    const auto store = Store::open(home, store::OpenMode::existing);
    std::size_t count = 0;
    for (const store::Run& run : store->catalog().runs()) {
      count += store->catalog().values({.run = run.id}).size();
    }
    return count;
  }

  struct Scenario {
    std::string name;
    Words words;
    /// Makes what the command begins with, from the original.
    std::function<void()> prepare = {};
    /// After a kill.
    std::function<void()> look = {};
    /// After the command was given again.
    std::function<void()> look_at_end = {};
    /// Statuses of the command when it is not killed.
    std::set<int> statuses = {0};
  };

  void begin() const {
    for (const auto& path : {home(), bucket()}) std::filesystem::remove_all(path);
    std::filesystem::copy(original(), home(), std::filesystem::copy_options::recursive);
  }

  void storm(const Scenario& scenario, int kills) {
    const auto prepare = [&] {
      begin();
      if (scenario.prepare) scenario.prepare();
    };
    prepare();
    const TraceResult whole = run_killed(scenario.words, INT_MAX);
    if (whole.refused) GTEST_SKIP() << "this system does not let a process trace its child";
    ASSERT_TRUE(scenario.statuses.contains(whole.status)) << scenario.name << ' ' << whole.status;
    std::mt19937 random(1);
    int killed = 0;
    for (int i = 0; i < kills; ++i) {
      prepare();
      // What comes before the store is opened is the same every time.
      const int stop = std::uniform_int_distribution<>(whole.stops / 4, whole.stops)(random);
      killed += run_killed(scenario.words, stop).finished ? 0 : 1;
      SCOPED_TRACE(fmt::format("{}, killed at stop {} of {}", scenario.name, stop, whole.stops));
      if (scenario.look) scenario.look();
      const ProcessResult again = flor(scenario.words);
      EXPECT_TRUE(scenario.statuses.contains(again.status)) << again.status << again.err;
      if (scenario.look_at_end) scenario.look_at_end();
      if (HasFailure()) return;
    }
    std::printf("%s: killed %d times at %d stops; nothing lost\n", scenario.name.c_str(), killed,
                whole.stops);
  }

  void expect_all(const std::filesystem::path& where) const {
    EXPECT_EQ(damage_in(where), "");
    EXPECT_EQ(checkpoints_in(where), checkpoints_in(original()));
    EXPECT_EQ(values_in(where), 2u * kEpochs);
  }

  void keep(int kills) {
    const Checkpoints all = checkpoints_in(original());
    Checkpoints kept;
    for (const auto& [place, digest] : all) {
      const bool other = place.starts_with("run1");
      if (other || place == "run0 12" || place == "run0 11") kept[place] = digest;
    }
    storm({.name = "keep",
           .words = {"keep", "run0", "--last", "2"},
           .look =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_THAT(checkpoints_in(home()), AnyOf(Eq(all), Eq(kept)));
               },
           .look_at_end =
               [&] {
                 EXPECT_EQ(checkpoints_in(home()), kept);
                 EXPECT_EQ(flor({"keep", "run0", "--undo"}).status, 0);
                 EXPECT_EQ(checkpoints_in(home()), all);
               }},
          kills);
  }
  void gc(int kills) {
    Checkpoints kept;
    storm({.name = "gc --compact",
           .words = {"gc", "--compact"},
           .prepare =
               [&] {
                 ASSERT_EQ(flor({"keep", "run0", "--every", "4"}).status, 0);
                 kept = checkpoints_in(home());
               },
           .look =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_EQ(checkpoints_in(home()), kept);
               },
           .look_at_end =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_EQ(checkpoints_in(home()), kept);
               }},
          kills);
  }
  void archive(int kills) {
    storm({.name = "archive",
           .words = {"archive", "run0"},
           .look = [&] { expect_all(home()); },
           .look_at_end = [&] { expect_all(home()); }},
          kills);
  }
  void spool(int kills) {
    storm({.name = "spool",
           .words = {"spool", "run0", url()},
           .look = [&] { expect_all(home()); },
           .look_at_end =
               [&] {
                 expect_all(home());
                 const auto verified = flor({"remote", "verify", url(), "--read-data"});
                 EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
               }},
          kills);
  }
  void spool_away(int kills) {
    storm({.name = "spool --delete-local",
           .words = {"spool", "run0", url(), "--delete-local"},
           .look = [&] { EXPECT_EQ(damage_in(home()), ""); },
           .look_at_end =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_EQ(flor({"fetch", "run0", url()}).status, 0);
                 expect_all(home());
               }},
          kills);
  }
  void fetch(int kills) {
    Checkpoints there;
    for (const auto& [place, digest] : checkpoints_in(original())) {
      if (place.starts_with("run0")) there[place] = digest;
    }
    storm({.name = "fetch",
           .words = {"fetch", "run0", url()},
           .prepare =
               [&] {
                 ASSERT_EQ(flor({"spool", "run0", url()}).status, 0);
                 std::filesystem::remove_all(home());
               },
           .look = [&] { EXPECT_EQ(damage_in(home()), ""); },
           .look_at_end =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_EQ(checkpoints_in(home()), there);
                 EXPECT_EQ(values_in(home()), static_cast<std::size_t>(kEpochs));
               }},
          kills);
  }
  void export_checkpoint(int kills) {
    const std::filesystem::path file = directory_ / "state.safetensors";
    std::uintmax_t size = 0;
    begin();
    ASSERT_EQ(flor({"export", "run0@7", file.string()}).status, 0);
    size = std::filesystem::file_size(file);
    storm({.name = "export",
           .words = {"export", "run0@7", file.string()},
           .prepare = [&] { std::filesystem::remove(file); },
           .look =
               [&] {
                 if (std::filesystem::exists(file)) {
                   EXPECT_EQ(std::filesystem::file_size(file), size);
                 }
                 expect_all(home());
               },
           .look_at_end = [&] { EXPECT_EQ(std::filesystem::file_size(file), size); }},
          kills);
  }
  void damage_a_pack() const {
    std::set<std::filesystem::path> packs;
    for (const auto& entry : flor::testing::packs_of(home())) {
      packs.insert(entry.path());
    }
    const auto middle = std::filesystem::file_size(*packs.begin()) / 2;
    std::fstream pack(*packs.begin(), std::ios::in | std::ios::out | std::ios::binary);
    pack.seekp(static_cast<std::streamoff>(middle));
    pack.write("flipped", 7);
  }
  void repair(int kills) {
    begin();
    damage_a_pack();
    const int status = flor({"fsck", "--repair"}).status;
    const Checkpoints sound = checkpoints_in(home());
    ASSERT_GE(sound.size(), static_cast<std::size_t>(kEpochs));
    storm({.name = "fsck --repair",
           .words = {"fsck", "--repair"},
           .prepare = [&] { damage_a_pack(); },
           .look_at_end =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_EQ(checkpoints_in(home()), sound);
               },
           .statuses = {0, status}},
          kills);
  }

  void repair_nothing(int kills) {
    storm({.name = "fsck --repair of a sound store",
           .words = {"fsck", "--repair"},
           .look = [&] { expect_all(home()); },
           .look_at_end = [&] { expect_all(home()); }},
          kills);
  }
  void make_index_again(int kills) {
    storm({.name = "list without an index",
           .words = {"list"},
           .prepare =
               [&] {
                 for (const char* end : {"", "-wal", "-shm"}) {
                   std::filesystem::remove(home() / (std::string("catalog.db") + end));
                 }
               },
           .look = [&] { expect_all(home()); },
           .look_at_end = [&] { expect_all(home()); }},
          kills);
  }

  Checkpoints checkpoints_of_run1() const {
    Checkpoints of = checkpoints_in(original());
    std::erase_if(of, [](const auto& entry) { return !entry.first.starts_with("run1"); });
    return of;
  }
  void tag(int kills) {
    const std::vector<std::string> none, both{"good", "seed-3"};
    const auto tags = [&] {
      return Store::open(home(), store::OpenMode::existing)->catalog().resolve("run0").tags;
    };
    storm({.name = "tag",
           .words = {"tag", "run0", "good", "seed-3"},
           .look =
               [&] {
                 expect_all(home());
                 EXPECT_THAT(tags(), AnyOf(Eq(none), Eq(both)));
               },
           .look_at_end = [&] { EXPECT_EQ(tags(), both); }},
          kills);
  }
  void rename(int kills) {
    storm({.name = "rename",
           .words = {"rename", "run0", "run9"},
           .look = [&] { EXPECT_EQ(damage_in(home()), ""); },
           .look_at_end =
               [&] {
                 EXPECT_EQ(flor({"rename", "run9", "run0"}).status, 0);
                 expect_all(home());
               },
           .statuses = {0, 3}},
          kills);
  }
  void remove(int kills) {
    const Checkpoints all = checkpoints_in(original()), left = checkpoints_of_run1();
    storm({.name = "rm",
           .words = {"rm", "run0"},
           .look =
               [&] {
                 EXPECT_EQ(damage_in(home()), "");
                 EXPECT_THAT(checkpoints_in(home()), AnyOf(Eq(all), Eq(left)));
               },
           .look_at_end =
               [&] {
                 EXPECT_EQ(checkpoints_in(home()), left);
                 EXPECT_EQ(flor({"rm", "run0", "--undo"}).status, 0);
                 expect_all(home());
               },
           .statuses = {0, 3}},
          kills);
  }
  void gc_of_removed(int kills) {
    const auto left = [&] {
      EXPECT_EQ(damage_in(home()), "");
      EXPECT_EQ(checkpoints_in(home()), checkpoints_of_run1());
    };
    storm({.name = "gc after rm",
           .words = {"gc"},
           .prepare = [&] { ASSERT_EQ(flor({"rm", "run0"}).status, 0); },
           .look = left,
           .look_at_end =
               [&] {
                 left();
                 EXPECT_EQ(flor({"rm", "run0", "--undo"}).status, 3);
               }},
          kills);
  }

  void all(int kills) {
    tag(kills);
    rename(kills);
    remove(kills);
    gc_of_removed(kills);
    keep(kills);
    gc(kills);
    archive(kills);
    spool(kills);
    spool_away(kills);
    fetch(kills);
    export_checkpoint(kills);
    repair(kills);
    repair_nothing(kills);
    make_index_again(kills);
  }

  /// Overwrites `pages` of the index with zeros, with noise or with another of its pages.
  void spoil_index(std::mt19937& random, int pages) const {
    constexpr std::size_t kPage = 4096;
    const auto path = home() / "catalog.db";
    const std::size_t count = std::filesystem::file_size(path) / kPage;
    const auto any = [&] {
      return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
    };
    std::fstream index(path, std::ios::in | std::ios::out | std::ios::binary);
    for (int i = 0; i < pages; ++i) {
      std::string page(kPage, '\0');
      switch (random() % 3) {
        case 0:
          break;
        case 1:
          for (char& byte : page) byte = static_cast<char>(random());
          break;
        default:
          index.seekg(static_cast<std::streamoff>(any() * kPage));
          index.read(page.data(), kPage);
      }
      index.seekp(static_cast<std::streamoff>(any() * kPage));
      index.write(page.data(), kPage);
    }
  }
  /// A command either answers as it did of the sound store, or says that something is damaged.
  void spoil_index_often(int rounds) {
    const Words list{"list", "--json"}, query{"query", "loss", "--json"};
    begin();
    const std::string runs = flor(list).out, values = flor(query).out;
    std::mt19937 random(7);
    int told = 0;
    for (int round = 0; round < rounds; ++round) {
      begin();
      spoil_index(random, 1 + round % 3);
      SCOPED_TRACE(fmt::format("round {}", round));
      for (const auto& [words, sound] : {std::pair(list, runs), std::pair(query, values)}) {
        const ProcessResult answer = flor(words);
        told += answer.status != 0 ? 1 : 0;
        if (answer.status == 0) {
          EXPECT_EQ(answer.out, sound) << answer.err;
        }
      }
      const ProcessResult repaired = flor({"fsck", "--repair"});
      EXPECT_THAT(repaired.status, AnyOf(0, 4)) << repaired.out << repaired.err;
      expect_all(home());
      EXPECT_EQ(flor(list).out, runs);
      EXPECT_EQ(flor(query).out, values);
      if (HasFailure()) return;
    }
    std::printf("index spoiled %d times: %d answers refused, nothing lost\n", rounds, told);
  }

  TemporaryDirectory directory_{fast_parent()};
};

TEST_F(KillCommands, LoseNothingAndEndWhenTheyAreGivenAgain) { all(2); }
TEST_F(KillCommands, FindAllInJournalsWhereTheIndexIsSpoiled) { spoil_index_often(12); }

class KillCommandsOften : public KillCommands {};
TEST_F(KillCommandsOften, LoseNothingAndEndWhenTheyAreGivenAgain) { all(25); }
TEST_F(KillCommandsOften, FindAllInJournalsWhereTheIndexIsSpoiled) { spoil_index_often(300); }

}  // namespace
}  // namespace flor::testing
