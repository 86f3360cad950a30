// The commands that look after the store.
#include "cli/fixture.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GcTest : public CliTest {
 protected:
  std::uint64_t bytes_in_packs() {
    std::uint64_t bytes = 0;
    for (const auto& entry : flor::testing::packs_of(home())) {
      bytes += entry.file_size();
    }
    return bytes;
  }
};

TEST_F(GcTest, SaysWhatItFreedAndFreesIt) {
  const store::Run gone = record({});
  const std::uint64_t size = bytes_in_packs();
  RunPlan plan;
  plan.experiment = "charlm";
  plan.epochs = 5;
  record(plan);
  catalog().drop_run(gone.id);
  const std::uint64_t before = bytes_in_packs();

  const Json dry = flor({"gc", "--dry-run", "--json"}).json();
  EXPECT_EQ(bytes_in_packs(), before);
  const Json json = flor({"gc", "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "gc");
  EXPECT_EQ(json["home"], home().string());
  EXPECT_EQ(dry["dry_run"], true);
  EXPECT_EQ(json["dry_run"], false);
  for (const char* field : {"chunks", "packs_removed", "packs_compacted", "orphans_removed",
                            "bytes_before", "freed_bytes", "kept_garbage_bytes", "remarks"}) {
    EXPECT_EQ(dry[field], json[field]) << field;
  }
  EXPECT_EQ(json["bytes_before"], before);
  EXPECT_EQ(json["freed_bytes"].get<std::uint64_t>(), before - bytes_in_packs());
  EXPECT_LE(bytes_in_packs(), before);
  EXPECT_GT(size, 0u);
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(GcTest, IsForPeopleToo) {
  const store::Run gone = record({});
  catalog().drop_run(gone.id);
  close();
  const Outcome dry = flor({"gc", "--dry-run"});
  EXPECT_EQ(dry.status, 0);
  EXPECT_THAT(dry.out,
              HasSubstr("would remove 3 chunks, 1 pack, 0 orphans; would compact 0 packs"));
  const Outcome outcome = flor({"gc"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("removed 3 chunks, 1 pack, 0 orphans; compacted 0 packs\n"));
  EXPECT_EQ(bytes_in_packs(), 0u);
}

TEST_F(GcTest, WithoutAStoreSaysSo) {
  const Outcome outcome = flor({"gc"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("no store at"));
}

class ArchiveTest : public CliTest {};

TEST_F(ArchiveTest, SaysWhatWasGained) {
  const store::Run run = record({});
  close();
  const Outcome outcome = flor({"archive", "linear"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("run " + run.key.substr(0, 8) + " (linear): "));
  EXPECT_THAT(outcome.out, HasSubstr("% of the raw content\n"));
  EXPECT_EQ(flor({"fsck"}).status, 0);
  const Json json = flor({"archive", "linear", "--depth", "8", "--json"}).json();
  EXPECT_EQ(json["run"], run.key);
  EXPECT_EQ(json["chunks_written"], 0);
  EXPECT_EQ(json["stored_bytes"], json["stored_bytes_before"]);
}

TEST_F(ArchiveTest, AWrongDepthAndARunThatIsNotThereAreSaid) {
  record({});
  close();
  EXPECT_EQ(flor({"archive", "linear", "--depth", "65"}).status, 2);
  EXPECT_EQ(flor({"archive", "nobody"}).status, 3);
  EXPECT_EQ(flor({"archive"}).status, 2);
}

class DuTest : public CliTest {};

TEST_F(DuTest, ListsExperimentsRunsAndTheItemsOfARun) {
  const store::Run run = record({});
  const Json json = flor({"du", "--json"}).json();
  EXPECT_EQ(json["command"], "du");
  EXPECT_EQ(json["experiments"][0]["experiment"], "linear");
  EXPECT_EQ(json["runs"][0]["run"], run.key);
  EXPECT_EQ(json["runs"][0]["checkpoints"], 6);
  EXPECT_EQ(json["runs"][0]["raw_bytes"], 6 * 1024);
  EXPECT_EQ(json["runs"][0]["frees_bytes"], json["stored_bytes"]);
  EXPECT_EQ(json["unreferenced_bytes"], 0);
  EXPECT_GT(json["disk_bytes"], json["stored_bytes"]);
  const Json items = flor({"du", "linear", "--json"}).json();
  EXPECT_EQ(items["run"], run.key);
  EXPECT_EQ(items["items"][0]["item"], "model/weight");
  EXPECT_EQ(items["items"][0]["shared_bytes"], 0);
  EXPECT_THAT(flor({"du"}).out, HasSubstr("unreferenced\n"));
  EXPECT_THAT(flor({"du", "linear"}).out, HasSubstr("model/weight"));
  for (const Json& item : items["items"]) {
    EXPECT_NE(item["item"].get<std::string>().front(), '@') << "a name that means nothing to people";
  }
}

class ExportTest : public CliTest {};

TEST_F(ExportTest, WhatIsExportedCanBeImported) {
  const store::Run run = record({});
  const Outcome outcome = flor({"export", "linear@1", "state.safetensors"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("state.safetensors: 1 tensor of run " + run.key.substr(0, 8) +
                                     " (linear) after epoch 1"));
  const Json imported = flor({"import", "state.safetensors", "--name", "copy", "--json"}).json();
  EXPECT_EQ(imported["command"], "import");
  EXPECT_EQ(imported["experiment"], "copy");
  EXPECT_EQ(imported["items"], 1);
  const Json exported = flor({"export", "copy@0", "again.safetensors", "--json"}).json();
  EXPECT_EQ(exported["command"], "export");
  EXPECT_EQ(exported["run"], imported["run"]);
  EXPECT_EQ(exported["epoch"], 0);
  EXPECT_EQ(exported["tensors"], 1);
  EXPECT_EQ(exported["digest"], imported["digest"]);
  EXPECT_EQ(
      exported["digest"],
      catalog().checkpoint(run.id, {store::CheckpointKind::boundary, 0, 2, ""})->digest.hex());
  EXPECT_EQ(catalog().resolve("copy").state, store::RunState::finished);
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(ExportTest, TakesTheLastStateIfNoEpochIsNamedAndTheEndOfALoopIfOneIs) {
  record({});
  EXPECT_EQ(flor({"export", "linear", "a.pt", "--json"}).json()["epoch"], 2);
  const Json json = flor({"export", "linear@0", "a.pt", "--loop", "train", "--json"}).json();
  EXPECT_EQ(json["epoch"], 0);
  EXPECT_EQ(json["loop"], "train");
}

TEST_F(ExportTest, SaysWhatThereIs) {
  record({});
  const Outcome missing = flor({"export", "linear@7", "a.pt"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err,
              HasSubstr("has no checkpoint after epoch 7: there are those of 0, 1, 2"));
  EXPECT_EQ(flor({"export", "linear", "a.pt", "--loop", "eval"}).status, 3);
  const Outcome ending = flor({"export", "linear", "a.onnx"});
  EXPECT_EQ(ending.status, 2);
  EXPECT_THAT(ending.err, HasSubstr("neither .safetensors, .pt, .csv, .json nor .jsonl"));
  std::ofstream(work_ / "bad.safetensors") << "not one";
  EXPECT_EQ(flor({"import", "bad.safetensors"}).status, 2);
  EXPECT_EQ(catalog().runs().size(), 1u);
}

}  // namespace
}  // namespace flor::testing
