// What Slurm's commands print, in Flor's words.
#include "launch/seat_starter.h"
#include "launch/slurm_job.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

namespace flor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Phase = SlurmState::Phase;

TEST(SlurmWords, SayWhereAJobIs) {
  EXPECT_EQ(parse_squeue("").phase, Phase::unknown);
  EXPECT_EQ(parse_squeue("garbage\n").phase, Phase::unknown);
  const SlurmState running = parse_squeue("RUNNING|None|n[1-2]\n");
  EXPECT_EQ(running.phase, Phase::running);
  EXPECT_EQ(running.nodes, "n[1-2]");
  const SlurmState failed = parse_squeue("NODE_FAIL|NodeDown|n1\n");
  EXPECT_EQ(failed.phase, Phase::ended);
  EXPECT_EQ(failed.name, "NODE_FAIL");
  EXPECT_EQ(parse_squeue("COMPLETING|None|n1\n").phase, Phase::running);
}

TEST(SlurmWords, OfAnArrayTheElementThatRunsCounts) {
  EXPECT_EQ(parse_squeue("COMPLETED|None|n1\nPENDING|Resources|\nRUNNING|None|n2\n").phase,
            Phase::running);
  EXPECT_EQ(parse_squeue("COMPLETED|None|n1\nPENDING|Resources|\n").phase, Phase::pending);
  EXPECT_EQ(parse_squeue("COMPLETED|None|n1\nFAILED|NonZeroExitCode|n2\n").phase, Phase::ended);
}

TEST(SlurmWords, SayWhyAJobWaitsAndWhetherThatEnds) {
  const SlurmState resources = parse_squeue("PENDING|Resources|\n");
  EXPECT_EQ(resources.why_pending(), "waits until enough is free (Resources)");
  EXPECT_FALSE(resources.is_stuck());
  EXPECT_EQ(parse_squeue("PENDING|QOSMaxJobsPerUserLimit|\n").why_pending(),
            "waits (QOSMaxJobsPerUserLimit)");
  EXPECT_TRUE(parse_squeue("PENDING|PartitionTimeLimit|\n").is_stuck());
  EXPECT_FALSE(parse_squeue("PENDING|JobHeldUser|\n").is_stuck()) << "it may be released";
  EXPECT_THAT(parse_squeue("PENDING|BeginTime|\n").why_pending(), HasSubstr("requeued"));
}

TEST(EngineWords, NameAnEngine) {
  EngineWish wish;
  parse_engine("ssh:n1,user@n2,2/n3", wish);
  EXPECT_EQ(wish.kind, EngineWish::Kind::ssh);
  EXPECT_THAT(wish.words, ElementsAre("n1", "user@n2", "2/n3"));
  EngineWish command;
  parse_engine("run:mpirun -n 4", command);
  EXPECT_THAT(command.words, ElementsAre("mpirun", "-n", "4"));
  for (const char* wrong : {"", "slurms", "slurm:x", "ssh", "ssh:", "ssh:,", "run:", "pbs"}) {
    EngineWish none;
    EXPECT_THROW(parse_engine(wrong, none), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace flor::cli
