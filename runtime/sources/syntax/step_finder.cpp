#include "sources/syntax/step_finder.h"

#include "sources/syntax/statements.h"

#include <algorithm>
#include <utility>

namespace flor::sources {
namespace {

constexpr int kStepsDeepMax = 200;

}  // namespace

std::vector<Step> StepFinder::find(Range head, Range block) {
  function_ = block;
  // Default arguments of parameters are steps.
  for (std::size_t k = head.begin; k < head.end; ++k) {
    const auto around = reader_.bracket_around(k);
    if (!reader_.is(k, "=") || !around || !reader_.is(*around, "(")) continue;
    const std::size_t close = reader_.behind(*around) - 1;
    add({k + 1, std::min(reader_.next_comma({k + 1, close}), head.end)}, -1);
  }
  for (std::size_t k = head.begin; k < head.end; ++k) {
    if (reader_.is(k, ":") && !reader_.bracket_around(k + 1).has_value()) {
      add({k + 1, head.end}, -1);
      break;
    }
    if (reader_.is(k, ":") && k > head.begin && reader_.is(k - 1, ")")) {
      add({k + 1, head.end}, -1);
      break;
    }
  }
  const bool braces = reader_.is(block.begin, "{");
  statements(braces ? Range{block.begin + 1, block.end - 1} : block, -1, 0);
  return std::move(steps_);
}

int StepFinder::add(Range range, int parent) {
  steps_.push_back({.range = range, .whole = range, .parent = parent, .function = function_});
  return static_cast<int>(steps_.size()) - 1;
}

void StepFinder::statements(Range range, int parent, int depth) {
  for (std::size_t at = range.begin; at < range.end;) {
    const std::size_t next = statement(at, range.end, parent, depth);
    at = std::max(next, at + 1);
  }
}

std::size_t StepFinder::statement(std::size_t at, std::size_t end, int parent, int depth) {
  const auto& tokens = reader_.source().tokens.all;
  if (tokens[at].directive) return at + 1;
  if (depth > kStepsDeepMax) return at + 1;
  if (reader_.is(at, "{")) {
    const std::size_t close = reader_.behind(at);
    statements({at + 1, std::min(close - 1, end)}, parent, depth + 1);
    return close;
  }
  if (reader_.is(at, "if") || reader_.is(at, "for") || reader_.is(at, "while") ||
      reader_.is(at, "switch") || reader_.is(at, "catch")) {
    return controlled(at, end, parent, depth);
  }
  if (reader_.is(at, "do")) return loop_until(at, end, parent, depth);
  if (reader_.is(at, "else") || reader_.is(at, "try") || reader_.is(at, ";")) return at + 1;
  const std::size_t labelled = behind_label(tokens, reader_.source().structure.brackets, at);
  if (labelled > at) return labelled < end ? statement(labelled, end, parent, depth + 1) : end;
  const std::size_t stop =
      std::min(statement_end(tokens, reader_.source().structure.brackets, at), end);
  if (stop <= at) return at + 1;
  add({at, stop}, parent);
  lambdas({at, stop}, parent, depth);
  return stop;
}

/// Adds if, for, while, switch or catch, with the statements that they control.
std::size_t StepFinder::controlled(std::size_t at, std::size_t end, int parent, int depth) {
  std::size_t open = at + 1;
  while (open < end && !reader_.is(open, "(") && open < at + 3) ++open;
  if (open >= end || !reader_.is(open, "(")) return at + 1;
  const std::size_t body = reader_.behind(open);
  const int header = add({open, body}, parent);
  const auto index = static_cast<std::size_t>(header);
  steps_[index].is_loop = reader_.is(at, "for") || reader_.is(at, "while");
  steps_[index].is_switch = reader_.is(at, "switch");
  for (const ForLoop& loop : reader_.source().structure.loops) {
    if (loop.range.begin == at && loop.naming != ForLoop::Naming::none) steps_[index].flor = &loop;
  }
  lambdas({open, body}, parent, depth);
  std::size_t stop = body < end ? statement(body, end, header, depth + 1) : body;
  const auto skip_directives = [&](std::size_t k) {
    while (k < end && reader_.is_directive(k)) ++k;
    return k;
  };
  if (reader_.is(at, "if") && reader_.is(skip_directives(stop), "else")) {
    const std::size_t other = skip_directives(stop) + 1;
    if (other < end) stop = statement(other, end, header, depth + 1);
  }
  steps_[index].whole = {at, stop};
  return stop;
}

std::size_t StepFinder::loop_until(std::size_t at, std::size_t end, int parent, int depth) {
  const int header = add({at, at + 1}, parent);
  const auto index = static_cast<std::size_t>(header);
  steps_[index].is_loop = true;
  std::size_t stop = at + 1 < end ? statement(at + 1, end, header, depth + 1) : end;
  if (reader_.is(stop, "while") && reader_.is(stop + 1, "(")) {
    steps_[index].range = {stop + 1, reader_.behind(stop + 1)};
    stop = reader_.behind(stop + 1);
  }
  steps_[index].whole = {at, stop};
  return stop;
}

/// Adds the statements of lambdas, which are steps in addition to the statement that contains them.
void StepFinder::lambdas(Range range, int parent, int depth) {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader_.is(k, "[")) continue;
    const Inner* lambda = model_.lambda_at(reader_.source(), k);
    if (!lambda) continue;
    std::size_t open = reader_.opening(lambda->range.end - 1);
    if (open <= k) continue;
    const Range outer = std::exchange(function_, Range{open, lambda->range.end});
    statements({open + 1, lambda->range.end - 1}, parent, depth + 1);
    function_ = outer;
    k = lambda->range.end - 1;
  }
}

}  // namespace flor::sources
