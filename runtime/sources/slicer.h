// Follows what a statement depends on backwards (a program slice): into the functions that it
// calls, and out to the callers of the function that contains it.
#pragma once

#include "sources/source_questions.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace flor::sources {

class Slicer {
 public:
  explicit Slicer(const Questions& questions) : q_(questions) {}

  void add_step(int body, int step, bool up);
  void run();
  Keys take() { return std::move(reads_); }

 private:
  void add_variable(int variable, Extent extent, bool up);
  void add_control(int body, int step, bool up);
  void add_exits(int body, int step, bool up);
  void add_callers(int body);
  void add_calls(const StepEffects& effects);
  void expand(int variable, Extent extent, bool up);

  const Questions& q_;
  Keys reads_;
  std::map<std::pair<int, Extent>, bool> known_;  // variable to `up`: whether callers are followed
  std::map<std::pair<int, int>, bool> steps_;
  std::set<std::pair<int, int>> controlled_;
  std::set<int> ascended_;
  std::vector<std::tuple<int, Extent, bool>> open_;
};

}  // namespace flor::sources
