// Accidents of a store in which no disk fails: the clock jumps, the home has a strange name,
// maintenance runs beside recordings, or a reader runs for longer than any recording.
#include "database/sqlite.h"
#include "support/content.h"
#include "support/soon.h"
#include "workbench.h"

#include <nlohmann/json.hpp>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

namespace flor::testing::storms_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Environment = std::map<std::string, std::optional<std::string>>;

class Storms : public ::testing::Test {
 protected:
  ProcessResult run(const Words& words, const Environment& environment = {}) const {
    ProcessOptions options = bench_.options();
    for (const auto& [name, value] : environment) options.environment[name] = value;
    return run_process(words, options);
  }
  ProcessResult flor(const Words& words, const Environment& environment = {}) const {
    return run(Words{FLOR_CLI} + words, environment);
  }
  /// Insists that it ends well.
  ProcessResult does(const Words& words, const Environment& environment = {}) const {
    ProcessResult result = flor(words, environment);
    std::string all;
    for (const std::string& word : words) all += word + ' ';
    EXPECT_EQ(result.status, 0) << all << "\n" << result.out << result.err;
    EXPECT_FALSE(result.timed_out) << all;
    return result;
  }
  static Words recording(int epochs = 8, const std::string& name = "test") {
    return {program("trainer").string(),       "--flor", name, "--flor_every", "1", "--kwargs",
            "epochs=" + std::to_string(epochs)};
  }

  /// Places and digests of checkpoints, and all values, of a run.
  static std::vector<std::string> content_in(const fs::path& home, const std::string& name) {
    const auto store = store::Store::open(home, store::OpenMode::existing);
    const store::Run run = store->catalog().resolve(name);
    std::vector<std::string> all{std::to_string(run.epochs)};
    for (const auto& info : store->catalog().checkpoints(run.id)) {
      all.push_back(info.key.loop + std::to_string(info.key.iteration) + info.digest.hex());
    }
    for (const auto& value : store->catalog().values({.run = run.id, .hindsight = false})) {
      all.push_back(value.name + std::to_string(value.place.epoch) + ' ' +
                    std::to_string(value.place.step) + ' ' + std::to_string(real(value)));
    }
    std::ranges::sort(
        all);  // the order of a fetched run is that of the times at which they were made
    return all;
  }
  std::vector<std::string> content(const std::string& name = "test") const {
    return content_in(bench_.home(), name);
  }

  /// Whatever is done with a run afterwards, it stays what it is.
  void live(const std::string& name, const Environment& environment,
            const std::string& bucket) const {
    const std::vector<std::string> before = content(name);
    const fs::path last = elsewhere_ / "last.safetensors";
    does({"export", name, "-o", last.string()}, environment);
    const std::string state = content_of(last);
    EXPECT_THAT(does({"list"}, environment).out, HasSubstr(name));
    const auto listed = nlohmann::json::parse(does({"list", "--json"}, environment).out);
    EXPECT_EQ(listed["runs"].size(), bench_.run_count());
    for (const Words& look : std::vector<Words>{{"show", name, "--all"},
                                                {"top", "--once"},
                                                {"du"},
                                                {"log"},
                                                {"query", "loss"},
                                                {"plot", name},
                                                {"sql", "SELECT experiment FROM runs"}}) {
      does(look, environment);
    }
    for (const Words& change : std::vector<Words>{{"tag", name, "good"},
                                                  {"tag", name, "--remove", "good"},
                                                  {"keep", name, "--every", "3"},
                                                  {"keep", name, "--undo"},
                                                  {"rm", name},
                                                  {"rm", name, "--undo"}}) {
      does(change, environment);
    }
    const ProcessResult replayed =
        does({"replay", name, "--workers", "2", "--probe", "train"}, environment);
    EXPECT_THAT(replayed.out + replayed.err, Not(HasSubstr("differ")));
    does({"gc"}, environment);
    does({"archive", name}, environment);
    does({"spool", name, bucket}, environment);
    does({"remote", "verify", bucket, "--read-data"}, environment);
    Environment elsewhere = environment;
    elsewhere["FLOR_HOME"] = (elsewhere_ / "home").string();
    fs::remove_all(elsewhere_ / "home");
    does({"fetch", name, bucket}, elsewhere);
    EXPECT_EQ(content_in(elsewhere_ / "home", name), before);
    // What comes back later is not later in the run.
    does({"keep", name, "--last", "2"}, elsewhere);
    does({"gc"}, elsewhere);
    does({"fetch", name, bucket}, elsewhere);
    does({"export", name, "-o", last.string()}, elsewhere);
    EXPECT_TRUE(content_of(last) == state) << "the last state is another one";
    does({"remote", "prune", bucket, "--last", "3"}, environment);
    does({"remote", "verify", bucket, "--read-data"}, environment);
    does({"fsck"}, environment);
    EXPECT_EQ(content(name), before);
  }

