// What many epochs cost: time that grows as they do, and not with their square.
#include "workbench.h"

#include <sys/resource.h>

namespace flor::testing {
namespace {

/// Of all processes that were started and waited for.
double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double replaying(int epochs) {
  Workbench bench;
  const std::string count = "epochs=" + std::to_string(epochs);
  bench.record("paced", {"--flor_epsilon", "0.05", "--kwargs", count, "work=0", "quiet=true"});
  const double begin = processor_seconds();
  const ProcessResult result = bench.replay("paced");
  EXPECT_EQ(result.status, 0) << result.err;
  return processor_seconds() - begin;
}

TEST(ManyEpochs, AreReplayedInTimeThatGrowsAsTheyDo) {
  EXPECT_LT(replaying(16'000), 24 * replaying(2'000));  // of 8; their square is 64
}

}  // namespace
}  // namespace flor::testing
