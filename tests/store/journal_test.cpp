// The journals are the truth: an index that is gone, damaged or behind is made again from them, and
// says the same.
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "golden_text.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "queue/jobs.h"
#include "run_fixture.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// The whole index as if it were gone.
void remove_index(const fs::path& home) {
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    fs::remove(home / file);
  }
}

/// Every line by itself, so that a difference is one line; without what evaluators found, which no
/// journal says.
std::vector<std::string> lines_of(const Store& store) {
  std::vector<std::string> lines;
  std::istringstream in(golden_runs(store));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("evaluated by job")) lines.push_back(line);
  }
  return lines;
}

std::string difference(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string a = i < one.size() ? one[i] : "(nothing)";
    const std::string b = i < other.size() ? other[i] : "(nothing)";
    if (a != b) return a + "\n is not \n" + b;
  }
  return {};
}

class JournalTest : public StoreTest {
 protected:
  void take_golden() {
    fs::copy(fs::path(FLOR_GOLDEN_STORES) / "format-2", home(), fs::copy_options::recursive);
    expected_ = lines_of(*open(OpenMode::read_only));
    ASSERT_GT(expected_.size(), 100u);
  }
  std::vector<std::string> expected_;
};

TEST_F(JournalTest, AnIndexThatIsGoneIsMadeAgain) {
  take_golden();
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing, OpenMode::create}) {
    remove_index(home());
    const auto store = open(mode);
    EXPECT_EQ(difference(lines_of(*store), expected_), "");
    EXPECT_EQ(damage(*store), "");
  }
}

/// Each byte of the index, and each cut of it: no run and no checkpoint is lost, and no command
/// fails twice.
TEST_F(JournalTest, ADamagedIndexIsMadeAgain) {
  take_golden();
  open(OpenMode::create);  // leaves all in the file
  std::string bytes;
  {
    std::ifstream in(home() / "catalog.db", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::minstd_rand random(3);
  const auto damaged = [&](const std::string& what, const std::string& with) {
    remove_index(home());
    std::ofstream(home() / "catalog.db", std::ios::binary) << with;
    for (int i = 0;; ++i) {
      ASSERT_LT(i, 3) << what;
      try {
        const auto store = open(OpenMode::existing);
        const auto now = lines_of(*store);
        if (!damage(*store, false).empty() && i == 0) continue;
        if (difference(now, expected_).empty()) break;
      } catch (const Error&) {
        // The next command makes it again.
      }
    }
  };
  for (const std::size_t page : {0u, 1u, 2u, 5u, 9u}) {
    std::string with = bytes;
    const std::size_t at = page * 4096;
    if (at + 4096 > with.size()) break;
    for (std::size_t i = 0; i < 4096; ++i) with[at + i] = static_cast<char>(random());
    damaged("page " + std::to_string(page), with);
  }
  for (const std::size_t size : {0u, 1u, 100u, 4096u, 40'000u}) {
    damaged("cut at " + std::to_string(size), bytes.substr(0, size));
  }
}

/// The index as it was before a process that was killed between its journal and the index.
TEST_F(JournalTest, AnIndexThatIsBehindIsBroughtUpToDate) {
  const fs::path before = home().parent_path() / "before";
  std::vector<std::string> expected;
  std::int64_t run = 0;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run()).id;
    CheckpointWriter writer(*store, run);
    writer.write(boundary(0), make_snapshot(1, 0, 1000));
  }
  fs::copy(home() / "catalog.db", before);
  {
    const auto store = open();
    CheckpointWriter writer(*store, run);
    writer.write(boundary(1), make_snapshot(1, 1, 1000));
    store->catalog().add_argument(run, {"lr", "real", "0.5"});
    Value value;
    value.name = "loss";
    value.value = 0.25;
    store->catalog().add_values(run, std::span(&value, 1));
    store->catalog().finish_run(run, 5, false, "");
    expected = lines_of(*store);
  }
  remove_index(home());
  fs::copy(before, home() / "catalog.db");
  // A process that is killed leaves its announcement, by which the second journal is found.
  const Run known = open(OpenMode::read_only)->catalog().runs().at(0);
  std::ofstream(Paths{home()}.announced() / (known.key + ".0000000000000000"));
  const auto store = open(OpenMode::read_only);
  EXPECT_EQ(difference(lines_of(*store), expected), "");
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoints(known.id).at(1).id, make_snapshot(1, 1, 1000));
}

