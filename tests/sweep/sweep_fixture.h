// What the tests of `flor sweep` share: a descent without libtorch, whose end depends on its rates.
#pragma once

#include "programs/workbench.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flor::testing {

class SweepTest : public ::testing::Test {
 protected:
  /// `pause_us`: how long each of the five steps of an epoch takes besides.
  ProcessOptions slowly(int pause_us) const {
    ProcessOptions options = bench_.options();
    options.environment["RAISE"] = "0:0:" + std::to_string(pause_us);
    return options;
  }
  static Words sweep(const Words& words) { return Words{FLOR_CLI, "sweep"} + words; }
  ProcessResult run(const Words& words) const { return run(words, bench_.options()); }
  ProcessResult run(const Words& words, const ProcessOptions& options) const {
    return run_process(sweep(words), options);
  }
  /// The descent, each of whose epochs is stored, with these arguments.
  static Words descent(const Words& kwargs) {
    return Words{"--",      program("forked").string(), "--flor", "test", "--flor_every", "1",
                 "--kwargs"} +
           kwargs;
  }
  /// 32 points of 8 epochs.
  static Words thirty_two() {
    return descent(
        {"rate=0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08", "later=0.0,0.01,0.05,0.1", "from=4"});
  }

  /// The table as JSON; empty if it cannot be printed.
  nlohmann::json table(const std::string& name, const Words& more = {}) const {
    const auto result = run(Words{name, "--json"} + more);
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  /// "rate=0.01 later=0 from=4" to the last mean.
  static std::map<std::string, double> means(const nlohmann::json& table) {
    std::map<std::string, double> all;
    for (const auto& point : table["points"]) {
      const auto& mean = point["metrics"]["mean:min"];
      all[point["arguments"].dump()] = mean.is_number() ? mean.get<double>() : -1;
    }
    return all;
  }
  /// Whether some program of the sweep was started: then there is a store.
  bool has_begun(const std::string& name) const {
    std::error_code error;
    return std::filesystem::exists(bench_.home() / "sweeps" / name / "0.log", error);
  }
  std::vector<store::Run> runs() const { return bench_.store()->catalog().runs(); }

  Workbench bench_;
};

}  // namespace flor::testing
