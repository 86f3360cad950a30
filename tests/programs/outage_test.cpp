// Recordings whose store cannot be written for a while, of whole programs: the training goes on,
// values are complete, what could not be stored is a gap that is named, and everything later is
// stored.
#include "store/made_again.h"
#include "support/sanitized.h"
#include "support/some_points.h"
#include "workbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <random>

namespace flor::testing::outage_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kEpochs = 40;
constexpr std::int64_t kEpochMs = 5000, kStepMs = kEpochMs / 4;
constexpr std::int64_t kLongestPauseMs = 10'000;

struct Fault {
  std::int64_t from = 0, length = 0;  ///< in milliseconds; below 0: for ever
  std::string kind;
  std::string text() const {
    return fmt::format("{}:{}:{}", from, length < 0 ? "" : std::to_string(length), kind);
  }
  /// Faults begin and end at steps.
  std::int64_t end() const { return (from + length + kStepMs) / kStepMs * kStepMs; }
};

/// What a recording left, and how it compares with one without any fault.
struct Left {
  store::Run run;
  std::vector<store::Gap> gaps;
  std::set<std::int64_t> stored, whole;   ///< epochs with any checkpoint, with both of theirs
  std::set<std::int64_t> begun, entered;  ///< those with the boundary before them, with locals
  std::map<std::string, std::string> checkpoints;
  std::vector<std::string> values;
};

class Outages : public ::testing::Test {
 protected:
  Left look(const std::string& key) const {
    const auto opened = bench_.store();
    const store::Catalog& catalog = opened->catalog();
    Left left;
    left.run = catalog.resolve(key);
    left.gaps = catalog.gaps(left.run.id);
    std::map<std::int64_t, int> parts;
    for (const auto& info : catalog.checkpoints(left.run.id)) {
      const auto& [kind, loop, iteration, name] = info.key;
      left.checkpoints[fmt::format("{} {} {}", static_cast<int>(kind), iteration, name)] =
          info.digest.hex();
      const bool boundary = kind == store::CheckpointKind::boundary;
      if (boundary) left.begun.insert(iteration);
      if (boundary && iteration == 0) continue;
      if (name.ends_with("@begin")) left.entered.insert(iteration);
      if (name.find('@') != name.npos) continue;
      ++parts[boundary ? iteration - 1 : iteration];
    }
    for (const auto& [epoch, count] : parts) {
      left.stored.insert(epoch);
      if (count == 2) left.whole.insert(epoch);
    }
    for (const auto& value : catalog.values({.run = left.run.id})) {
      left.values.push_back(fmt::format(
          "{} {} {} {} {}", value.name, value.place.epoch, value.place.step, value.ordinal,
          std::visit([](const auto& scalar) { return fmt::format("{}", scalar); }, value.value)));
    }
    store::expect_same_when_made_again(bench_.home());
    return left;
  }

  ProcessResult record(const std::string& storm, Words kwargs = {},
                       std::map<std::string, std::optional<std::string>> environment = {}) const {
    auto options = bench_.options();
    if (!storm.empty()) options.environment["STORM"] = storm;
    for (const auto& [name, value] : environment) options.environment[name] = value;
    return bench_.run("stormy",
                      Words{"--flor", "test", "--flor_every", "1", "--flor_no_git", "--kwargs",
                            fmt::format("epochs={}", epochs_)} +
                          kwargs,
                      options);
  }
  Left reference() {
    if (!reference_) {
      const ProcessResult result = record("");
      EXPECT_EQ(result.status, 0) << result.err;
      reference_ = look(bench_.last_run().key);
      EXPECT_EQ(reference_->whole.size(), static_cast<std::size_t>(epochs_));
      EXPECT_THAT(reference_->gaps, IsEmpty());
      printed_ = result.out;
    }
    return *reference_;
  }