TEST_F(JournalTest, ARunThatWasDroppedStaysAway) {
  {
    const auto store = open();
    const Run gone = store->catalog().add_run(new_run("gone"));
    store->catalog().add_run(new_run("stays"));
    store->catalog().drop_run(gone.id);
  }
  remove_index(home());
  const auto store = open();
  ASSERT_EQ(store->catalog().runs().size(), 1u);
  EXPECT_EQ(store->catalog().runs()[0].start.experiment, "stays");
}

/// A flipped bit of a journal is undone; what a damaged page held is lost, and the rest is not.
TEST_F(JournalTest, DamageOfAJournalCostsWhatItHeld) {
  Run run;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run());
    for (int i = 0; i < 50; ++i) {
      store->catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
    }
  }
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  std::string bytes;
  {
    std::ifstream in(journal, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto arguments_with = [&](const std::string& with) {
    std::ofstream(journal, std::ios::binary) << with;
    remove_index(home());
    const auto store = open();
    return store->catalog().arguments(store->catalog().runs().at(0).id).size();
  };
  std::minstd_rand random(5);
  for (int i = 0; i < 20; ++i) {
    std::string with = bytes;
    with[random() % with.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_EQ(arguments_with(with), 50u);
  }
  std::string with = bytes;
  for (std::size_t i = 0; i < 200; ++i) with[with.size() / 2 + i] = 'x';
  const std::size_t left = arguments_with(with);
  EXPECT_GE(left, 46u);
  EXPECT_LT(left, 50u);
  EXPECT_EQ(arguments_with(bytes.substr(0, bytes.size() - 3)), 49u) << "a torn tail";
}

/// The header of a record in the middle of a pack: what follows it is found.
TEST_F(JournalTest, ADamagedRecordCostsNoneThatFollows) {
  constexpr int kSteps = 6;
  const auto content = [](int step) {
    return bytes_snapshot("x", random_bytes(static_cast<unsigned>(step) + 1, 5000));
  };
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < kSteps; ++step) writer.write(boundary(step), content(step));
  }
  std::int64_t second = 0;
  {
    Connection connection(home() / "catalog.db", Connection::Mode::read_only);
    const auto row = connection("SELECT offset FROM chunk ORDER BY offset LIMIT 1 OFFSET 1");
    ASSERT_TRUE(row->step());
    second = row->integer(0);
  }
  for (const auto& pack : fs::directory_iterator(home() / "packs")) {
    std::fstream file(pack.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(second + 20) << "damage";
  }
  remove_index(home());
  const auto store = open();
  const Run run = store->catalog().runs().at(0);
  for (int step = 0; step < kSteps; ++step) {
    const auto info = store->catalog().checkpoint(run.id, boundary(step));
    EXPECT_EQ(info.has_value(), step != 1) << step;
    if (info) expect_holds(*store, info->id, content(step));
  }
}

/// No event vouches for what a collection and an archive have written.
TEST_F(JournalTest, WhatWasCopiedIntoOtherPacksIsFoundAgain) {
  {
    const auto store = open();
    const Run gone = store->catalog().add_run(new_run("gone"));
    CheckpointWriter other(*store, gone.id);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 4; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
      other.write(boundary(step), bytes_snapshot("x", random_bytes(7, 50'000)));
    }
    const CheckpointKey keys[] = {boundary(0), boundary(1)};
    store->catalog().drop_checkpoints(run.id, keys);
    const auto connection = open_for_reading(Paths{home()});
    const auto chain = (*connection)("SELECT max(depth) FROM chunk");
    ASSERT_TRUE(chain->step());
    EXPECT_GT(chain->integer(0), 1) << "differences of differences";
  }
  for (const auto& pack : packs()) {
    fs::last_write_time(pack, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  EXPECT_GT(collect(*open(), false, 1).packs_compacted, 0);
  expect_same_when_made_again(home());
  for (int step = 2; step < 4; ++step) {
    remove_index(home());
    const auto store = open();
    const auto info = store->catalog().checkpoint(store->catalog().resolve("linear").id,
                                                  boundary(step));
    ASSERT_TRUE(info);
    expect_holds(*store, info->id, make_snapshot(1, step, 20'000));
  }
}

/// A content that was collected and recorded again has two records, of which the later one is not
/// at the end of a chain.
TEST_F(JournalTest, ADifferenceIsGivenTheRecordThatItWasMadeFrom) {
  const auto record = [&](const std::string& name, int first, int last) {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run(name));
    CheckpointWriter writer(*store, run.id);
    for (int step = first; step <= last; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
    }
  };
  for (int beside = 0; beside < 12 && !HasFailure(); ++beside) {  // packs are found in any order
    fs::remove_all(home());
    record("first", 0, 3);
    {
      const auto store = open();
      const CheckpointKey keys[] = {boundary(1), boundary(2), boundary(3)};
      store->catalog().drop_checkpoints(store->catalog().resolve("first").id, keys);
      collect(*store, false, 0);
    }
    record("second", 2 - beside % 2, 4);
    expect_same_when_made_again(home());
  }
}

/// A recording goes on while the index is made again under it, and garbage is collected by that.
TEST_F(JournalTest, ARunThatIsRecordedMeanwhileIsWholeInTheNewIndex) {
  std::vector<Snapshot> snapshots;
  for (int step = 0; step < 6; ++step) snapshots.push_back(make_snapshot(1, step, 1000));
  auto store = open();
  const Run dropped = store->catalog().add_run(new_run("dropped"));
  CheckpointWriter(*store, dropped.id).write(boundary(0), snapshots[4]);
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  for (int step = 0; step < 2; ++step)
    writer.write(boundary(step), snapshots[static_cast<std::size_t>(step)]);
  store->catalog().drop_run(dropped.id);  // the content of step 4 is garbage, and still has rows
  remove_index(home());
  for (const auto& pack : fs::directory_iterator(home() / "packs")) {
    fs::last_write_time(pack.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  collect(*open(), false);
  for (int step = 2; step < 6; ++step)
    writer.write(boundary(step), snapshots[static_cast<std::size_t>(step)]);
  const Run later = store->catalog().add_run(new_run("later"));
  store->catalog().finish_run(run.id, 7, false, "");
  EXPECT_EQ(open_home_queue(*store)->add_evaluator("a", "b"), 1) << "the queue is not in it";
  const auto now = open();
  collect(*now, false);
  EXPECT_EQ(damage(*now), "");
  const Run found = now->catalog().resolve("linear");
  EXPECT_EQ(found.key, run.key);
  EXPECT_EQ(found.state, RunState::finished);
  EXPECT_EQ(now->catalog().resolve("later").key, later.key);
  for (int step = 0; step < 6; ++step) {
    const auto info = now->catalog().checkpoint(found.id, boundary(step));
    ASSERT_TRUE(info) << step;
    expect_holds(*now, info->id, snapshots[static_cast<std::size_t>(step)]);
  }
}

/// What a replay says without the event that began it is said of no other, least of the recording.
TEST_F(JournalTest, ALostReplayTakesNothingFromTheRecording) {
  std::string key;
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    key = run.key;
    Value value;
    value.name = "loss";
    value.place = {"epoch", 0, -1, ""};
    value.value = 0.25;
    store->catalog().add_values(run.id, std::span(&value, 1));
  }
  {
    const auto store = open();
    NewReplay start;
    start.run = store->catalog().runs().at(0).id;
    const std::int64_t replay = store->catalog().add_replay(start);
    store->catalog().verify_replay(replay, std::vector<std::int64_t>{0});
    store->catalog().doubt_replay(replay, "loss differs");
    ReplayResult result;
    result.verdict = Verdict::differs;
    store->catalog().finish_replay(replay, result);
  }
  const fs::path journal = find_journals(Paths{home()}, key).at(1).path;
  std::uint64_t at = 0;
  {
    const File file(Filesystem::system(), journal, O_RDONLY);
    FrameReader reader(file);
    reader.next();
    at = reader.position();
  }
  {
    std::fstream file(journal, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at + 50)) << "damage of this event";
  }
  remove_index(home());
  const auto store = open();
  const auto values = store->catalog().values({.run = store->catalog().runs().at(0).id});
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].name, "loss");
  EXPECT_EQ(values[0].verdict, ValueVerdict::recorded);
  EXPECT_TRUE(store->catalog().replays(store->catalog().runs().at(0).id).empty());

  EXPECT_THAT(damage(*store), HasSubstr("journal"));
  EXPECT_EQ(repair(*store).quarantined.size(), 1u);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(open()->catalog().values({.run = store->catalog().runs().at(0).id}).size(), 1u);
}

/// Each time the damaged one is kept.
TEST_F(JournalTest, AJournalIsRepairedAsOftenAsItIsDamaged) {
  Run run;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run());
    for (int i = 0; i < 50; ++i) {
      store->catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
    }
  }
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  for (int times = 1; times < 4; ++times) {
    const auto middle = static_cast<std::streamoff>(fs::file_size(journal) / 2);
    std::fstream(journal, std::ios::binary | std::ios::in | std::ios::out).seekp(middle)
        << "damage of some events";
    const auto store = open();
    const auto report = repair(*store);
    ASSERT_EQ(report.quarantined.size(), 1u) << times;
    EXPECT_EQ(std::distance(fs::directory_iterator(home() / "quarantine"), {}), times);
    EXPECT_EQ(damage(*store), "");
  }
}

/// The disk leaves what it was to write and cut off. The change failed, so no index says it.
TEST_F(JournalTest, WhatFailedIsInNoIndexThatIsMadeAgain) {
  for (const int error : {ENOSPC, EIO, EROFS}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 100);
      fs::remove_all(home());
      FaultyFilesystem disk;
      disk.error = error;
      const auto store = Store::Impl::open(home(), OpenMode::create, disk);
      const Run run = store->catalog().add_run(new_run());
      store->catalog().add_argument(run.id, {"first", "int", "1"});
      disk.calls = 0;
      disk.fail_at = n;
      std::vector<std::string> said{"first"};
      const auto say = [&](const std::string& name) {
        try {
          store->catalog().add_argument(run.id, {name, "int", "1"});
          said.push_back(name);
        } catch (const Error&) {  // it says so
        }
      };
      say("a-much-longer-name-of-one-that-the-disk-refuses");
      const bool failed = disk.has_failed();
      say("refused-while-the-disk-fails");
      disk.heal();
      say("b");
      say("c");
      remove_index(home());
      std::vector<std::string> found;
      const auto made = open();
      for (const auto& argument : made->catalog().arguments(run.id)) found.push_back(argument.name);
      EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(said))
          << "error " << error << " at " << n;
      EXPECT_EQ(damage(*made), "");
      if (HasFailure() || !failed) break;
    }
  }
}

