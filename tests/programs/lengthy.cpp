// A training with an epoch of an hour by the clock of the recorder, which stands still until the
// program moves it: to two, ten and sixty minutes, at each of which it waits for a file of that
// name in the directory `marks`. In the other epoch a metric is logged that is no number.
#include "base/outage.h"

#include <flor/flor.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>

namespace {

std::atomic<int> minutes{0};

void wait_at(const std::filesystem::path& marks, int minute) {
  minutes = minute;
  while (!std::filesystem::exists(marks / std::to_string(minute))) std::this_thread::yield();
}

}  // namespace

int main(int argc, char** argv) {
  flor::detail::recorder_clock = [] {
    return flor::detail::Outage::Time(std::chrono::minutes(minutes));
  };
  auto session = flor::init(argc, argv);
  const std::filesystem::path marks = flor::arg("marks", std::string());
  double weight = 1;
  const auto state = flor::checkpoints(weight);
  for (const int epoch : flor::loop("epoch", 2)) {
    for (const int step : flor::loop("train", 1000)) {
      weight *= 0.999;
      if (epoch == 0 && step == 813) wait_at(marks, 2);
      if (epoch == 0 && step == 900) wait_at(marks, 10);
    }
    if (epoch == 0) wait_at(marks, 60);
    flor::log("weight", weight);
  }
}
