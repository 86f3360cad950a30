// flor spool, flor fetch and flor remote through the real command line.
#include "fixture.h"
#include "remote/transfer_bar.h"
#include "support/process.h"

#include <gmock/gmock.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class RemoteCommandTest : public CliTest {
 protected:
  std::string url() const { return "file://" + (directory_ / "archive").string(); }
  /// `flor` with another store, which may not exist yet.
  Outcome far(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--home", (directory_ / "far").string()});
    return bare(std::move(arguments));
  }
};

TEST_F(RemoteCommandTest, AnExperimentGoesThereAndComesBackElsewhere) {
  RunPlan plan;
  const store::Run first = record(plan);
  plan.started_us += 1'000'000;
  record(plan);
  close();
  const Outcome sent = flor({"spool", "linear", url()});
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_EQ(sent.lines().size(), 2U);
  const Outcome again = flor({"spool", "linear", url()});
  EXPECT_THAT(again.out, HasSubstr("nothing to send"));
  const Json listed = far({"remote", "ls", url(), "--json"}).json();
  EXPECT_EQ(listed["runs"].size(), 2U);
  const Outcome fetched = far({"fetch", "linear", url()});
  EXPECT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_EQ(far({"query", "loss", "--json"}).out, flor({"query", "loss", "--json"}).out);
  EXPECT_EQ(far({"fsck"}).status, 0);
  EXPECT_EQ(far({"show", first.key.substr(0, 6)}).status, 0);
}

TEST_F(RemoteCommandTest, SpaceHereIsFreedAfterReadingBack) {
  const store::Run run = record({});
  const auto before = catalog().checkpoints(run.id).size();
  close();
  const Outcome sent = flor({"spool", run.key, url(), "--delete-local"});
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("read back"));
  EXPECT_EQ(catalog().checkpoints(run.id).size(), 0U);
  close();
  EXPECT_EQ(flor({"fetch", run.key, url()}).status, 0);
  EXPECT_EQ(catalog().checkpoints(run.id).size(), before);
}

TEST_F(RemoteCommandTest, DamageThereIsSaidAndKeepsWhatIsHere) {
  const store::Run run = record({});
  const auto before = catalog().checkpoints(run.id).size();
  close();
  flor({"spool", "linear", url()});
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory_ / "archive" / "parcels")) {
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 100);
  }
  const Outcome verified = flor({"remote", "verify", url()});
  EXPECT_EQ(verified.status, 4);
  EXPECT_THAT(verified.out, HasSubstr(run.key));
  EXPECT_EQ(far({"fetch", "linear", url()}).status, 4);
  EXPECT_EQ(catalog().checkpoints(run.id).size(), before);
}

TEST_F(RemoteCommandTest, TheRunThatWasFetchedIsTheOneThatIsReplayed) {
  RunPlan plan;
  const store::Run there = record(plan);
  close();
  ASSERT_EQ(flor({"spool", "linear", url()}).status, 0);
  plan.started_us += 1'000'000;
  record(plan);
  close();
  const Outcome replayed = flor({"replay", "linear@1", "--from", url(), "--", "/bin/false"});
  EXPECT_THAT(replayed.err, HasSubstr("replaying run " + there.key.substr(0, 8)));
}

TEST_F(RemoteCommandTest, CheckpointsArePrunedThere) {
  record({});
  close();
  flor({"spool", "linear", url()});
  const Json plan =
      flor({"remote", "prune", url(), "linear", "--last", "1", "--dry-run", "--json"}).json();
  EXPECT_GT(plan["checkpoints"], 0);
  const Outcome pruned = flor({"remote", "prune", url(), "linear", "--last", "1", "--grace", "0"});
  EXPECT_EQ(pruned.status, 0) << pruned.err;
  EXPECT_EQ(flor({"remote", "verify", url(), "--read-data"}).status, 0);
  EXPECT_EQ(flor({"remote", "prune", url(), "linear", "--whole-runs", "--grace", "0"}).status, 0);
  EXPECT_EQ(flor({"remote", "ls", url()}).status, 3);
}

TEST_F(RemoteCommandTest, ADamagedManifestIsSaidAndTheOtherRunsAreListedAndFetched) {
  RunPlan plan;
  const store::Run bad = record(plan);
  plan.started_us += 1'000'000;
  const store::Run good = record(plan);
  close();
  ASSERT_EQ(flor({"spool", "linear", url()}).status, 0);
  const auto manifest = directory_ / "archive" / "runs" / bad.key / "00000001.json";
  std::filesystem::resize_file(manifest, 100);
  const Outcome listed = far({"remote", "ls", url()});
  EXPECT_EQ(listed.status, 4);
  EXPECT_THAT(listed.out, HasSubstr(good.key.substr(0, 8)));
  EXPECT_THAT(listed.err, HasSubstr(bad.key));
  EXPECT_EQ(far({"remote", "verify", url()}).status, 4);
  EXPECT_EQ(far({"remote", "verify", url(), good.key}).status, 0);
  EXPECT_EQ(far({"fetch", good.key, url()}).status, 0);
  EXPECT_EQ(far({"fetch", bad.key, url()}).status, 4);
  EXPECT_EQ(far({"fetch", "linear", url()}).status, 4);
  const Outcome pruned = flor({"remote", "prune", url(), good.key, "--last", "1"});
  EXPECT_EQ(pruned.status, 4);
  EXPECT_THAT(pruned.out, HasSubstr("removed 0 objects"));
  EXPECT_EQ(flor({"spool", bad.key, url()}).status, 0);
  EXPECT_EQ(far({"remote", "ls", url()}).status, 0);
}