/// As a damaged disk leaves it: what another process has read meanwhile is cut off.
TEST_F(JournalTest, AnIndexThatHasReadWhatFailedIsMadeAgain) {
  FaultyFilesystem disk;
  disk.error = EIO;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  disk.calls = 0;
  disk.fail_at = 2;  // what is written is not synced, and then not cut off
  EXPECT_THROW(store->catalog().add_argument(run.id, {"failed", "int", "1"}), Error);
  ASSERT_EQ(open()->catalog().arguments(run.id).size(), 1u) << "this disk has cut it off";
  disk.heal();
  store->catalog().add_argument(run.id, {"later", "int", "1"});
  for (int i = 0; i < 2; ++i) open();
  const auto now = open();
  ASSERT_EQ(now->catalog().arguments(run.id).size(), 1u);
  EXPECT_EQ(now->catalog().arguments(run.id)[0].name, "later");
}

std::vector<EventKind> kinds_of(const fs::path& journal) {
  JournalReader reader(Filesystem::system(), journal, {});
  std::vector<EventKind> kinds;
  while (const auto event = reader.next()) kinds.push_back(event->kind);
  return kinds;
}

/// Whatever fails when a run is added, and whichever run has its id then.
TEST_F(JournalTest, EveryJournalBeginsWithItsWriterWhateverFailedBefore) {
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    fs::remove_all(home());
    FaultyFilesystem disk;
    disk.error = EIO;
    const auto store = Store::Impl::open(home(), OpenMode::create, disk);
    disk.calls = 0;
    disk.fail_at = n;
    disk.stays_broken = false;
    bool failed = false;
    try {
      store->catalog().add_run(new_run("first"));
    } catch (const Error&) {
      failed = true;
    }
    disk.heal();
    const Run run = store->catalog().add_run(new_run("second"));
    for (const std::string& key : find_runs(Paths{home()})) {
      const auto journals = find_journals(Paths{home()}, key);
      EXPECT_EQ(journals.size(), key == run.key || !failed ? 1u : 0u) << n;
      for (const FoundJournal& journal : journals) {
        const auto kinds = kinds_of(journal.path);
        ASSERT_GE(kinds.size(), 2u) << n;
        EXPECT_EQ(kinds[0], EventKind::writer) << n;
        EXPECT_EQ(kinds[1], EventKind::run) << n;
      }
    }
    EXPECT_EQ(damage(*store), "") << n;
    remove_index(home());
    EXPECT_EQ(open()->catalog().runs().size(), failed ? 1u : 2u) << n;
    if (!failed || HasFailure()) break;
  }
}

