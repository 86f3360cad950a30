// What a store does with content and runs that came from elsewhere: it compares, marks, and never
// takes them for its own.
#include "crafted_bucket.h"
#include "maintain/archive.h"
#include "maintain/repair.h"
#include "pack/chunk_reader.h"
#include "store/made_again.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace flor::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Contents of 2 KiB with one digest, which can hardly be compressed. XXH3 multiplies the halves of
/// each word, after it has mixed in its secret: where one half becomes 0 the other may be anything,
/// if only the sum of the words stays.
std::vector<std::byte> colliding(std::uint32_t shift) {
  std::vector<std::byte> bytes = store::random_bytes(1, 2048);
  const unsigned char first[] = {0xb8, 0xfe, 0x6c, 0x39}, second[] = {0x7c, 0x01, 0x81, 0x2c};
  const std::uint32_t up = 1000 + shift, down = 1000 - shift;
  std::memcpy(&bytes[0], first, 4);
  std::memcpy(&bytes[4], &up, 4);
  std::memcpy(&bytes[64], second, 4);
  std::memcpy(&bytes[68], &down, 4);
  return bytes;
}

class TrustTest : public RemoteTest {
 protected:
  static Run run_with(Store& store, const store::Snapshot& snapshot) {
    const Run run = store.catalog().add_run(store::new_run());
    store::CheckpointWriter(store, run.id).write(boundary(0), snapshot);
    return run;
  }
  std::int64_t foreign_chunks(const std::string& name) {
    store::Connection catalog(directory_ / name / "catalog.db", store::Connection::Mode::read_only);
    const auto row = catalog("SELECT count(*) FROM foreign_chunk");
    return row->step() ? row->integer(0) : -1;
  }
  /// With values that refer to pictures, of which none come.
  std::shared_ptr<Store> with_facts_alone(const std::string& name, const std::string& key) {
    const auto store = open(name);
    FetchOptions options;
    options.only.emplace();
    options.objects = false;
    const auto remote = objects();
    remote::fetch(*store, *remote, choose_run(*remote, key), options);
    return store;
  }
};

TEST_F(TrustTest, ARecordingIsNotGivenOtherBytesThatWereMadeToHaveItsDigest) {
  ASSERT_EQ(store::digest_of(colliding(0)), store::digest_of(colliding(1)));
  const auto attacker = open("attacker"), here = open();
  const auto remote = objects();
  const Run forged = run_with(*attacker, store::bytes_snapshot("weights", colliding(1)));
  spool(*attacker, forged, *remote);
  EXPECT_THAT(damage_of(*remote), IsEmpty());
  fetch(*here, *remote, forged.key);
  EXPECT_EQ(foreign_chunks("home"), 1);
  const store::Snapshot own = store::bytes_snapshot("weights", colliding(0));
  const Run mine = run_with(*here, own);
  store::expect_holds(*here, here->catalog().checkpoints(mine.id).at(0).id, own);
  EXPECT_EQ(foreign_chunks("home"), 0);
  EXPECT_EQ(store::damage(*here), "");
}

TEST_F(TrustTest, ARecordingIsNotGivenTheBytesOfAnImportedFileThatWereMadeToHaveItsDigest) {
  const auto here = open();
  const store::Snapshot forged = store::bytes_snapshot("weights", colliding(1));
  const store::RunOrigin file{store::RunOrigin::Kind::imported, "/tmp/x.safetensors", 17};
  const Run imported = here->catalog().add_run(store::new_run("import"), {}, file);
  store::CheckpointWriter(*here, imported.id).write(boundary(0), forged);
  EXPECT_EQ(foreign_chunks("home"), 1);
  store::expect_holds(*here, here->catalog().checkpoints(imported.id).at(0).id, forged);
  const store::Snapshot own = store::bytes_snapshot("weights", colliding(0));
  const Run mine = run_with(*here, own);
  store::expect_holds(*here, here->catalog().checkpoints(mine.id).at(0).id, own);
  EXPECT_EQ(foreign_chunks("home"), 0);
}

