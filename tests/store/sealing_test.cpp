// `flor gc` seals the journals of writers that have ended: fewer bytes, and the same meaning.
#include "collect_fixture.h"
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "index/refresh.h"
#include "journal_fixture.h"
#include "journal/journal_copy.h"
#include "journal/sealing.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "maintain/repair.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace flor::store::sealing_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SealingTest : public CollectTest {
 protected:
  static Value value(const std::string& name, const std::string& path, std::int64_t epoch,
                     std::int64_t step, Scalar scalar, ValueType type = ValueType::real) {
    Value value;
    value.name = name;
    value.place = {path, epoch, step, ""};
    value.type = type;
    value.value = std::move(scalar);
    return value;
  }

  /// As a training says it: little at a time.
  void say_epochs(Store& store, const Run& run, std::int64_t first, std::int64_t count) {
    Catalog& catalog = store.catalog();
    CheckpointWriter writer(store, run.id);
    for (std::int64_t epoch = first; epoch < first + count; ++epoch) {
      for (std::int64_t step = 0; step < 5; ++step) {
        const double loss = 1.0 / static_cast<double>(1 + epoch * 5 + step);
        catalog.add_values(run.id,
                           std::vector{value("loss", "epoch/train", epoch, step, loss),
                                       value("count", "epoch/train", epoch, step, step,
                                             ValueType::integer)});
      }
      catalog.add_values(
          run.id, std::vector{value("accuracy", "epoch", epoch, -1, std::nan("")),
                              value("note", "epoch", epoch, -1, "as expected", ValueType::text)});
      catalog.add_progress(run.id, {.loops = {{0, "epoch", 0, epoch + 1, false, false}},
                                    .iterations = {{0, epoch, 1.25, 0.002}},
                                    .executions = {{0, epoch, "train", 5, false, 1.0}}});
      writer.write(boundary(epoch), make_snapshot(1, static_cast<int>(epoch), 60));
    }
  }

  Run record(const std::string& experiment = "linear", std::int64_t epochs = 20) {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run(experiment));
    say_epochs(*store, run, 0, epochs);
    store->catalog().finish_run(run.id, run.start.started_us + 1, false, "");
    return run;
  }

  fs::path directory(const Run& run, int writer = 1) const {
    return home() / "runs" / run.key.substr(0, 2) / run.key / std::to_string(writer);
  }
  CollectReport gc() { return collect(*open(OpenMode::existing), false); }
  std::vector<std::string> lines() { return lines_of(*open(OpenMode::existing)); }
  void expect_same_without_index(const std::vector<std::string>& before) {
    EXPECT_EQ(difference(before, lines()), "");
    remove_index(home());
    EXPECT_EQ(difference(before, lines()), "");
  }
};

TEST_F(SealingTest, AJournalOfSmallFlushesIsAFifthOfItAndSaysTheSame) {
  const Run run = record();
  const auto before = lines();
  const auto journal = fs::file_size(directory(run) / "journal");
  const CollectReport report = gc();
  EXPECT_EQ(report.journals_sealed, 1);
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_THAT(names_in(directory(run)), ::testing::UnorderedElementsAre("sealed", "sealed.copy"));
  const auto sealed = fs::file_size(directory(run) / "sealed");
  std::printf("a journal of %ju bytes is sealed in %ju\n", static_cast<std::uintmax_t>(journal),
              static_cast<std::uintmax_t>(sealed));
  EXPECT_LT(sealed * 3, journal) << "checkpoints are as they were";
  EXPECT_EQ(report.freed_by_sealing, journal - sealed);
  expect_same_without_index(before);
  expect_same_when_made_again(home());
  EXPECT_EQ(damage(*open()), "");
  EXPECT_EQ(gc().journals_sealed, 0);
}

TEST_F(SealingTest, ValuesThatReplaceOthersAreStillTheLast) {
  Run run;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run());
    for (int round = 0; round < 40; ++round) {
      store->catalog().add_values(
          run.id, std::vector{value("loss", "epoch", round % 3, -1, 0.5 * round),
                              value("loss", "epoch", 7, -1, std::string("text ") + "again",
                                    ValueType::text)});
      store->catalog().add_progress(
          run.id, {.loops = {}, .iterations = {{0, round % 3, 0.1 * round, 0}}, .executions = {}});
    }
    store->catalog().finish_run(run.id, run.start.started_us + 1, true, "out of memory");
  }
  const auto before = lines();
  EXPECT_EQ(gc().journals_sealed, 1);
  expect_same_without_index(before);
}

