// Disks that are full, read-only or damaged, and stores of another time: the training goes on, and
// nobody is given wrong data.
#include "database/sqlite.h"
#include "workbench.h"

#include <unistd.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Faults : public ::testing::Test {
 protected:
  /// Runs the program where no file can grow beyond `kib`, as on a disk that is full.
  ProcessResult record_with_limit(int kib, const Words& kwargs) {
    const std::string script =
        "trap '' XFSZ; ulimit -f " + std::to_string(kib * 2) + "; exec \"$0\" \"$@\"";
    return run_process(Words{"/bin/sh", "-c", script, program("trainer").string(), "--flor", "test",
                             "--flor_every", "1", "--kwargs"} +
                           kwargs,
                       bench_.options());
  }
  std::vector<std::filesystem::path> packs() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(bench_.home())) {
      if (entry.path().extension() == ".pack") found.push_back(entry.path());
    }
    return found;
  }
  static void overwrite(const std::filesystem::path& path, std::uint64_t offset,
                        const std::string& bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void sqlite(const std::string& sql) const {
    store::Connection(catalog(), store::Connection::Mode::existing).execute(sql.c_str());
  }
  std::filesystem::path catalog() const {
    for (const auto& entry : std::filesystem::directory_iterator(bench_.home())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("catalog") && !name.ends_with("-wal") && !name.ends_with("-shm")) {
        return entry.path();
      }
    }
    return {};
  }

  Workbench bench_;
};

TEST_F(Faults, AFullDiskDoesNotStopTheTraining) {
  const Words kwargs{"size=100000", "epochs=6"};
  const auto plain = bench_.run("trainer", Words{"--kwargs"} + kwargs);
  // Room for the catalog, however often it is written, but not for all of the packs.
  const auto result = record_with_limit(2000, kwargs);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, plain.out);
  // Said once, and once more only where it was over in between: the next pack has room again, which
  // a training that takes longer than the first pause lives to see.
  const auto refused = lines_with(result.err, {"flor: RUN "});
  const auto stored_again = lines_with(result.err, {"flor: run "});
  EXPECT_THAT(result.err, HasSubstr("CANNOT BE STORED NOW"));
  EXPECT_LE(refused.size(), stored_again.size() + 1) << result.err;
  EXPECT_EQ(lines_of(result.err).size(), refused.size() + stored_again.size() + 2) << result.err;
  const auto run = bench_.last_run();
  EXPECT_EQ(run.state, store::RunState::finished);
  EXPECT_THAT(run.degraded, HasSubstr("not stored"));
  EXPECT_THAT(result.err, HasSubstr("; MISSING: " + run.degraded));
  EXPECT_LT(run.checkpoints, 13);
  EXPECT_THAT(bench_.damage(), IsEmpty());
  const auto replayed = bench_.replay("trainer", {"1/2", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_with(replayed.out, {"step 5", "tail 5"}),
            lines_with(plain.out, {"step 5", "tail 5"}));
}

TEST_F(Faults, AHomeThatCannotBeWrittenIsAnErrorWithARemedy) {
  std::filesystem::create_directories(bench_.home());
  std::filesystem::permissions(bench_.home(), std::filesystem::perms(0555));
  std::filesystem::permissions(bench_.home().parent_path(), std::filesystem::perms(0755));
  Words command{program("trainer").string(), "--flor", "test", "--flor_no_git"};
  if (::geteuid() == 0) {  // root may write everywhere
    const auto copy = bench_.home().parent_path() / "trainer";
    std::filesystem::copy_file(program("trainer"), copy);
    command[0] = copy.string();
    command = Words{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"} + command;
  }
  const auto result = run_process(command, bench_.options());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, SaysOnce(bench_.home().string()));
  EXPECT_THAT(result.err, SaysOnce("FLOR_HOME"));
}

TEST_F(Faults, ATruncatedPackIsDamageWithItsOwnStatus) {
  bench_.record("trainer", {"--kwargs", "size=5000"});
  ASSERT_THAT(packs(), Not(IsEmpty()));
  for (const auto& pack : packs()) {
    std::filesystem::resize_file(pack, std::filesystem::file_size(pack) / 3);
  }
  const auto result = bench_.replay("trainer", {"1/2"});
  EXPECT_EQ(result.status, 4);
  EXPECT_THAT(lines_of(result.err).back(), HasSubstr("pack"));
  EXPECT_THAT(bench_.damage(), Not(IsEmpty()));
}