TEST_F(TrustTest, WhatIsRecordedHereDependsOnNoRecordThatCameFromElsewhere) {
  const auto other = open("other"), here = open();
  const auto remote = objects();
  const Run theirs = run_with(*other, state(1, 0));
  spool(*other, theirs, *remote);
  fetch(*here, *remote, theirs.key);
  EXPECT_GT(foreign_chunks("home"), 0);
  const Run mine = run_with(*here, state(1, 0));
  const auto stored = here->catalog().checkpoints(mine.id).at(0);
  EXPECT_GT(stored.stored_bytes, 0U);
  store::expect_holds(*here, stored.id, state(1, 0));
  EXPECT_EQ(foreign_chunks("home"), 0);
  // What was fetched has no living record any more.
  EXPECT_EQ(store::collect(*here, false).packs_removed, 1);
  store::expect_holds(*here,
                      here->catalog().checkpoints(here->catalog().resolve(theirs.key).id).at(0).id,
                      state(1, 0));
  EXPECT_EQ(store::damage(*here), "");
  store::expect_same_when_made_again(*here);
}

TEST_F(TrustTest, WhatWasFetchedIsReadAlsoWhereItsBasesWereRecordedHereSince) {
  const auto other = open("other"), here = open();
  const auto remote = objects();
  const Run theirs = finished_run(*other, 1, 4);  // differences, each to the one before it
  spool(*other, theirs, *remote);
  fetch(*here, *remote, theirs.key);
  const std::int64_t foreign = foreign_chunks("home");
  const Run mine = run_with(*here, state(1, 2));
  EXPECT_LT(foreign_chunks("home"), foreign);
  EXPECT_GT(foreign_chunks("home"), 0);
  expect_boundaries(*here, theirs.key, 1, 0, 4);
  EXPECT_EQ(store::damage(*here), "");
  store::expect_same_when_made_again(*here);
  const auto onward = open_directory((directory_ / "onward").string());
  spool(*here, here->catalog().resolve(theirs.key), *onward);
  EXPECT_THAT(damage_of(*onward), IsEmpty());
  store::collect(*here, false, 1);
  expect_boundaries(*here, theirs.key, 1, 0, 4);
  store::expect_holds(*here, here->catalog().checkpoints(mine.id).at(0).id, state(1, 2));
}

/// The index is lost after records with one digest came into the packs from here and elsewhere, and
/// were moved.
class ForgedRecordsTest : public TrustTest {
 protected:
  static constexpr int kForgers = 16;

  static store::Snapshot own(int version) {
    std::vector<std::byte> content = colliding(0);
    content.back() = static_cast<std::byte>(version);
    return store::bytes_snapshot("weights", content);
  }
  /// Of a run that has ended: its first checkpoint has the digest. No record of it is a difference.
  Run record_own(Store& store) {
    const Run run = store.catalog().add_run(store::new_run());
    for (int version = 0; version < 4; ++version) {
      store::CheckpointWriter(store, run.id).write(boundary(version), own(version));
    }
    store.catalog().finish_run(run.id, store::new_run().started_us + 1, false, "");
    return *store.catalog().run(run.id);
  }
  Run forge(ObjectStore& objects) {
    const auto attacker = open("attacker");
    std::vector<std::byte> content = colliding(1);
    content.back() = std::byte{0};
    const Run run = run_with(*attacker, store::bytes_snapshot("weights", content));
    spool(*attacker, run, objects);
    return run;
  }
  /// What a fetch leaves that was killed before its records got rows. Under several names, so that
  /// some of them come before any other pack in whatever order a directory has.
  void fetch_and_be_killed(ObjectStore& objects, const std::string& key) {
    const auto elsewhere = open("elsewhere");
    fetch(*elsewhere, objects, key);
    for (const auto& entry : flor::testing::packs_of(directory_ / "elsewhere")) {
      for (int i = 0; i < kForgers; ++i) {
        const std::uint64_t name = 0x1111111111111111U * static_cast<unsigned>(i);
        fs::copy_file(entry.path(), flor::testing::place_of_pack(directory_ / "home",
                                                                 fmt::format("{:016x}", name)));
      }
    }
  }
  void remove_index() {
    for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
      fs::remove(directory_ / "home" / file);
    }
  }
  void expect_own(const std::string& key) {
    const auto here = open();
    const auto checkpoints = here->catalog().checkpoints(here->catalog().resolve(key).id);
    ASSERT_THAT(checkpoints, SizeIs(4));
    for (const auto& info : checkpoints) {
      store::expect_holds(*here, info.id, own(static_cast<int>(info.key.iteration)));
    }
    EXPECT_EQ(store::damage(*here), "");
  }
};

