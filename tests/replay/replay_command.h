// What the tests of `flor replay` share: a recorded run, and what came out of its replays.
#pragma once

#include "programs/workbench.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace flor::testing {

class ReplayCommand : public ::testing::Test {
 protected:
  Words command(const Words& arguments) const { return Words{FLOR_CLI, "replay"} + arguments; }
  ProcessResult replay(const Words& arguments) const {
    return run_process(command(arguments), bench_.options());
  }
  std::unique_ptr<Process> start(const Words& arguments) const {
    return std::make_unique<Process>(command(arguments), bench_.options());
  }
  std::string other(const std::string& name) const { return program(name).string(); }

  /// Values that replays found, as "name epoch/step.ordinal = value"; a set that is no set if one
  /// is there twice.
  std::vector<std::string> found() const {
    std::vector<std::string> lines;
    const auto store = bench_.store();
    const auto run = store->catalog().resolve("test");
    for (const auto& value : store->catalog().values({.run = run.id, .recorded = false})) {
      std::ostringstream line;
      line.precision(17);
      line << value.name << " " << value.place.epoch << "/" << value.place.step << "."
           << value.ordinal << " = " << real(value);
      lines.push_back(line.str());
    }
    std::ranges::sort(lines);
    return lines;
  }
  /// What one process finds.
  std::vector<std::string> found_alone(const std::string& name, const Words& flags) const {
    EXPECT_EQ(bench_.replay(name, flags).status, 0);
    return found();
  }
  std::int64_t compared_by_last() const {
    const auto replays = bench_.replays();
    return replays.empty() || !replays.back().result ? -1 : replays.back().result->values_compared;
  }
  static std::vector<pid_t> children_of(pid_t parent) {
    std::ifstream in("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
    std::vector<pid_t> children;
    for (pid_t child; in >> child;) children.push_back(child);
    return children;
  }
  template <typename Condition>
  static bool eventually(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::size_t epochs_done() const {
    std::size_t done = 0;
    const auto store = bench_.store();
    for (const auto& replay : store->catalog().replays(store->catalog().runs().at(0).id)) {
      for (const auto& part : store->catalog().replayed_by(replay.id)) done += part.part >= 0;
    }
    return done;
  }

  Workbench bench_;
};

}  // namespace flor::testing
