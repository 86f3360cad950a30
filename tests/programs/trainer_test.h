// A recorded run of `trainer`, and what its replays found.
#pragma once

#include "workbench.h"

#include <sstream>
#include <string>
#include <vector>

namespace flor::testing {

class TrainerTest : public ::testing::Test {
 protected:
  void record(const Words& arguments = {}) { recorded_ = bench_.record("trainer", arguments); }

  std::vector<double> found(const std::string& name) const {
    std::vector<double> numbers;
    for (const auto& value : bench_.values(name, false)) numbers.push_back(real(value));
    return numbers;
  }
  /// The norms that the recorded program printed at the end of each epoch.
  std::vector<double> printed_norms() const {
    std::vector<double> norms;
    for (const auto& line : lines_with(recorded_.out, {"tail"})) {
      std::istringstream words(line);
      std::string word;
      words >> word >> word >> word;
      norms.push_back(std::stod(word));
    }
    return norms;
  }

  Workbench bench_;
  ProcessResult recorded_;
};

}  // namespace flor::testing
