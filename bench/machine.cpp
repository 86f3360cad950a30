// The cost of a sample of the machine, in CPU time: of reading all that it tells, and of the values
// until they are handed to the writer.
#include "machine/machine_reader.h"
#include "machine/machine_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

int main() {
  using namespace flor::detail;
  MachineReader reader("/tmp");
  MachineSampler::Time now{};
  MachineSampler sampler({.pause = 10,
                          .share = 1,
                          .read = [&] { return reader.read(); },
                          .used = thread_cpu_seconds,
                          .start = now,
                          .run_seconds = 0});
  sampler.tick(now, 0);
  std::vector<double> costs;
  std::size_t values = 0;
  for (int i = 0; i < 1000; ++i) {
    now += std::chrono::seconds(10);
    const double began = thread_cpu_seconds();
    sampler.tick(now, i / 10);
    values += sampler.take(true).size();
    costs.push_back(thread_cpu_seconds() - began);
  }
  std::ranges::sort(costs);
  const double median = costs[costs.size() / 2];
  fmt::print(
      "a sample of {} measures: median {:.0f} us of CPU time, least {:.0f}, 99 % below {:.0f}\n",
      values / costs.size(), 1e6 * median, 1e6 * costs.front(), 1e6 * costs[990]);
  fmt::print("every 10 s: {:.2g} of the time, {:.2g} of what recording may take (1/15)\n",
             median / 10, median / 10 * 15);
}
