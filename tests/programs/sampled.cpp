// A training whose epochs take twenty seconds each by the clock of the recorder, which the program
// moves. After that it waits until the background thread has looked at the clock some times.
#include "base/outage.h"

#include <flor/flor.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

const std::thread::id training = std::this_thread::get_id();
std::atomic<int> seconds{0}, looks{0};

void pass(int more) {
  seconds += more;
  constexpr int kLooksOfSeveralTicks = 12;
  const int enough = looks + kLooksOfSeveralTicks;
  while (looks < enough) std::this_thread::yield();
}

}  // namespace

int main(int argc, char** argv) {
  flor::detail::recorder_clock = [] {
    if (std::this_thread::get_id() != training) ++looks;
    return flor::detail::Outage::Time(std::chrono::seconds(seconds));
  };
  auto session = flor::init(argc, argv);
  const char* const killed_in = std::getenv("KILLED_IN");
  double weight = 1;
  const auto state = flor::checkpoints(weight);
  if (flor::recording()) {
    pass(0);  // a first look
    pass(2);
  }
  for (const int epoch : flor::loop("epoch", 4)) {
    for ([[maybe_unused]] const int step : flor::loop("train", 10)) weight *= 0.999;
    if (flor::recording()) {
      pass(1);
      pass(19);
    }
    flor::log("weight", weight);
    if (killed_in && epoch == std::atoi(killed_in)) std::_Exit(9);
  }
}
