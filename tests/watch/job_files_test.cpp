// Jobs that wait for the file of their checkpoint, with a maker of files that makes none.
#include "watch/job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {
namespace {

using namespace std::chrono_literals;
using FileEnd = FileMaker::Made::End;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Knows which files there would be.
class NoMaker final : public FileMaker {
 public:
  void make(const store::Lease& lease, const store::NewJob&) override { files.insert(lease); }
  int descriptor() const override { return -1; }
  std::vector<Made> take() override { return std::exchange(ready, {}); }
  void drop(const store::Lease& lease) override { files.erase(lease); }
  std::set<store::Lease> files;
  std::vector<Made> ready;
};

/// Files of jobs, whose maker the test sees.
struct Files {
  /// One file is ready.
  std::optional<JobFiles::Prepared> take(const FileMaker::Made& one, JobFiles::Time now) {
    maker.ready.push_back(one);
    auto all = files.take(now);
    return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
  }
  std::vector<std::string> notes;
  std::unique_ptr<NoMaker> owned = std::make_unique<NoMaker>();
  NoMaker& maker = *owned;
  JobFiles files{std::move(owned), [this](const std::string& note) { notes.push_back(note); }};
};

store::LeasedJob reference(std::int64_t job, std::int64_t evaluator = 1) {
  store::LeasedJob made;
  made.lease = {job, 1};
  made.what.evaluator = evaluator;
  made.what.path = "abcdef0123456789@" + std::to_string(job);
  return made;
}

FileMaker::Made made(std::int64_t job, FileEnd end = FileEnd::made) {
  return {.lease = {job, 1},
          .path = end == FileEnd::made ? "/scratch/" + std::to_string(job) : std::string(),
          .end = end,
          .failure = end == FileEnd::made ? "" : "why"};
}

class JobFilesTest : public ::testing::Test {
 protected:
  std::optional<JobFiles::Prepared> take(const FileMaker::Made& one, JobFiles::Time now) {
    return all_.take(one, now);
  }
  Files all_;
  NoMaker& maker_ = all_.maker;
  std::vector<std::string>& notes_ = all_.notes;
  JobFiles& files_ = all_.files;
  JobFiles::Time now_{1000s};
};

TEST_F(JobFilesTest, ConcernsCheckpointsOfFlorsOwn) {
  EXPECT_TRUE(JobFiles::concerns(reference(1)));
  store::LeasedJob file = reference(1);
  file.what.path = "/runs/1.pt";
  EXPECT_FALSE(JobFiles::concerns(file));
  EXPECT_EQ(files_.end(file), "/runs/1.pt");
}

TEST_F(JobFilesTest, AnEvaluatorGetsTheFileAndTheUserTheName) {
  files_.prepare(reference(1));
  EXPECT_THAT(files_.leases(), ElementsAre(store::Lease{1, 1}));
  EXPECT_EQ(files_.coming(1), 1U);
  EXPECT_EQ(files_.coming(2), 0U);
  EXPECT_TRUE(files_.reads(1));
  EXPECT_FALSE(files_.reads(2));
  const auto prepared = take(made(1), now_);
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->job.what.path, "/scratch/1");
  EXPECT_TRUE(files_.is_empty());
  EXPECT_EQ(files_.end(prepared->job), reference(1).what.path);
  EXPECT_THAT(maker_.files, IsEmpty()) << "it is not needed any more";
}

TEST_F(JobFilesTest, LeavesNoFileOfAJobThatWasCalledOff) {
  files_.prepare(reference(1));
  files_.prepare(reference(2));
  files_.call_off({1, 1});
  EXPECT_FALSE(take(made(1), now_)) << "made meanwhile";
  ASSERT_TRUE(take(made(2), now_));
  files_.call_off({2, 1});
  EXPECT_THAT(maker_.files, IsEmpty());
}