TEST_F(ForgedRecordsTest, ARunKeepsItsBytesWhateverWasMovedBeforeItsIndexIsLost) {
  const std::vector<std::function<void(Store&, const Run&)>> moves = {
      [](Store&, const Run&) {},
      [](Store& here, const Run&) { EXPECT_GT(store::collect(here, false, 1).packs_compacted, 0); },
      [](Store& here, const Run& mine) {
        EXPECT_GT(store::archive(here, mine, {}).chunks_written, 0);
        EXPECT_GT(store::collect(here, false, 1).packs_removed, 0);
      },
      [](Store& here, const Run& mine) {
        EXPECT_GT(store::archive(here, mine, {}).chunks_written, 0);
        EXPECT_GT(store::collect(here, false, 1).packs_removed, 0);
        EXPECT_GT(store::collect(here, false, 1).packs_compacted, 0);
      },
  };
  for (const bool is_first : {true, false}) {
    for (const auto& move : moves) {
      for (const char* name : {"home", "elsewhere", "attacker", "remote"}) {
        fs::remove_all(directory_ / name);
      }
      const auto remote = objects();
      const Run forged = forge(*remote);
      Run mine;
      {
        const auto here = open();
        if (is_first) fetch(*here, *remote, forged.key);
        mine = record_own(*here);
        if (!is_first) fetch(*here, *remote, forged.key);
        move(*here, mine);
      }
      fetch_and_be_killed(*remote, forged.key);
      remove_index();
      expect_own(mine.key);
    }
  }
}

TEST_F(ForgedRecordsTest, WhatCameFromElsewhereStandsInForNothingThatIsLost) {
  const auto remote = objects();
  const Run forged = forge(*remote);
  const Run mine = record_own(*open());
  for (const auto& entry : flor::testing::packs_of(directory_ / "home")) {
    fs::remove(entry.path());
  }
  fetch_and_be_killed(*remote, forged.key);
  remove_index();
  const auto here = open();
  EXPECT_THAT(here->catalog().checkpoints(here->catalog().resolve(mine.key).id), IsEmpty());
  EXPECT_EQ(store::damage(*here), "");
}

TEST_F(ForgedRecordsTest, ARepairLeadsNoCheckpointToWhatCameFromElsewhere) {
  const auto remote = objects();
  const Run forged = forge(*remote);
  const auto here = open();
  fetch(*here, *remote, forged.key);
  const fs::path fetched = flor::testing::packs_of(directory_ / "home").at(0);
  const Run mine = record_own(*here);
  for (const auto& entry : flor::testing::packs_of(directory_ / "home")) {
    if (entry.path() == fetched) continue;
    std::fstream pack(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    pack.seekp(-1, std::ios::end).put('\x7f');
  }
  const store::RepairReport report = store::repair(*here);
  EXPECT_EQ(report.relocated, 0);
  EXPECT_THAT(here->catalog().checkpoints(mine.id), IsEmpty());
  EXPECT_EQ(store::damage(*here), "");
}

/// The header of a pack says where its records came from: a repair writes it as it was.
TEST_F(ForgedRecordsTest, AHeaderThatIsMadeAgainSaysWhereTheRecordsCameFrom) {
  const auto remote = objects();
  const Run forged = forge(*remote);
  const auto here = open();
  fetch(*here, *remote, forged.key);
  const fs::path fetched = flor::testing::packs_of(directory_ / "home").at(0);
  run_with(*here, state(2, 0));
  for (const auto& entry : flor::testing::packs_of(directory_ / "home")) {
    std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).put('f');
  }
  EXPECT_EQ(store::repair(*here).rewritten, 2);
  for (const auto& entry : flor::testing::packs_of(directory_ / "home")) {
    const store::File file(store::Filesystem::system(), entry.path(), O_RDONLY);
    const auto header = store::read_pack_header(file);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->origin == store::PackOrigin::elsewhere, entry.path() == fetched);
  }
}

