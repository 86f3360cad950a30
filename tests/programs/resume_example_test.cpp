// The example `resume` is killed anywhere and started again until it is done: it ends as if nothing
// had happened, and the audit of its record finds every sample used once.
#include "whole_record.h"
#include "workbench.h"

#include <csignal>
#include <random>
#include <thread>

namespace flor::testing::resume_example_test {
namespace {

using ::testing::HasSubstr;

const Words kSmall{"--kwargs", "epochs=4", "pictures=1200", "batch=16"};

class ResumeExample : public ::testing::Test {
 protected:
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  WholeRecord record() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  Workbench bench_;
};

TEST_F(ResumeExample, KilledAnywhereItEndsAsIfNothingHadHappened) {
  const Words auto_resume = Words{"--flor",       "test", "--flor_resume",      "auto",
                                  "--flor_every", "1",    "--flor_every_steps", "10"} +
                            kSmall;
  const auto begun = std::chrono::steady_clock::now();
  const auto undisturbed = bench_.run("resume", auto_resume);
  auto delay = std::chrono::steady_clock::now() - begun;
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
  const WholeRecord whole = record();

  std::mt19937 random(std::random_device{}());
  int kills = 0, preempted = 0, resumed = 0;
  std::string last;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const auto process = bench_.start("resume", auto_resume);
    const int signal = random() % 3 == 0 ? SIGTERM : SIGKILL;
    std::this_thread::sleep_for(delay * (400 + random() % 550) / 1000);
    if (kills + preempted < 6 || resumed == 0) process->kill(signal);
    const auto result = process->wait();
    kills += result.signal == SIGKILL;
    preempted += result.status == 75;
    resumed += result.err.find("flor: resuming run") != std::string::npos;
    last = result.out;
    if (result.status == 0 && resumed > 0) break;
    // The machine has become faster, or slower, since the first of them.
    delay = result.status == 0 ? delay / 2 : delay * 5 / 4;
    if (result.status == 0) continue;
    ASSERT_TRUE(result.signal == SIGKILL || result.signal == SIGTERM || result.status == 75)
        << result.err;
  }
  // One that was killed before there was anything to resume left an empty run behind.
  ASSERT_GT(resumed, 0);
  ASSERT_FALSE(lines_of(last).empty()) << "the last of 40 was killed, too";
  EXPECT_EQ(record().values, whole.values);
  EXPECT_EQ(lines_of(last).back(), lines_of(undisturbed.out).back());
  std::printf("%d kills and %d preemptions, %d times resumed\n", kills, preempted, resumed);

  const auto audit = flor({"audit", "test"});
  EXPECT_EQ(audit.status, 0) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("    3     1000  1000         0      0      0"));
  const auto replayed = bench_.replay("resume", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
}

TEST_F(ResumeExample, TheAuditSaysWhatItCountsInWordsAndInJson) {
  ASSERT_EQ(bench_.record("resume", kSmall).status, 0);
  const auto json = flor({"audit", "--json"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"once\": 1000"));
  const auto other = flor({"audit", "--sampler", "validation"});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("no sampler logged a complete epoch under the name"));
}

}  // namespace
}  // namespace flor::testing::resume_example_test
