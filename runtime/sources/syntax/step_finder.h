// Finds the statements of a function, and the headers (if, for, ...) that control them.
#pragma once

#include "sources/syntax/model.h"

#include <vector>

namespace flor::sources {

class StepFinder {
 public:
  StepFinder(const Reader& reader, const Model& model) : reader_(reader), model_(model) {}

  /// `head` is the head of the function. The initializers of a constructor in it form one step.
  std::vector<Step> find(Range head, Range block);

 private:
  void statements(Range range, int parent, int depth);
  std::size_t statement(std::size_t at, std::size_t end, int parent, int depth);
  std::size_t controlled(std::size_t at, std::size_t end, int parent, int depth);
  std::size_t loop_until(std::size_t at, std::size_t end, int parent, int depth);
  int add(Range range, int parent);
  void lambdas(Range range, int parent, int depth);

  const Reader& reader_;
  const Model& model_;
  std::vector<Step> steps_;
  Range function_;
};

}  // namespace flor::sources