TEST_F(TrustTest, WhatWasFetchedAndIsCollectedIsNotMarkedAnyMore) {
  const auto other = open("other"), here = open();
  const auto remote = objects();
  const Run theirs = run_with(*other, state(1, 0));
  spool(*other, theirs, *remote);
  fetch(*here, *remote, theirs.key);
  here->catalog().drop_run(here->catalog().resolve(theirs.key).id);
  store::collect(*here, false);
  EXPECT_EQ(foreign_chunks("home"), 0);
}

TEST_F(TrustTest, ARunThatWasFetchedInPartIsSoundAndIsNotSpooledOnAsAWholeOne) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  const auto there = with_facts_alone("other", run.key);
  EXPECT_EQ(store::damage(*there), "");
  const auto remarks = store::check(*there, false).remarks;
  EXPECT_THAT(remarks,
              ElementsAre(HasSubstr("3 logged objects of runs that were fetched in part")));
  const auto elsewhere = open_directory((directory_ / "elsewhere").string());
  try {
    spool(*there, there->catalog().resolve(run.key), *elsewhere);
    ADD_FAILURE() << "a run in part was spooled as a whole one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("flor fetch " + run.key));
  }
  EXPECT_TRUE(list_runs(*elsewhere).empty());
  // To where it came from nothing is to be sent.
  EXPECT_FALSE(spool(*there, there->catalog().resolve(run.key), *remote).changed);
  fetch(*there, *remote, run.key);
  EXPECT_THAT(store::check(*there, false).remarks, IsEmpty());
  spool(*there, there->catalog().resolve(run.key), *elsewhere);
  EXPECT_THAT(damage_of(*elsewhere), IsEmpty());
}

TEST_F(TrustTest, WhatIsFetchedIntoAHomeOfAGroupIsForTheGroupWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}, mode_t{0777}}) {
    for (const char* name : {"remote", "home", "other"}) fs::remove_all(directory_ / name);
    fs::create_directories(directory_ / "other");
    ASSERT_EQ(::chmod((directory_ / "other").c_str(), 02770), 0);
    const mode_t before = ::umask(mask);
    {
      const auto here = open(), there = open("other");
      const auto remote = objects();
      spool(*here, finished_run(*here, 1, 2), *remote);
      fetch(*there, *remote, here->catalog().runs().at(0).key);
    }
    ::umask(before);
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "other")) {
      struct stat status {};
      ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 07777, entry.is_directory() ? 02770U : 0660U)
          << entry.path() << " under the umask " << mask;
    }
  }
}

TEST_F(TrustTest, PlacesAndCachesAreForTheirUserAloneToWriteWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    fs::remove_all(remote_path());
    fs::remove_all(directory_ / "home");
    fs::remove_all(directory_ / "other");
    const mode_t before = ::umask(mask);
    {
      const auto here = open(), there = open("other");
      const auto remote = objects();
      const Run run = finished_run(*here, 1, 2);
      spool(*here, run, *remote);
      fetch(*there, *remote, run.key);
      verify(*remote, list_runs(*remote).runs, true, {});
    }
    ::umask(before);
    int caches = 0;
    for (const fs::path& top : {remote_path(), directory_ / "home", directory_ / "other"}) {
      const bool is_home = top != remote_path();
      for (const auto& entry : fs::recursive_directory_iterator(top)) {
        struct stat status{};
        ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
        const mode_t wanted = entry.is_directory() ? 0700 : 0600;
        const mode_t others = is_home ? 077 : 022;
        EXPECT_EQ(status.st_mode & wanted, wanted) << entry.path() << " under the umask " << mask;
        EXPECT_EQ(status.st_mode & others, 0U) << entry.path() << " under the umask " << mask;
        caches += entry.path().parent_path().filename() == "remote" ? 1 : 0;
      }
    }
    EXPECT_GT(caches, 0);
  }
}

TEST_F(TrustTest, ADryPruneSaysWhatTheRealOneFrees) {
  for (const std::int64_t grace : {std::int64_t{0}, kShortestGraceUs}) {
    fs::remove_all(remote_path());
    fs::remove_all(directory_ / "home");
    const auto here = open();
    const Run run = finished_run(*here, 1, 30), other = finished_run(*here, 2, 2);
    const auto remote = objects();
    spool(*here, run, *remote);
    spool(*here, other, *remote);
    PruneOptions options;
    options.rules.emplace();
    options.rules->last = 1;
    options.grace_us = grace;
    options.dry_run = true;
    const PruneReport dry = prune(*remote, list_runs(*remote).runs, options);
    options.dry_run = false;
    const PruneReport real = prune(*remote, list_runs(*remote).runs, options);
    EXPECT_EQ(dry.checkpoints, real.checkpoints);
    EXPECT_EQ(dry.objects_removed, real.objects_removed);
    EXPECT_EQ(dry.freed, real.freed);
    EXPECT_EQ(dry.waiting, real.waiting);
    EXPECT_EQ(dry.waiting_bytes, real.waiting_bytes);
    EXPECT_GT(real.freed + real.waiting_bytes, std::uint64_t{1} << 20);
  }
}