  Workbench bench_;
  TemporaryDirectory elsewhere_{fast_parent()};
};

class Clocks : public Storms {
 protected:
  /// `jumps`: see support/shifted_clock.cpp.
  static Environment clock(const std::string& jumps) {
    return {{"LD_PRELOAD", FLOR_SHIFTED_CLOCK},
            {"FLOR_TEST_CLOCK", jumps},
            {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}};
  }
  static constexpr const char* kJumps[] = {
      "0:-410000000",   // 13 years ago
      "30:4007664000",  // in 127 years, while it runs
      "0:4007664000",   // and before it does
      "0:-4985000000",  // 1868
      "10:86400,20:-86400,30:4007664000,40:0,50:-410000000,60:3600"};  // to and fro
};

/// Each of these is the clock of a training, and of each command that looks at, thins out, sends
/// and brings back what it recorded; then the clock is set right.
TEST_F(Clocks, ThatJumpLoseNothingAndStopNothing) {
  ASSERT_EQ(run(recording()).status, 0);
  const std::vector<std::string> expected = content();
  for (std::size_t i = 0; i < std::size(kJumps); ++i) {
    SCOPED_TRACE(kJumps[i]);
    const std::string name = "clock" + std::to_string(i);
    const ProcessResult recorded = run(recording(8, name), clock(kJumps[i]));
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    EXPECT_EQ(bench_.store()->catalog().resolve(name).state, store::RunState::finished);
    EXPECT_EQ(content(name), expected);
    const std::string bucket = "file://" + (elsewhere_ / name).string();
    live(name, clock(kJumps[i]), bucket);
    live(name, {}, bucket + "-set-right");
    EXPECT_EQ(content(), expected) << "of the run before";
    EXPECT_THAT(bench_.damage(), IsEmpty());
    if (HasFailure()) return;
  }
}