TEST_F(Faults, AFlippedByteIsDamageRatherThanAWrongResult) {
  bench_.record("trainer", {"--kwargs", "size=5000"});
  for (const auto& pack : packs()) {
    const auto size = std::filesystem::file_size(pack);
    for (std::uint64_t at = size / 8; at < size; at += size / 8) overwrite(pack, at, "\x5a\xa5");
  }
  const auto result = bench_.replay("trainer", {"1/2"});
  EXPECT_EQ(result.status, 4) << result.err;
  EXPECT_TRUE(lines_with(result.out, {"tail"}).empty());
}

TEST_F(Faults, ACorruptedCatalogIsMadeAgain) {
  bench_.record("trainer");
  const auto corrupt = [&] {
    std::filesystem::remove(catalog().string() + "-wal");
    overwrite(catalog(), 0, std::string(4096, 'x'));
  };
  corrupt();
  const auto result = bench_.replay("trainer");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("was damaged: it was made again from the journals of 1 run\n"));
  corrupt();
  const auto recording = bench_.run("trainer", {"--flor", "test"});
  EXPECT_EQ(recording.status, 0) << recording.err;
  EXPECT_THAT(recording.err,
              HasSubstr("was damaged: it was made again from the journals of 1 run"));
  EXPECT_EQ(bench_.replay("trainer").status, 0);
}

TEST_F(Faults, AStoreOfANewerFlorIsLeftAlone) {
  bench_.record("trainer");
  sqlite("PRAGMA user_version = 9999;");
  for (const Words& flags : {Words{"--replay_flor"}, Words{"--flor", "test"}}) {
    const auto result = bench_.run("trainer", flags);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, SaysOnce("newer"));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(Faults, ARunWhoseStoreIsGoneGoesOn) {
  const auto process =
      bench_.start("trainer", {"--flor", "test", "--kwargs", "pause_ms=20", "epochs=8"});
  ASSERT_TRUE(process->await([&] { return process->out().find("step 0 3") != std::string::npos; }));
  std::error_code error;
  std::filesystem::remove_all(bench_.home(), error);
  const auto result = process->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(lines_with(result.out, {"tail"}).size(), 8u);
}

TEST_F(Faults, ReplayWithMissingCheckpointsReExecutesThem) {
  const auto recorded = bench_.record("trainer");
  std::vector<store::CheckpointKey> keys;
  for (std::int64_t i = 2; i <= 4; ++i) {
    keys.push_back({.main_loop = 0, .iteration = i, .loop = {}});
    keys.push_back(
        {.kind = store::CheckpointKind::loop_end, .main_loop = 0, .iteration = i, .loop = "train"});
  }
  bench_.store()->catalog().drop_checkpoints(bench_.last_run().id, keys);
  for (const int count : {1, 2, 3, 6}) {
    const auto all = replay_segments(bench_, "trainer", {.count = count, .flags = {}});
    std::vector<std::string> tails = all.out;
    std::erase_if(tails, [](const auto& line) { return !line.starts_with("tail"); });
    EXPECT_EQ(tails, lines_with(recorded.out, {"tail"})) << count;
    for (const auto& result : all.results) EXPECT_EQ(result.status, 0) << result.err;
  }
}

TEST_F(Faults, WithoutAnyBoundaryTheVerdictIsNotExact) {
  bench_.record("trainer", {"--kwargs", "forgotten=velocity"});
  const auto store = bench_.store();
  std::vector<store::CheckpointKey> keys;
  for (const auto& info : store->catalog().checkpoints(bench_.last_run().id)) {
    keys.push_back(info.key);
  }
  store->catalog().drop_checkpoints(bench_.last_run().id, keys);
  const auto whole = bench_.replay("trainer");
  EXPECT_EQ(whole.status, 0) << "it trains again from the start: " << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("executed train 6 times"));
}

}  // namespace
}  // namespace flor::testing