/// What the index has stays in the journal, whatever goes wrong once it has it.
TEST_F(JournalTest, AnErrorAfterTheCommitTakesNothingBack) {
  Run run;
  {
    const auto store = open();
    store->impl().database->connection.before_lasting([] { throw std::bad_alloc(); });
    run = store->catalog().add_run(new_run());
    store->catalog().add_argument(run.id, {"lr", "real", "0.5"});
  }
  EXPECT_EQ(damage(*open()), "");
  remove_index(home());
  EXPECT_EQ(open()->catalog().arguments(run.id).size(), 1u);
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

/// An hour in which nothing can be synced, and one in which nothing can be made.
TEST_F(JournalTest, AFaultThatLastsLeavesNoNames) {
  FaultyFilesystem disk;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  const auto other = Store::Impl::open(home(), OpenMode::create, disk);
  for (const int error : {EIO, ENOSPC}) {
    disk.error = error;
    for (int i = 0; i < 100; ++i) {
      disk.calls = 0;
      disk.fail_at = 1 + i % 6;
      disk.stays_broken = i % 12 < 6;
      for (const auto& each : {store, other}) {
        try {
          each->catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
        } catch (const Error&) {  // it says so
        }
      }
    }
  }
  disk.heal();
  for (const auto& each : {store, other}) {
    each->catalog().add_argument(run.id, {"last", "int", "1"});
  }
  const Paths paths{home()};
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  const auto journals = find_journals(paths, run.key);
  EXPECT_EQ(names_in(paths.run(run.key)).size(), journals.size());
  for (const FoundJournal& journal : journals) {
    EXPECT_GE(kinds_of(journal.path).size(), 2u) << journal.path;
  }
  EXPECT_EQ(damage(*store), "");
}

/// What killed processes leave, of earlier versions, too.
TEST_F(JournalTest, GcRemovesNamesThatLeadToNothing) {
  FaultyFilesystem disk;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  const Run waiting = open()->catalog().add_run(new_run("waits"));
  const Paths paths{home()};
  const std::string lost = run.key.substr(0, 2) + "0123456789abcd";
  const auto touch = [](const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file).flush();
  };
  for (const char* end : {".0000000000000000", ".0000000000000001", ".0000000000000002"}) {
    touch(paths.announced() / (run.key + end));
  }
  touch(paths.announced() / (lost + ".0000000000000000"));
  touch(paths.runs() / lost.substr(0, 2) / (lost + ".gone") / "1/journal");
  fs::create_directories(paths.run(run.key) / "7");
  fs::create_directories(paths.run(lost));
  touch(paths.run(run.key) / "8/journal");
  touch(paths.run(run.key) / "notes");
  touch(paths.run(run.key) / "9/notes");
  // A process whose first change failed, and that goes on.
  disk.calls = 0;
  disk.fail_at = 3;
  disk.stays_broken = false;
  EXPECT_THROW(store->catalog().add_argument(waiting.id, {"a", "int", "1"}), Error);
  disk.heal();
  const auto make_old = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(paths.runs())) {
      fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
  };
  collect(*store, false);
  EXPECT_EQ(names_in(paths.run(run.key)).size(), 5u) << "younger than an hour";
  EXPECT_TRUE(fs::exists(paths.run(lost)));
  make_old();
  collect(*store, false);
  EXPECT_THAT(names_in(paths.run(run.key)), ::testing::UnorderedElementsAre("1", "notes", "9"));
  EXPECT_FALSE(fs::exists(paths.run(lost)));
  EXPECT_FALSE(fs::exists(paths.run(lost).string() + ".gone"));
  EXPECT_THAT(names_in(paths.announced()),
              ::testing::ElementsAre(::testing::StartsWith(waiting.key)));
  store->catalog().add_argument(waiting.id, {"a", "int", "1"});
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  EXPECT_EQ(damage(*store), "");
  remove_index(home());
  EXPECT_EQ(open()->catalog().arguments(open()->catalog().resolve("waits").id).size(), 1u);
}