TEST_F(JobFilesTest, RestsWhileThereIsNoRoomAndBlamesNoJob) {
  for (std::int64_t job = 1; job <= 3; ++job) files_.prepare(reference(job));
  EXPECT_EQ(take(made(1, FileEnd::later), now_)->end, FileEnd::later);
  EXPECT_TRUE(files_.rests());
  EXPECT_EQ(files_.rest_end(), now_ + JobFiles::kFirstPause);
  take(made(2, FileEnd::later), now_ + 1ms);
  EXPECT_EQ(files_.rest_end(), now_ + JobFiles::kFirstPause) << "it was begun before the rest";
  EXPECT_THAT(notes_, ElementsAre("why; checkpoints wait until it works"));
  EXPECT_FALSE(files_.end_rest(now_ + 199ms));
  EXPECT_TRUE(files_.end_rest(now_ + 200ms));
  EXPECT_FALSE(files_.rests());
  EXPECT_FALSE(files_.end_rest(now_ + 201ms)) << "once";
  take(made(3, FileEnd::later), now_ + 300ms);
  EXPECT_EQ(files_.rest_end(), now_ + 300ms + 2 * JobFiles::kFirstPause);
  EXPECT_EQ(files_.end_of(60s), now_ + 60s) << "since the first failure";
  EXPECT_EQ(notes_.size(), 1U);
}

TEST_F(JobFilesTest, BeginsAnewWithShortRestsWhenAFileWasMade) {
  for (std::int64_t job = 1; job <= 3; ++job) files_.prepare(reference(job));
  take(made(1, FileEnd::later), now_);
  files_.end_rest(now_ + 1s);
  take(made(2), now_ + 1s);
  EXPECT_EQ(files_.end_of(60s), JobFiles::Time::max());
  take(made(3, FileEnd::later), now_ + 2s);
  EXPECT_EQ(files_.rest_end(), now_ + 2s + JobFiles::kFirstPause);
}

TEST_F(JobFilesTest, SaysThatACheckpointIsGoneNotThatItIsDamaged) {
  files_.prepare(reference(1));
  files_.prepare(reference(2));
  take(made(1, FileEnd::gone), now_);
  EXPECT_THAT(notes_, ElementsAre("why"));
  EXPECT_EQ(take(made(2, FileEnd::damaged), now_)->failure, "why");
  EXPECT_EQ(notes_.size(), 1U) << "that is the result of the job";
  EXPECT_THAT(maker_.files, IsEmpty());
}

/// Whatever becomes of the jobs, the files that stay are those of jobs that are being prepared or
/// evaluated.
RC_GTEST_PROP(JobFilesProperty, NoFileStaysWithoutItsJob, ()) {
  Files all;
  JobFiles& files = all.files;
  JobFiles::Time now{1000s};
  std::set<std::int64_t> preparing, off;  // called off while their files are being made
  std::map<std::int64_t, store::LeasedJob> evaluated;
  std::int64_t next = 0;
  const auto steps = *rc::gen::resize(
      rc::kNominalSize, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)));
  for (const int step : steps) {
    now += 50ms;
    if (step == 0) {
      files.prepare(reference(next));
      preparing.insert(next++);
    } else if (step == 1 && !preparing.empty()) {
      const std::int64_t job = *preparing.begin();
      preparing.erase(job);
      const auto end = *rc::gen::element(FileEnd::made, FileEnd::gone, FileEnd::damaged,
                                         FileEnd::later);
      const auto prepared = all.take(made(job, end), now);
      RC_ASSERT(prepared.has_value());
      if (end == FileEnd::made) evaluated.emplace(job, prepared->job);
    } else if (step == 2 && !evaluated.empty()) {
      RC_ASSERT(files.end(evaluated.begin()->second) ==
                reference(evaluated.begin()->first).what.path);
      evaluated.erase(evaluated.begin());
    } else if (step == 3 && !preparing.empty()) {
      files.call_off({*preparing.begin(), 1});
      off.insert(*preparing.begin());
      preparing.erase(preparing.begin());
    } else if (step == 4 && !off.empty()) {
      RC_ASSERT(!all.take(made(*off.begin()), now));
      off.erase(off.begin());
    }
    std::set<store::Lease> expected;
    for (const std::int64_t job : preparing) expected.insert({job, 1});
    for (const std::int64_t job : off) expected.insert({job, 1});
    for (const auto& [job, leased] : evaluated) expected.insert({job, 1});
    RC_ASSERT(all.maker.files == expected);
    RC_ASSERT(files.leases().size() == preparing.size());
  }
}

}  // namespace
}  // namespace flor::cli