/// Interrupted in the fourth epoch under one clock, it goes on under another.
TEST_F(Clocks, OfAResumedTrainingMayHaveJumped) {
  ASSERT_EQ(run(recording()).status, 0);
  const std::vector<std::string> expected = content();
  const std::size_t count = std::size(kJumps);
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(kJumps[i]);
    const std::string name = "clock" + std::to_string(i);
    Environment dies = clock(kJumps[i]);
    dies["RAISE"] = "15:14";
    EXPECT_NE(run(recording(8, name), dies).status, 0);
    const ProcessResult resumed =
        run(recording(8, name) + Words{"--flor_resume"}, clock(kJumps[(i + 3) % count]));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("resuming run"));
    EXPECT_EQ(content(name), expected);
    EXPECT_THAT(bench_.damage(), IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_F(Clocks, OfAWatchMayJump) {
  const fs::path judge = bench_.repository().root() / "judge.sh";
  std::ofstream(judge) << "#!/bin/sh\necho x >> '" << (elsewhere_ / "judged").string()
                       << "'\necho '{\"score\": 1}'\n";
  fs::permissions(judge, fs::perms::owner_all);
  const Words watch{"watch", "--experiment", "test", "-e", judge.string(), "--until-idle"};
  ASSERT_EQ(run(recording(1)).status, 0);
  does(watch);  // what was there before it is left alone
  int runs = 0;
  for (const char* jumps : kJumps) {
    SCOPED_TRACE(jumps);
    ++runs;
    // What was judged once is not judged again: other weights.
    const Words size{"size=" + std::to_string(40 + runs)};
    ASSERT_EQ(run(recording(4) + size, clock(jumps)).status, 0);
    // By a clock that is another one than the training's, and then by the same.
    does(watch);
    does(watch, clock(jumps));
    does({"watch", "--status"}, clock(jumps));
    std::ifstream in(elsewhere_ / "judged");
    const auto lines = std::count(std::istreambuf_iterator<char>(in), {}, '\n');
    EXPECT_EQ(lines, runs * 4) << "each checkpoint once";
    if (HasFailure()) return;
  }
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

class Homes : public Storms {
 protected:
  static std::vector<std::string> names() {
    return {"with blanks in it ",
            "h\u00f6m\u00e9 \u5bb6",
            "new\nline",
            "single'quote",
            "double\"quote",
            "back\\slash",
            "100%25?mode=ro&x#y",
            "#begins",
            "$(touch executed)`touch executed`",
            "no \xff\xfe utf-8",
            "-dash",
            "a;b|c&d",
            "{}",
            "*.?[x]",
            std::string(230, 'l'),
            std::string(200, 'd') + "/" + std::string(200, 'e') + "/" + std::string(200, 'f')};
  }
  void try_home(const fs::path& home, const Environment& environment) {
    SCOPED_TRACE(home.string());
    bench_.use_home(home);
    const ProcessResult recorded = run(recording(), environment);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    EXPECT_TRUE(fs::exists(home / "catalog.db"));
    if (expected_.empty()) expected_ = content();
    EXPECT_EQ(content(), expected_);
    live("test", environment, "file://" + (elsewhere_ / "bucket").string());
    fs::remove_all(elsewhere_ / "bucket");
    EXPECT_THAT(bench_.damage(), IsEmpty());
    EXPECT_FALSE(fs::exists(bench_.repository().root() / "executed"));
  }
  std::vector<std::string> expected_;
};

TEST_F(Homes, OfAnyNameAreAsGoodAsOthers) {
  for (const std::string& name : names()) {
    const TemporaryDirectory place(fast_parent());
    try_home(place.path() / name, {{"FLOR_HOME", (place.path() / name).string()}});
    if (HasFailure()) return;
  }
}

TEST_F(Homes, AreFoundThroughLinksRelativePathsAndSlashes) {
  const TemporaryDirectory place(fast_parent());
  fs::create_directory(place / "real");
  fs::create_directory_symlink(place / "real", place / "link");
  try_home(place / "real", {{"FLOR_HOME", (place / "link").string()}});
  try_home(place / "slash", {{"FLOR_HOME", (place / "slash").string() + "//"}});
  try_home(place / "dots", {{"FLOR_HOME", (place / "real/../dots/.").string()}});
  const fs::path root = bench_.repository().root();
  try_home(root / "inside", {{"FLOR_HOME", "inside"}});
  try_home(root / "-dash", {{"FLOR_HOME", "-dash"}});
  try_home(root / "in/side", {{"FLOR_HOME", "./in/side/"}});
}

/// A relative home is where it was when the program began, for what is written after its death,
/// too.
TEST_F(Homes, StayWhereTheyWereWhenTheProgramChangesItsDirectory) {
  const fs::path root = bench_.repository().root();
  fs::create_directory(root / "below");
  bench_.use_home(root / "here");
  Environment environment{{"FLOR_HOME", "here"}, {"CHANGES_TO", "below"}};
  ASSERT_EQ(run(recording(), environment).status, 0);
  const std::vector<std::string> expected = content();
  environment["RAISE"] = "9:14";
  const Words piped{"/bin/bash", "-c", "\"$@\" | cat; exit ${PIPESTATUS[0]}", "bash"};
  const ProcessResult died = run(piped + recording() + Words{"--flor_output", "1"}, environment);
  EXPECT_EQ(died.status, 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(root / "below/here"));
  ASSERT_TRUE(soon([&] {
    const auto shown = flor({"show", "test", "--printed"}, {{"FLOR_HOME", "here"}});
    return shown.out.find("tail 2") != std::string::npos;
  }));
  environment.erase("RAISE");
  EXPECT_EQ(run(recording() + Words{"--flor_resume=auto"}, environment).status, 0);
  EXPECT_EQ(content(), expected);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

/// Recordings, and all that maintains a store, at the same time, any of which may be killed.
class Beside : public Storms {
 protected:
  struct Started {
    std::unique_ptr<Process> process;
    bool records = false, killed = false;
  };

  std::unique_ptr<Process> start(const Words& words) const {
    auto options = bench_.options();
    options.environment["FLOR_LOG"] = "info";
    return std::make_unique<Process>(words, options);
  }
  static Words maintenance(std::size_t number) {
    static const Words all[] = {{"gc"},
                                {"keep", "old", "--every", "2"},
                                {"gc", "--compact"},
                                {"archive", "old"},
                                {"fsck"},
                                {"list"},
                                {"keep", "old", "--undo"}};
    return Words{FLOR_CLI} + all[number % std::size(all)];
  }

  /// Statuses of commands beside recordings: done, nothing to undo, not all of it, or another one
  /// is at it.
  static bool is_well(int status) {
    return status == 0 || status == 3 || status == 5 || status == 6;
  }

  void play(int round, std::mt19937& random) {
    std::vector<Started> all;
    for (int i = 0; i < 2; ++i) all.push_back({start(recording(12)), true});
    for (std::size_t i = 0; i < 6; ++i) {
      all.push_back({start(maintenance(i + static_cast<std::size_t>(round)))});
    }
    const std::size_t victim = random() % all.size();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 250'000));
    all[victim].process->kill(SIGKILL);
    std::size_t complete = 0, cut_off = 0, finished = 0;
    for (Started& each : all) {
      const ProcessResult result = each.process->wait();
      EXPECT_FALSE(result.timed_out);
      each.killed = result.signal == SIGKILL;
      killed_ += each.killed ? 1 : 0;
      cut_off += each.killed && each.records ? 1 : 0;
      if (each.killed) continue;
      EXPECT_TRUE(is_well(result.status)) << result.status << result.out << result.err;
      EXPECT_TRUE(!each.records || result.status == 0) << result.err;
      complete += each.records ? 1 : 0;
    }
    EXPECT_THAT(bench_.damage(), IsEmpty());
    const auto store = bench_.store();
    for (const store::Run& run : store->catalog().runs()) {
      if (run.start.experiment != "test") continue;
      if (run.state == store::RunState::finished) {
        ++finished;
        EXPECT_EQ(store->catalog().checkpoints(run.id).size(), checkpoints_);
        EXPECT_EQ(store->catalog().values({.run = run.id}).size(), values_);
      }
      store->catalog().drop_run(run.id);
    }
    EXPECT_GE(finished, complete) << "what ended well is there";
    // The kill may come after the end of the run, before that of the process.
    EXPECT_LE(finished, complete + cut_off);
  }

  void storm(int rounds) {
    ASSERT_EQ(run(recording(12, "old")).status, 0);
    {
      const auto store = bench_.store();
      const store::Run old = store->catalog().resolve("old");
      checkpoints_ = store->catalog().checkpoints(old.id).size();
      values_ = store->catalog().values({.run = old.id}).size();
    }
    const std::vector<std::string> expected = content("old");
    std::mt19937 random(3);
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      play(round, random);
      const int status = flor({"keep", "old", "--undo"}).status;
      EXPECT_TRUE(status == 0 || status == 3) << status;
      if (HasFailure()) return;
    }
    std::printf("%d rounds of 2 recordings and 6 commands, %d killed; nothing lost\n", rounds,
                killed_);
    EXPECT_THAT(does({"fsck"}).out, Not(HasSubstr("damaged")));
    // What `keep` gave up may be collected since; all else is there.
    const std::vector<std::string> left = content("old");
    for (const std::string& each : left)
      EXPECT_TRUE(std::ranges::count(expected, each) == 1) << each;
    EXPECT_GE(left.size(), expected.size() - checkpoints_);
  }

  std::size_t checkpoints_ = 0, values_ = 0;
  int killed_ = 0;
};

TEST_F(Beside, RecordingsMaintenanceLosesNothing) { storm(5); }

using BesideOften = Beside;
TEST_F(BesideOften, RecordingsMaintenanceLosesNothing) { storm(60); }

class Readers : public Storms {
 protected:
  std::uintmax_t log_bytes() const {
    std::error_code error;
    const auto bytes = fs::file_size(bench_.home() / "catalog.db-wal", error);
    return error ? 0 : bytes;
  }
};

/// A snapshot of the index that is never let go keeps SQLite from using its log again.
TEST_F(Readers, OfOldSnapshotsCostABoundedLogHoweverLongARecordingIs) {
  ASSERT_EQ(run(recording(2)).status, 0);
  const std::size_t runs = bench_.run_count();
  store::Connection reader(bench_.home() / "catalog.db", store::Connection::Mode::existing);
  reader.execute("BEGIN");
  EXPECT_TRUE(reader("SELECT count(*) FROM run")->step());
  const ProcessResult recorded = run(recording(500));
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  const auto with_reader = log_bytes();
  for (const Words& words : {Words{"list"}, Words{"show", "test"}, Words{"query", "loss"},
                             Words{"gc"}, Words{"keep", "test", "--last", "400"}, Words{"fsck"}}) {
    does(words);
  }
  const auto count = reader("SELECT count(*) FROM run");
  EXPECT_TRUE(count->step() && count->integer(0) == static_cast<std::int64_t>(runs));
  std::printf("the log has %ju KiB after 500 epochs beside an old snapshot\n", with_reader / 1024);
  EXPECT_LT(with_reader, std::uintmax_t{16} << 20);
  EXPECT_EQ(bench_.last_run().epochs, 500);
}

}  // namespace
}  // namespace flor::testing::storms_test