/// Calls a function before the index that is made again takes its place.
struct WhileMadeAgain : Filesystem {
  std::function<void()> then;

  int open(const char* path, int flags, mode_t mode) override {
    const bool made = std::string_view(path).ends_with("/catalog.new") && (flags & O_CREAT) == 0;
    if (made && then) std::exchange(then, {})();
    return Filesystem::open(path, flags, mode);
  }
};

TEST_F(JournalTest, ARunThatIsDroppedInAnIndexThatWasReplacedIsGone) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 0, 100));
  rebuild(Paths{home()}, Filesystem::system());
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
  store->catalog().drop_run(run.id);
  const auto now = open();
  EXPECT_THAT(now->catalog().runs({}), ::testing::IsEmpty());
  const Paths paths{home()};
  EXPECT_FALSE(fs::exists(paths.run(run.key)));
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  EXPECT_EQ(damage(*now), "");
}

TEST_F(JournalTest, WhatIsSaidWhileTheIndexIsMadeAgainIsInTheNewOne) {
  const auto store = open(), other = open();
  const Run gone = store->catalog().add_run(new_run("gone"));
  const Run stays = store->catalog().add_run(new_run("stays"));
  WhileMadeAgain filesystem;
  filesystem.then = [&] {
    store->catalog().drop_run(gone.id);
    other->catalog().add_argument(stays.id, {"a", "int", "1"});  // in a journal that is new
  };
  rebuild(Paths{home()}, filesystem);
  ASSERT_FALSE(filesystem.then);
  const auto now = open();
  ASSERT_EQ(now->catalog().runs({}).size(), 1u);
  EXPECT_EQ(now->catalog().arguments(now->catalog().resolve("stays").id).size(), 1u);
  EXPECT_FALSE(fs::exists(Paths{home()}.run(gone.key)));
  EXPECT_EQ(damage(*now), "");
}