/// Lists lag behind what is there.
class LaggingObjects final : public ObjectStore {
 public:
  explicit LaggingObjects(std::unique_ptr<ObjectStore> objects) : objects_(std::move(objects)) {}
  std::function<void(std::vector<ObjectInfo>&)> lag = [](auto&) {};

  const std::string& url() const override { return objects_->url(); }
  bool put_if_absent(const std::string& key, std::span<const std::byte> content) override {
    return objects_->put_if_absent(key, content);
  }
  bool makes_exclusively() override { return true; }
  void put(const std::string& key, std::span<const std::byte> content) override {
    objects_->put(key, content);
  }
  std::vector<std::byte> get(const std::string& key, std::uint64_t most) override {
    return objects_->get(key, most);
  }
  std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                   std::uint64_t size) override {
    return objects_->get_range(key, offset, size);
  }
  std::optional<ObjectInfo> head(const std::string& key) override { return objects_->head(key); }
  std::vector<ObjectInfo> list(const std::string& prefix) override {
    auto found = objects_->list(prefix);
    if (!prefix.starts_with(kRuns)) return found;
    lag(found);
    std::erase_if(found, [&](const ObjectInfo& it) { return !it.key.starts_with(prefix); });
    return found;
  }
  void remove(const std::string& key) override { objects_->remove(key); }
  std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) override {
    return objects_->remove_unfinished(before_us, dry_run);
  }

 private:
  std::unique_ptr<ObjectStore> objects_;
};

TEST_F(TrustTest, AManifestThatIsListedAndGoneClosesNoOtherRun) {
  const auto here = open(), there = open("other");
  const Run ghost = finished_run(*here, 1, 2), good = finished_run(*here, 2, 2);
  LaggingObjects remote(objects());
  spool(*here, ghost, remote);
  spool(*here, good, remote);
  const ObjectInfo gone = *remote.head(list_manifests(remote, ghost.key).back().key());
  remote.remove(gone.key);
  remote.lag = [&](std::vector<ObjectInfo>& list) {
    if (!remote.head(gone.key)) list.push_back(gone);
    std::ranges::sort(list, {}, &ObjectInfo::key);
  };
  const RunList list = list_runs(remote);
  EXPECT_THAT(list.runs, SizeIs(1));
  ASSERT_THAT(list.unreadable, SizeIs(1));
  EXPECT_THAT(list.unreadable[0].why, HasSubstr("is listed"));
  EXPECT_THAT(verify(remote, list.runs, true, {}).findings, IsEmpty());
  fetch(*there, remote, good.key);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  options.grace_us = 0;
  const PruneReport report = prune(remote, list.runs, options);
  EXPECT_TRUE(report.damaged);
  EXPECT_EQ(report.objects_removed, 0);
  // Spooled again it is there.
  remote.lag = [](auto&) {};
  spool(*here, ghost, remote);
  EXPECT_THAT(list_runs(remote).unreadable, IsEmpty());
}

TEST_F(TrustTest, AManifestThatIsNotListedYetIsFound) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  LaggingObjects remote(objects());
  spool(*here, run, remote);
  record(*here, run, 1, 2, 3);
  spool(*here, run, remote);
  const std::string latest = list_manifests(remote, run.key).back().key();
  remote.lag = [&](std::vector<ObjectInfo>& list) {
    std::erase_if(list, [&](const ObjectInfo& object) { return object.key == latest; });
  };
  record(*here, run, 1, 3, 4);
  EXPECT_TRUE(spool(*here, run, remote).changed);
  remote.lag = [](auto&) {};
  EXPECT_EQ(choose_run(remote, run.key).epochs, 4);
}

}  // namespace
}  // namespace flor::remote
