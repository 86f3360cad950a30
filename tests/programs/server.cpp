// Answers one request after another, each with a session of its own; arguments: their number, and
// what is to be seen.
#include "show.h"

#include <flor/flor.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::int64_t resident_bytes() {
  std::int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

void answer(int request, std::optional<flor::Checkpoints>& state) {
  static double value = 0;  // the state may outlive its session
  value = flor::arg("begin", 0.0);
  state.emplace(flor::checkpoints(flor::named("value", value)));
  for (const int epoch : flor::loop("epoch", 2)) {
    for (const int step : flor::loop("train", 3)) {
      value = 0.5 * value + request + step;
      flor::log("value", value);
    }
    show("tail", request, epoch, value);
  }
  if (request == 3) throw std::runtime_error("a bad request");
}

flor::Recording recording(int request) {
  return {.name = "requests",
          .kwargs = {{"begin", std::to_string(request)}},
          .home = {},
          .flags = {"--flor_every", "1"}};
}

void try_in_another_thread() {
  std::thread([] {
    try {
      const auto other = flor::init(recording(0));
    } catch (const flor::Error& error) {
      std::printf("refused: %s\n", error.what());
    }
  }).join();
}

}  // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::stoi(argv[1]) : 3;
  const std::string what = argc > 2 ? argv[2] : "";
  std::optional<flor::Checkpoints> state;
  // Flor takes its flags out of these.
  const std::vector<char*> words(argv, argv + argc + 1);
  const auto answer_as_a_whole = [&](int request) {
    std::vector<char*> copy = words;
    int count = argc;
    const auto whole = flor::init(count, copy.data());
    answer(request, state);
  };
  if (what == "mixed") answer_as_a_whole(100);
  if (what == "made") {
    for (const char* mode : {"--flor=made", "--replay_flor", "--replay_flor"}) {
      std::vector<std::string> made{argv[0], mode};
      std::vector<char*> copy{made[0].data(), made[1].data(), nullptr};
      int count = 2;
      const auto whole = flor::init(count, copy.data());
      answer(100, state);
    }
  }
  for (int request = 0; request < requests; ++request) {
    try {
      double early = 0;
      std::optional<flor::Checkpoints> too_early;
      if (what == "early" && request == 1) too_early.emplace(flor::checkpoints(early));
      auto session = flor::init(recording(request));
      if (what == "thread") try_in_another_thread();
      answer(request, state);
    } catch (const std::runtime_error& error) {
      std::printf("failed: %s\n", error.what());
    }
    if (what == "second" && request == 0) answer_as_a_whole(100);
    if (what == "twice") answer_as_a_whole(100 + request);
    if (what == "memory" && request % 50 == 49) show("resident", resident_bytes());
  }
  return what == "exit" ? 3 : 0;
}