TEST_F(SealingTest, WhatAResumeForgotStaysForgotten) {
  const Run run = [&] {
    const auto store = open();
    const Run begun = store->catalog().add_run(new_run());
    say_epochs(*store, begun, 0, 20);
    return begun;
  }();
  {
    const auto store = open();
    Resumption resumption;
    resumption.resumed_us = run.start.started_us + 100;
    resumption.point = {.main_loop = 0, .iteration = 12, .epoch = 12, .boundary = true};
    store->catalog().resume_run(run.id, resumption);
    say_epochs(*store, run, 12, 15);
    store->catalog().finish_run(run.id, run.start.started_us + 200, false, "");
  }
  const auto before = lines();
  EXPECT_EQ(gc().journals_sealed, 2);
  expect_same_without_index(before);
}

TEST_F(SealingTest, JournalsThatWereWrittenAtTheSameTimeStayAsTheyAre) {
  const auto recording = open();
  const Run run = recording->catalog().add_run(new_run());
  say_epochs(*recording, run, 0, 10);
  {
    const auto other = open();
    say_epochs(*other, run, 10, 10);
  }
  say_epochs(*recording, run, 20, 10);
  EXPECT_EQ(gc().journals_sealed, 0) << "it is written";
  const_cast<std::shared_ptr<Store>&>(recording).reset();
  EXPECT_EQ(gc().journals_sealed, 0);
  EXPECT_TRUE(fs::exists(directory(run, 1) / "journal"));
  EXPECT_EQ(damage(*open()), "");
}

TEST_F(SealingTest, WhatAStopLeavesIsReadAndFinished) {
  const Run run = record();
  const auto before = lines();
  const fs::path of = directory(run), kept = home().parent_path() / "kept";
  fs::copy(of, kept, fs::copy_options::recursive);
  ASSERT_EQ(gc().journals_sealed, 1);
  const auto set_back = [&] {
    fs::copy(kept, of, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    open()->impl().database->connection.execute("UPDATE journal SET closed = 1");
  };
  // Before it had its name, before the old one went, before its copy was written.
  for (const char* gone : {"", "sealed.copy"}) {
    set_back();
    if (*gone) fs::remove(of / gone);
    { std::ofstream(of / "sealed.new") << "part of it"; }
    expect_same_without_index(before);
    gc();
    EXPECT_FALSE(fs::exists(of / "journal")) << gone;
    EXPECT_FALSE(fs::exists(of / "journal.copy")) << gone;
    EXPECT_TRUE(fs::exists(of / "sealed.copy")) << gone;
    EXPECT_EQ(damage(*open()), "");
  }
  EXPECT_FALSE(fs::exists(of / "sealed.new"));
  expect_same_without_index(before);
}

TEST_F(SealingTest, ASealedJournalThatIsCutOffOrDamagedIsNamedAndRepaired) {
  const Run run = record();
  const auto before = lines();
  gc();
  const fs::path kept = home().parent_path() / "kept", sealed = directory(run) / "sealed";
  fs::copy(home(), kept, fs::copy_options::recursive);
  const std::string content = testing::content_of(sealed);
  const auto damaged = [&](const std::string& bytes) {
    fs::remove_all(home());
    fs::copy(kept, home(), fs::copy_options::recursive);
    std::ofstream(sealed, std::ios::binary) << bytes;
    EXPECT_NE(damage(*open()), "") << bytes.size();
    repair(*open());
    EXPECT_EQ(damage(*open()), "") << bytes.size();
    expect_same_without_index(before);
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, content.size() / 2,
                                 content.size() - frame_bytes(24), content.size() - 8}) {
    damaged(content.substr(0, size));
  }
  for (std::size_t at = 0; at < content.size(); at += 1 + content.size() / 9) {
    std::string bytes = content;
    for (std::size_t i = at; i < std::min(at + 16, bytes.size()); ++i) bytes[i] = static_cast<char>(~bytes[i]);
    damaged(bytes);
  }
  // Without its copy, too.
  fs::remove(copy_path(kept / fs::relative(sealed, home())));
  damaged(content.substr(0, content.size() - 8));
  damaged(content.substr(0, content.size() / 2));
}

TEST_F(SealingTest, ADamagedJournalIsNotSealed) {
  const Run run = record();
  const fs::path journal = directory(run) / "journal";
  std::string content = testing::content_of(journal);
  for (std::size_t i = 3000; i < 3100; ++i) content[i] = static_cast<char>(~content[i]);
  std::ofstream(journal, std::ios::binary) << content;
  const CollectReport report = gc();
  EXPECT_EQ(report.journals_sealed, 0);
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_THAT(report.remarks.front(), HasSubstr(journal.string()));
  EXPECT_EQ(testing::content_of(journal), content);
}

}  // namespace
}  // namespace flor::store::sealing_test