  /// A checkpoint inside an epoch is of use until the next boundary; the reference has none.
  static bool is_inside(const std::string& place) {
    return place.find("train@") != place.npos && !place.ends_with("@begin");
  }
  /// Nothing of it is wrong: all that is stored is what it is without faults.
  static void expect_right(const Left& left, const Left& reference) {
    for (const auto& [place, digest] : left.checkpoints) {
      if (is_inside(place)) continue;
      const auto same = reference.checkpoints.find(place);
      ASSERT_NE(same, reference.checkpoints.end()) << place;
      EXPECT_EQ(digest, same->second) << place;
    }
  }
  /// The gaps are the epochs that are not whole.
  void expect_named(const Left& left) const { expect_named(left, epochs_); }
  static void expect_named(const Left& left, std::int64_t epochs) {
    std::set<std::int64_t> missing;
    for (const store::Gap& gap : left.gaps) {
      for (std::int64_t epoch = gap.first; epoch <= gap.last; ++epoch) missing.insert(epoch);
    }
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      if (left.whole.contains(epoch)) continue;
      EXPECT_TRUE(missing.contains(epoch)) << "epoch " << epoch << " is missing without a word";
    }
    EXPECT_EQ(left.run.degraded, store::print_gaps(left.gaps));
  }
  /// The attached local is stored with each boundary, or its epoch is a gap, and no replay begins
  /// there.
  void expect_entered(const Left& left, std::int64_t epochs) const {
    bool lacks = false;
    for (const std::int64_t epoch : left.begun) {
      if (epoch == 0 || epoch >= epochs || left.entered.contains(epoch)) continue;
      lacks = true;
      EXPECT_TRUE(std::ranges::any_of(
          left.gaps,
          [&](const store::Gap& gap) { return gap.first <= epoch && epoch <= gap.last; }))
          << "epoch " << epoch << " has no locals, without a word";
    }
    if (!lacks || left.run.state != store::RunState::finished) return;
    for (const char* part : {"1/2", "5/6"}) {  // the last epochs, with what is stored
      const auto replayed = bench_.run(
          "stormy", {"--replay_flor", part, "--flor_run", left.run.key, "--flor_probe", "train"});
      EXPECT_EQ(replayed.status, 0) << replayed.err;
    }
  }
  void expect_survives(const std::vector<Fault>& storm, bool settled) {
    std::string text;
    for (const Fault& fault : storm) text += (text.empty() ? "" : ",") + fault.text();
    SCOPED_TRACE(text + (settled ? "" : ", not settled"));
    const Left whole = reference();
    const auto result = record(text, {fmt::format("settled={}", settled ? 1 : 0)});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, printed_);
    const Left left = look(bench_.last_run().key);
    EXPECT_EQ(left.run.state, store::RunState::finished) << result.err;
    EXPECT_EQ(left.values, whole.values) << "values are complete";
    EXPECT_EQ(left.run.epochs, kEpochs) << "progress is complete";
    expect_right(left, whole);
    expect_named(left);
    expect_entered(left, epochs_);
    for (const store::Gap& gap : left.gaps) EXPECT_FALSE(gap.values);
    std::int64_t healthy = 0;  // from here on
    for (const Fault& fault : storm) {
      healthy = std::max(healthy, fault.end() + kLongestPauseMs + (settled ? 1 : 8) * kEpochMs);
    }
    for (std::int64_t epoch = (healthy + kEpochMs - 1) / kEpochMs; epoch < kEpochs; ++epoch) {
      EXPECT_TRUE(left.whole.contains(epoch))
          << "epoch " << epoch << ", after the faults: " << result.err;
    }
    EXPECT_TRUE(left.stored.contains(kEpochs - 1)) << "the last state";
    const auto shown = run_process({FLOR_CLI, "show", left.run.key}, bench_.options());
    EXPECT_EQ(shown.status, 0) << shown.err;
    for (const store::Gap& gap : left.gaps) {
      EXPECT_THAT(shown.out, HasSubstr(store::print_gaps(std::span(&gap, 1)) + ": " + gap.why.text()));
    }
    if (!left.gaps.empty()) {
      EXPECT_THAT(shown.out, HasSubstr("finished, " + left.run.degraded));
    }
    EXPECT_THAT(bench_.damage(), IsEmpty());
    gaps_ += left.gaps.empty() ? 0 : 1;
  }

  void storm(int count, unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    static const char* const kKinds[] = {"ENOSPC", "EIO",    "EDQUOT", "EROFS",    "fsync", "held",
                                         "locks",  "flocks", "packs",  "journals", "index"};
    constexpr std::int64_t kLast = std::ssize(kKinds) - 1;
    for (int i = 0; i < count; ++i) {
      std::vector<Fault> storm;
      for (std::int64_t left = i % 3 == 0 ? pick(2, 5) : 1; left > 0; --left) {
        // From 0.1 s to 60 s, short ones as often as long ones.
        const double share = static_cast<double>(pick(0, 1000)) / 1000;
        const auto length = static_cast<std::int64_t>(100 * std::pow(600, share));
        storm.push_back(
            {pick(0, 120'000), length, kKinds[static_cast<std::size_t>(pick(0, kLast))]});
      }
      expect_survives(storm, i % 4 != 3);
      if (HasFailure()) return;
    }
  }

  static int number_after(const std::string& text, const std::string& word) {
    const std::size_t at = text.rfind(word);
    return at == text.npos ? -1 : std::stoi(text.substr(at + word.size()));
  }

  Workbench bench_;
  int epochs_ = kEpochs;
  std::optional<Left> reference_;
  std::string printed_;
  int gaps_ = 0;
};

TEST_F(Outages, ADiskThatIsFullForAWhileLeavesAGapThatIsNamedAndNoMore) {
  reference();
  const auto result = record("51000:20000:ENOSPC");
  ASSERT_EQ(result.status, 0) << result.err;
  const Left left = look(bench_.last_run().key);
  EXPECT_EQ(left.run.state, store::RunState::finished);
  EXPECT_THAT(left.run.degraded, ::testing::StartsWith("epochs 10.."));
  EXPECT_LE(left.gaps.at(0).last, 16) << left.run.degraded;
  EXPECT_THAT(left.gaps.at(0).why.text(), HasSubstr("o space left"));
  const auto said = lines_with(result.err, {"flor: "});
  EXPECT_EQ(said.size(), 4u) << "the run, it begins, it ends, and what is missing: " << result.err;
  EXPECT_THAT(result.err, HasSubstr("CANNOT BE STORED NOW: "));
  EXPECT_THAT(result.err, HasSubstr("is stored again, after "));
  EXPECT_THAT(result.err, HasSubstr("; MISSING: " + left.run.degraded));
  const auto replayed = bench_.replay("stormy", {"1/2", "--flor_probe", "train", "--flor_no_git"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
}

TEST_F(Outages, ADiskThatStaysFullCostsWhatCameAfterItAndIsSaid) {
  const Left whole = reference();
  const auto result = record("100000::ENOSPC");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, printed_);
  EXPECT_THAT(result.err, HasSubstr("the end of run"));
  const Left left = look(bench_.last_run().key);
  EXPECT_EQ(left.run.state, store::RunState::interrupted) << "never finished alone";
  EXPECT_GE(left.whole.size(), 17u);
  expect_right(left, whole);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

/// The fault passes only when the training is over: what waited in memory is written then.
TEST_F(Outages, TheEndOfARunTriesOnceMore) {
  const Left whole = reference();
  const auto result = record("189000:14000:ENOSPC");
  const Left left = look(bench_.last_run().key);
  EXPECT_EQ(left.run.state, store::RunState::finished) << result.err;
  EXPECT_EQ(left.values, whole.values);
  EXPECT_TRUE(left.stored.contains(kEpochs - 1)) << result.err;
  expect_right(left, whole);
  expect_named(left);
}

/// Time is what threads asked to sleep: a busy machine adds nothing to it.
TEST_F(Outages, LocksThatFailFromSomewhereOnCostSecondsAndNameARemedy) {
  const auto result = record("20000::locks", {"settled=0"}, {{"PATIENT", "1"}});
  EXPECT_EQ(result.status, 0) << result.err;
  const int slept = number_after(result.err, "slept ");
  EXPECT_LE(slept, 20'000);
  EXPECT_THAT(result.err, HasSubstr("cannot be locked (No locks available): its file system "
                                    "refuses locks"));
  std::printf("slept %d ms\n", slept);
}

TEST_F(Outages, ALockThatIsHeldForMinutesCostsSecondsWhenTheRunEndsAndNothingIsMissing) {
  reference();
  const auto result = record("20000:130000:held", {"settled=1"}, {{"PATIENT", "1"}});
  EXPECT_EQ(result.status, 0) << result.err;
  const int slept = number_after(result.err, "slept ");
  EXPECT_LE(slept, 20'000);
  std::printf("slept %d ms\n", slept);
  const Left left = look(bench_.last_run().key);
  EXPECT_EQ(left.run.state, store::RunState::finished) << result.err;
  EXPECT_THAT(left.gaps, IsEmpty());
  EXPECT_EQ(left.values, reference().values);
  EXPECT_EQ(left.whole.size(), static_cast<std::size_t>(kEpochs));
  expect_right(left, reference());
  expect_named(left);
}

/// What is in one part of the store and not in the other is in neither.
TEST_F(Outages, WhereAPartOfTheStoreFailsEveryLaterEpochIsStored) {
  for (const std::string kind : {"packs", "journals", "index"}) {
    expect_survives({{20'000, 40'000, kind}}, true);
    expect_survives({{20'000, 700, kind}, {60'000, 30'000, kind}}, false);
  }
  // Journals that could not be synced are followed by others, which cannot be locked.
  expect_survives({{20'000, 10'000, "fsync"}, {31'000, 20'000, "flocks"}}, true);
}

TEST_F(Outages, AKillWhereAPartOfTheStoreFailsLosesNothingWithoutAWord) {
  const Left whole = reference();
  for (const std::string kind : {"packs", "journals", "index", "flocks"}) {
    SCOPED_TRACE(kind);
    record(fmt::format("30000::{},90000::kill", kind));
    const Left left = look(bench_.last_run().key);
    EXPECT_EQ(left.run.state, store::RunState::interrupted);
    EXPECT_GE(left.begun.size(), 5u);
    expect_right(left, whole);
    EXPECT_THAT(bench_.damage(), IsEmpty());
    const auto resumed = bench_.run("stormy", {"--flor", "test", "--flor_resume", "--flor_no_git"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const Left after = look(left.run.key);
    EXPECT_EQ(after.run.state, store::RunState::finished);
    EXPECT_EQ(after.values, whole.values);
    expect_right(after, whole);
    expect_named(after);
  }
}

TEST_F(Outages, ARunThatIsInterruptedInAnOutageIsResumedAndKeepsItsEarlierGaps) {
  reference();
  // The first outage passes; the second lasts when the program ends, so that it is interrupted.
  ASSERT_EQ(record("50000:20000:EIO,150000::ENOSPC").status, 0);
  const Left before = look(bench_.last_run().key);
  ASSERT_EQ(before.run.state, store::RunState::interrupted);
  ASSERT_THAT(before.gaps, Not(IsEmpty()));
  const auto resumed = bench_.run("stormy", {"--flor", "test", "--flor_resume", "--flor_no_git"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const Left after = look(before.run.key);
  EXPECT_EQ(after.run.state, store::RunState::finished);
  EXPECT_EQ(after.gaps, before.gaps) << "what was missing before the point still is";
  EXPECT_EQ(after.values, reference().values);
  expect_right(after, reference());
  expect_named(after);
}

/// Rows can be written while packs cannot.
TEST_F(Outages, AKillInAnOutageLosesTenSecondsOfWhatIsKnownOfItsGaps) {
  record("30000::packs,150000::kill");
  const Left left = look(bench_.last_run().key);
  EXPECT_EQ(left.run.state, store::RunState::interrupted);
  EXPECT_EQ(left.begun, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5}));
  ASSERT_THAT(left.gaps, Not(IsEmpty()));
  EXPECT_LE(left.gaps.front().first, 6);
  EXPECT_GE(left.gaps.back().last, 26) << "the kill was 10 s and an epoch later";
  EXPECT_EQ(left.run.degraded, store::print_gaps(left.gaps));
}

TEST_F(Outages, AnOrderlyEndLeavesAWholeCatalogAndNoLock) {
  ASSERT_EQ(record("").status, 0);
  EXPECT_FALSE(std::filesystem::exists(bench_.home() / "catalog.db-wal"));
  EXPECT_TRUE(std::filesystem::is_empty(bench_.home() / "locks"));
  // A plain copy is a whole catalog.
  const auto copy = bench_.home().parent_path() / "copy";
  std::filesystem::create_directories(copy / "packs");
  std::filesystem::create_directories(copy / "locks");
  std::filesystem::copy_file(bench_.home() / "catalog.db", copy / "catalog.db");
  const auto listed = run_process({FLOR_CLI, "--home", copy.string(), "list"}, bench_.options());
  EXPECT_THAT(listed.out, HasSubstr("finished"));
}

/// Long faults as often as short ones, one or several, of every kind.
TEST_F(Outages, InStormsEveryLaterEpochIsStoredAndTheGapsAreNamed) { storm(10, 1); }

/// One more accident at each change that a recording makes, without an outage and with one.
class Accidents : public Outages {
 protected:
  Accidents() { epochs_ = 6; }

  struct Weather {
    std::string storm;
    Words more;
  };
  static std::vector<Weather> weathers() {
    return {{"", {}},
            {"", {"--flor_every_steps", "2"}},
            {"9000:9000:packs", {}},
            {"9000:9000:ENOSPC", {}},
            {"9000:9000:packs,21000:3000:ENOSPC", {"--flor_every_steps", "2"}}};
  }
  ProcessResult record_with(const Weather& weather, const std::string& accident) const {
    return record(weather.storm, Words{"settled=1"} + weather.more, {{"ACCIDENT", accident}});
  }
  static void replace(const std::filesystem::path& directory, const std::filesystem::path& by) {
    std::filesystem::remove_all(directory);
    std::filesystem::copy(by, directory, std::filesystem::copy_options::recursive);
  }
  /// At every `stride`-th change of all recordings; `kind`: of the accident, "LENGTH:KIND". Returns
  /// how many were tried.
  int try_all(const std::string& kind, int stride,
              const std::function<void(const Weather&, const ProcessResult&)>& look,
              int last = INT_MAX) {
    int tried = 0;
    for (const Weather& weather : weathers()) {
      const auto counted = record_with(weather, "0:0:count");
      const int changes = number_after(counted.err, "changes ");
      EXPECT_GT(changes, 50) << counted.err;
      counted_ = bench_.last_run().checkpoints;
      // Each recording begins with this store: in one that grows, all before it would be checked
      // again.
      const auto begun = bench_.home().parent_path() / "begun";
      replace(begun, bench_.home());
      const int first = std::max(1, changes - last);
      for (int at = first + tried % stride; at <= changes; at += stride) {
        SCOPED_TRACE(fmt::format("STORM={} {} ACCIDENT={}:{}", weather.storm,
                                 fmt::join(weather.more, " "), at, kind));
        replace(bench_.home(), begun);
        look(weather, record_with(weather, fmt::format("{}:{}", at, kind)));
        ++tried;
        if (HasFailure()) return tried;
      }
    }
    return tried;
  }
  /// As far as it is durable nothing of it is missing without a word.
  void expect_known(const Left& left) {
    const std::int64_t last = left.begun.empty() ? 0 : *left.begun.rbegin();
    expect_right(left, reference());
    expect_named(left, last);
    expect_entered(left, last);
    const bool lost = std::ranges::any_of(left.gaps, &store::Gap::values);
    for (const std::string& value : reference().values) {
      const std::int64_t epoch = std::stoll(value.substr(value.find(' ')));
      if (lost || epoch < 0 || epoch >= left.run.epochs) continue;
      EXPECT_THAT(left.values, ::testing::Contains(value)) << "of an epoch that is complete";
    }
  }
  void expect_finished(const Left& left) {
    EXPECT_EQ(left.run.state, store::RunState::finished);
    // A fault may outlast all tries to write the last values, and end before they are named.
    const bool named = std::ranges::any_of(left.gaps, &store::Gap::values);
    if (!named) {
      EXPECT_EQ(left.values, reference().values);
    }
    for (const std::string& value : left.values) {
      EXPECT_THAT(reference().values, ::testing::Contains(value));
    }
    EXPECT_EQ(left.run.epochs, epochs_);
    expect_right(left, reference());
    expect_named(left);
    expect_entered(left, epochs_);
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
  void expect_resumed() {
    const auto resumed = bench_.run("stormy", {"--flor", "test", "--flor_resume", "--flor_no_git"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    expect_finished(look(bench_.last_run().key));
  }
  /// `last`: only so many changes before the end. One fault leaves no checkpoint that is of no use.
  void fail_at_each(int stride, int length = 1, int last = INT_MAX) {
    reference();
    int unfinished = 0, named = 0;
    const auto look_at = [&](const Weather& weather, const ProcessResult& result) {
      SCOPED_TRACE(result.err);
      ASSERT_EQ(result.status, 0);
      EXPECT_EQ(result.out, printed_);
      const Left left = look(bench_.last_run().key);
      if (weather.storm.empty() && weather.more.empty()) {  // inside epochs it depends on the time
        EXPECT_LE(left.run.checkpoints, counted_) << "none is counted twice";
      }
      if (left.run.state != store::RunState::finished) {
        ++unfinished;
        EXPECT_THAT(result.err, HasSubstr("--flor test --flor_resume computes again"));
        expect_known(left);
        return expect_resumed();
      }
      named += left.gaps.empty() ? 0 : 1;
      expect_finished(left);
      const bool inside = std::ranges::any_of(
          left.checkpoints, [](const auto& entry) { return is_inside(entry.first); });
      EXPECT_FALSE(length == 1 && inside);
    };
    const int tried = try_all(fmt::format("{}:EIO", length), stride, look_at, last);
    std::printf("%d recordings with one fault more: %d finished with gaps, %d did not finish\n",
                tried, named, unfinished);
  }
  void kill_at_each(int stride) {
    reference();
    const int tried = try_all("1:kill", stride, [&](const Weather&, const auto& result) {
      SCOPED_TRACE(result.err);
      const Left left = look(bench_.last_run().key);
      if (left.run.state == store::RunState::finished) return expect_finished(left);
      ASSERT_EQ(result.status, -1) << "a signal ended it";
      expect_known(left);
      EXPECT_THAT(bench_.damage(), IsEmpty());
      expect_resumed();
    });
    std::printf("%d recordings were killed and resumed\n", tried);
  }

  std::int64_t counted_ = 0;
};

TEST_F(Accidents, OneFaultMoreAtAnyChangeLosesNothingWithoutAWord) { fail_at_each(53); }
TEST_F(Accidents, AFaultAtItsEndLosesNothingOfARunThatFinishes) {
  fail_at_each(19, 1, 60);
  fail_at_each(29, 4, 60);
  fail_at_each(29, 12, 60);
}
TEST_F(Accidents, AKillAtAnyChangeLosesNothingWithoutAWord) { kill_at_each(67); }

/// Else nothing more would be stored, as if the writer were late. On a busy machine it is: so one of
/// a few tries has to store more.
TEST_F(Accidents, ASnapshotThatIsLostOnItsWayToTheWriterIsNotWaitedFor) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer lets no program fail an allocation";
  for (int at = 0, tries = 0; at < 1000; ++at) {
    auto options = bench_.options();
    options.environment["MEMORY"] = std::to_string(at);
    const auto result = bench_.run("stormy",
                                   {"--flor", "test", "--flor_epsilon", "1e6", "--flor_no_git",
                                    "--kwargs", "epochs=20", "epoch_ms=100"},
                                   options);
    SCOPED_TRACE(fmt::format("MEMORY={}: {}", at, result.err));
    if (result.status != 0) continue;
    const std::size_t begun = look(bench_.last_run().key).begun.size();
    if (begun < 6 && ++tries < 5) {
      --at;
      continue;
    }
    tries = 0;
    EXPECT_GE(begun, 6u);
    if (HasFailure() || result.err.find("memory was enough") != std::string::npos) return;
  }
}

/// In the step from an epoch to the next one, on the training thread.
TEST_F(Accidents, AnAllocationThatFailsLosesNothingWithoutAWord) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer lets no program fail an allocation";
  reference();
  int survived = 0, ended = 0;
  for (int at = 0;; ++at) {
    SCOPED_TRACE(fmt::format("MEMORY={}", at));
    const auto result = record("", {}, {{"MEMORY", std::to_string(at)}});
    SCOPED_TRACE(result.err);
    const Left left = look(bench_.last_run().key);
    ASSERT_NE(result.status, -1) << "no signal";
    if (result.status == 0) {
      ++survived;
      EXPECT_EQ(result.out, printed_);
      expect_finished(left);
      if (result.err.find("memory was enough") != std::string::npos) break;
      EXPECT_TRUE(left.whole.contains(5));
    } else {
      ++ended;
      EXPECT_EQ(left.run.state, store::RunState::failed);
      expect_known(left);
    }
    if (HasFailure() || at > 1000) break;
  }
  std::printf("%d recordings survived, %d ended\n", survived, ended);
}

class AccidentsSlow : public Accidents {};
TEST_F(AccidentsSlow, OneFaultMoreAtEachChangeLosesNothingWithoutAWord) { fail_at_each(1); }
TEST_F(AccidentsSlow, ALongerFaultAtAnyChangeLosesNothingWithoutAWord) {
  for (const int length : {2, 3, 5, 8, 13, 21, 34}) fail_at_each(11, length);
}
TEST_F(AccidentsSlow, AKillAtEachChangeLosesNothingWithoutAWord) { kill_at_each(1); }

/// Two processes that record one run: one of them cannot write, or both cannot.
class RankOutages : public Outages {
 protected:
  RankOutages() { epochs_ = 12; }

  using Storms = std::array<std::string, 2>;
  std::vector<ProcessResult> start_ranks(const Words& words, const Storms& storms) const {
    std::vector<std::unique_ptr<Process>> ranks;
    const std::string meeting = fmt::format("{}.meeting{}", bench_.home().string(), ++meetings_);
    for (std::size_t rank = 0; rank < storms.size(); ++rank) {
      auto options = bench_.options();
      options.environment["MEETING"] = meeting;
      options.environment["RANK"] = std::to_string(rank);
      options.environment["WORLD_SIZE"] = std::to_string(storms.size());
      options.environment["MASTER_ADDR"] = "127.0.0.1";
      if (!storms[rank].empty()) options.environment["STORM"] = storms[rank];
      ranks.push_back(
          std::make_unique<Process>(Words{program("stormy").string()} + words, options));
    }
    std::vector<ProcessResult> results;
    for (const auto& rank : ranks) results.push_back(rank->wait());
    return results;
  }
  std::vector<ProcessResult> record_ranks(const Storms& storms) const {
    return start_ranks({"--flor", "test", "--flor_every", "1", "--flor_no_git", "--kwargs",
                        fmt::format("epochs={}", epochs_)},
                       storms);
  }
  std::vector<Left> look_at_ranks() const {
    std::vector<std::string> keys;
    const auto store = bench_.store();
    const auto& catalog = store->catalog();
    for (const auto& run : catalog.ranks(catalog.resolve("test").start.rank->group)) {
      keys.push_back(run.key);
    }
    std::vector<Left> ranks;
    for (const std::string& key : keys) ranks.push_back(look(key));
    return ranks;
  }
  std::vector<Left> whole_ranks() {
    for (const auto& result : record_ranks({})) EXPECT_EQ(result.status, 0) << result.err;
    return look_at_ranks();
  }
  void expect_whole(const std::vector<Left>& ranks, const std::vector<Left>& whole) {
    ASSERT_EQ(ranks.size(), whole.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      SCOPED_TRACE(fmt::format("rank {}", rank));
      EXPECT_EQ(ranks[rank].run.state, store::RunState::finished);
      EXPECT_EQ(ranks[rank].values, whole[rank].values);
      EXPECT_EQ(ranks[rank].run.epochs, epochs_);
      EXPECT_TRUE(ranks[rank].whole.contains(epochs_ - 1)) << "the last state";
      expect_right(ranks[rank], whole[rank]);
      expect_named(ranks[rank]);
      expect_entered(ranks[rank], epochs_);
    }
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }

 private:
  mutable int meetings_ = 0;
};

TEST_F(RankOutages, AFaultOfOneRankIsAGapOfThatRankAndTheGroupIsReplayedExactly) {
  const auto whole = whole_ranks();
  const auto homes = bench_.home();
  int home = 0;
  for (const std::string storm : {"12000:15000:ENOSPC", "12000:15000:packs", "12000:15000:locks"}) {
    const std::vector<Storms> all = {{storm, ""}, {"", storm}, {storm, storm}};
    for (const Storms& storms : some_of(all, 1)) {
      bench_.use_home(homes / std::to_string(++home));  // what is stored already needs no packs
      SCOPED_TRACE(fmt::format("rank 0: '{}', rank 1: '{}'", storms[0], storms[1]));
      const auto results = record_ranks(storms);
      for (const auto& result : results) EXPECT_EQ(result.status, 0) << result.err;
      const auto ranks = look_at_ranks();
      expect_whole(ranks, whole);
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const bool said = results[rank].err.find("is stored again") != std::string::npos;
        EXPECT_EQ(ranks[rank].gaps.empty(), !said) << results[rank].err;
        if (storms[rank].empty()) {
          EXPECT_FALSE(said) << results[rank].err;
        } else if (storm.ends_with("locks")) {
          EXPECT_FALSE(said) << "no lock is taken in the middle: " << results[rank].err;
        } else if (rank == 0 || !storm.ends_with("packs")) {  // the other may find what is there
          EXPECT_TRUE(said) << results[rank].err;
        }
      }
      if (ranks[0].gaps.empty() && ranks[1].gaps.empty()) continue;
      const bool only_second = ranks[0].gaps.empty();
      const std::string where = only_second ? "finished, rank 1: " : "finished, ";
      const std::string what = ranks[only_second ? 1 : 0].run.degraded;
      EXPECT_THAT(flor({"list", "-n", "1"}).out, HasSubstr(where + what));
      const auto replayed = flor({"replay", "test", "--workers", "1", "--verify-epochs", "none"});
      EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
      EXPECT_THAT(replayed.out, HasSubstr("verified: "));
      EXPECT_THAT(bench_.damage(), IsEmpty());
      if (HasFailure()) return;
    }
  }
}

TEST_F(RankOutages, AGroupOfWhichOneRankCannotEndIsInterruptedAndGoesOnAsAWhole) {
  const auto whole = whole_ranks();
  for (const Storms& storms :
       {Storms{"32000::ENOSPC", ""}, Storms{"", "32000::EIO"}, Storms{"7000::EIO", "32000::EIO"}}) {
    SCOPED_TRACE(fmt::format("rank 0: '{}', rank 1: '{}'", storms[0], storms[1]));
    const auto results = record_ranks(storms);
    for (std::size_t rank = 0; rank < storms.size(); ++rank) {
      EXPECT_EQ(results[rank].status, 0) << results[rank].err;
      const bool said = results[rank].err.find("--flor_resume computes again") != std::string::npos;
      EXPECT_EQ(said, !storms[rank].empty()) << results[rank].err;
    }
    EXPECT_THAT(flor({"list", "-n", "1"}).out, HasSubstr("interrupted"));
    const auto resumed = start_ranks({"--flor", "test", "--flor_resume", "--flor_no_git"}, {});
    for (const auto& result : resumed) EXPECT_EQ(result.status, 0) << result.err;
    expect_whole(look_at_ranks(), whole);
    EXPECT_THAT(flor({"list", "-n", "1"}).out, HasSubstr("finished"));
    EXPECT_THAT(bench_.damage(), IsEmpty());
    if (HasFailure()) return;
  }
}

class OutagesSlow : public Outages {};
TEST_F(OutagesSlow, InTwoHundredStormsEveryLaterEpochIsStored) {
  storm(200, 2);
  std::printf("of 200 recordings %d have gaps\n", gaps_);
}

}  // namespace
}  // namespace flor::testing::outage_test