/// A run that was dropped and fetched again keeps its journals.
TEST_F(JournalTest, ARunThatIsThereAgainKeepsItsDirectory) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  rebuild(Paths{home()}, Filesystem::system());
  store->catalog().drop_run(run.id);
  {
    const Paths paths{home()};
    RunJournal journal(Filesystem::system(), paths, run.key);
    RunEvent begins;
    begins.key = run.key;
    begins.start = new_run();
    journal.begin(encode_event(now_us() + 1, this_writer(run.key, journal.number())));
    journal.append(EventKind::run, encode_event(now_us() + 2, begins));
    journal.flush();
    journal.sync();
    journal.keep();
  }
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
  remove_index(home());
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
}

/// A process was killed when it removed a part of an earlier directory of that name.
TEST_F(JournalTest, TheDirectoryOfADroppedRunGoesWhateverIsInTheWay) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const fs::path directory = Paths{home()}.run(run.key);
  fs::create_directories(directory.string() + ".gone/1");
  store->catalog().drop_run(run.id);
  EXPECT_THAT(names_in(directory.parent_path()), ::testing::IsEmpty());
}

TEST_F(JournalTest, AJournalThatIsGoneIsNamed) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  EXPECT_EQ(damage(*store), "");
  fs::remove(find_journals(Paths{home()}, run.key).at(0).path);
  EXPECT_THAT(damage(*store), HasSubstr("is missing: the catalog alone has what it said"));
}

TEST_F(JournalTest, AStoreOfAnOlderFormIsRefusedInOneLine) {
  fs::create_directories(home());
  {
    Connection connection(home() / "catalog.db", Connection::Mode::create);
    connection.execute(
        "CREATE TABLE run (id INTEGER); PRAGMA user_version=1; PRAGMA "
        "application_id=1179406162");
  }
  for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
    EXPECT_THAT([&] { open(mode); },
                ::testing::ThrowsMessage<Error>(HasSubstr("has the form of an older Flor")));
  }
}

}  // namespace
}  // namespace flor::store