TEST_F(RemoteCommandTest, WhatIsDamagedThereIsMendedFromHere) {
  record({});
  close();
  flor({"spool", "linear", url()});
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory_ / "archive" / "parcels")) {
    if (!entry.is_regular_file()) continue;
    std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(80) << "?";
  }
  EXPECT_EQ(flor({"remote", "verify", url()}).status, 0);
  EXPECT_EQ(flor({"remote", "verify", url(), "--read-data"}).status, 4);
  EXPECT_EQ(flor({"spool", "linear", url(), "--delete-local"}).status, 4);
  EXPECT_EQ(flor({"spool", "linear", url(), "--repair"}).status, 0);
  EXPECT_EQ(flor({"remote", "verify", url(), "--read-data"}).status, 0);
  EXPECT_EQ(flor({"spool", "linear", url(), "--delete-local"}).status, 0);
}

TEST_F(RemoteCommandTest, AnEmptyPlaceIsPrunedAndOneCheckpointIsFetched) {
  const store::Run run = record({});
  close();
  EXPECT_EQ(flor({"remote", "prune", url()}).status, 0);
  flor({"spool", "linear", url()});
  EXPECT_EQ(far({"fetch", run.key, url(), "--checkpoint", "0:0:1:"}).status, 0);
  const Json fetched = far({"fetch", run.key, url(), "--checkpoint", "0:0:2:", "--json"}).json();
  EXPECT_EQ(fetched["runs"][0]["checkpoints"], 1);
  EXPECT_EQ(far({"fetch", run.key, url(), "--checkpoint", "x"}).status, 2);
}

TEST(TransferBarTest, ABarSaysHowMuchHowFastAndHowLongStill) {
  EXPECT_EQ(cli::print_transfer({.done = 0, .all = 40 << 20}, 0), "0 B of 40 MiB");
  EXPECT_EQ(cli::print_transfer({.done = 10 << 20, .all = 40 << 20}, 2.0),
            "10 MiB of 40 MiB, 5.0 MiB/s, 6 s to go");
  EXPECT_EQ(cli::print_transfer({.done = 40 << 20, .all = 40 << 20}, 8.0),
            "40 MiB of 40 MiB, 5.0 MiB/s");
}

TEST_F(RemoteCommandTest, WrongUseIsSaidInOneLine) {
  record({});
  close();
  const std::vector<std::pair<std::vector<std::string>, int>> wrong = {
      {{"spool", "linear", "/plain/path"}, 2},
      {{"spool", "lineer", url()}, 3},
      {{"fetch", "linear", url()}, 3},
      {{"remote", "list", url()}, 2},
      {{"remote", "ls", url(), "--last", "1"}, 2},
      {{"remote", "prune", url(), "--whole-runs"}, 2},
      {{"remote", "prune", url(), "linear", "--grace", "soon"}, 2},
      {{"spool", "linear", url(), "--transfers", "0"}, 2},
  };
  for (const auto& [arguments, status] : wrong) {
    const Outcome outcome = flor(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST_F(RemoteCommandTest, AWatchSaysOnceThatTheDiskIsFullAndGoesOnWhenThereIsRoom) {
  record({});
  close();
  const std::filesystem::path disk = directory_ / "disk";
  std::filesystem::create_directory(disk);
  // Only the processes of the script see the small disk.
  const std::string script = R"(
mount -t tmpfs -o size=4k none "$1" || exit 77
(sleep 2; mount -o remount,size=64m "$1") &
"$2" --home "$3" spool linear "file://$1" --follow && "$2" remote verify --read-data "file://$1")";
  const ProcessResult spooled =
      Process({"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh",
               disk.string(), FLOR_CLI, home().string()},
              {.directory = directory_.path(), .environment = {}})
          .wait();
  if (spooled.status == 77 || spooled.err.starts_with("unshare:")) {
    GTEST_SKIP() << "a disk cannot be mounted here: " << spooled.err;
  }
  EXPECT_EQ(spooled.status, 0) << spooled.out << spooled.err;
  const std::string trouble = "No space left on device: free some space there: trying again\n";
  EXPECT_THAT(spooled.err, HasSubstr(trouble));
  EXPECT_EQ(spooled.err.find(trouble), spooled.err.rfind(trouble));
  EXPECT_THAT(spooled.err, HasSubstr("it goes on"));
}

}  // namespace
}  // namespace flor::testing
