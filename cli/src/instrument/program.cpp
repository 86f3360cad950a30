#include "instrument/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace flor::instrument {

Program::Program(std::vector<sources::SourceText> texts) {
  std::vector<const Source*> all;
  for (auto& file : texts) {
    files_.push_back(std::make_unique<Source>(std::move(file.path), std::move(file.text)));
    all.push_back(files_.back().get());
  }
  model_ = std::make_unique<sources::Model>(all);
  effects_ = std::make_unique<sources::Effects>(*model_);
  for (const Source* source : all) {
    for (const sources::Token& token : source->tokens.all) {
      uses_torch_ = uses_torch_ || token.is("torch");
    }
  }
  int entries = 0;
  for (std::size_t b = 0; b < model_->bodies().size(); ++b) {
    const Body& one = model_->bodies()[b];
    if (one.piece->entry) {
      entry_ = static_cast<int>(b);
      ++entries;
    }
    for (std::size_t s = 0; s < one.steps.size(); ++s) {
      for (const sources::Call& call :
           effects_->of(static_cast<int>(b), static_cast<int>(s)).calls) {
        for (const int callee : call.bodies) {
          if (!is_called(one, one.steps[s].range, callee)) continue;
          callers_[callee].push_back({static_cast<int>(b), static_cast<int>(s), &call});
        }
      }
    }
  }
  if (entries != 1) entry_ = -1;
}

/// Whether the call can be one of that function: net.train() is none of a function outside of
/// classes.
bool Program::is_called(const Body& by, Range range, int callee) const {
  const Body& one = body(callee);
  if (!one.piece->owner.empty() || one.piece->names.empty()) return true;
  const Reader& reader = *by.reader;
  bool mentioned = false;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is(k, one.piece->names.back())) continue;
    mentioned = true;
    if (!is_member(reader, k)) return true;
  }
  return !mentioned;
}

std::string Program::place(int id, std::size_t at) const {
  const Source& source = source_of(id);
  return fmt::format("{}:{}", source.path, source.line(at));
}

std::vector<int> Program::steps_in(int id, Range range) const {
  std::vector<int> found;
  const auto& steps = body(id).steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (is_within(range, steps[s].range)) found.push_back(static_cast<int>(s));
  }
  return found;
}

std::vector<Loop> Program::loops_in(int id, Range range) const {
  std::vector<Loop> found;
  std::size_t done = range.begin;
  for (const int s : steps_in(id, range)) {
    const Step& one = step({id, s});
    if (!one.is_loop || one.whole.begin < done || one.function != body(id).block) continue;
    found.push_back({id, s});
    done = one.whole.end;
  }
  return found;
}

std::set<int> Program::called_in(int id, Range range) const {
  std::set<int> called;
  for (const int s : steps_in(id, range)) {
    for (const sources::Call& call : effects_->of(id, s).calls) {
      for (const int callee : call.bodies) {
        if (is_called(body(id), step({id, s}).range, callee)) called.insert(callee);
      }
    }
  }
  return called;
}

bool Program::trains(int id, Range range) const {
  std::set<int> seen;
  return trains(id, range, seen);
}

bool Program::trains(int id, Range range, std::set<int>& seen) const {
  const Reader& reader = *body(id).reader;
  for (std::size_t k = range.begin; k + 1 < range.end; ++k) {
    if (!reader.is(k + 1, "(")) continue;
    const bool member = is_member(reader, k);
    if (reader.is(k, "backward") || (member && reader.is(k, "step"))) return true;
  }
  for (const sources::Inner& inner : reader.source().structure.inner) {  // lambdas called by name
    if (inner.name.empty() || !body(id).block.holds(inner.range.begin) ||
        is_within(range, inner.range) || is_within(inner.range, range)) {
      continue;
    }
    for (std::size_t k = range.begin; k + 1 < range.end; ++k) {
      if (reader.is(k, inner.name) && reader.is(k + 1, "(") && trains(id, inner.range, seen)) {
        return true;
      }
    }
  }
  for (const int callee : called_in(id, range)) {
    if (body(callee).is_constructor() || !seen.insert(callee).second) continue;
    if (trains(callee, body(callee).block, seen)) return true;
  }
  return false;
}

const std::vector<Program::Caller>& Program::callers(int id) const {
  static const std::vector<Caller> kNone;
  const auto found = callers_.find(id);
  return found == callers_.end() ? kNone : found->second;
}

Range Program::declaration_of(int id) const {
  const Variable& v = variable(id);
  Range found;
  if (v.body < 0) return found;
  for (const Step& one : body(v.body).steps) {
    if (one.range.holds(v.at) && (found.empty() || is_within(found, one.range))) found = one.range;
  }
  return found;
}

bool Program::mentions(int id, Range range, int variable) const {
  const Reader& reader = *body(id).reader;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!reader.is_name(k) || reader.text(k) != this->variable(variable).name) continue;
    const bool member = is_member(reader, k);
    const bool of_this = k > 1 && reader.is(k - 2, "this");
    if ((!member || of_this) && model_->resolve(id, reader.text(k), k) == variable) return true;
  }
  return false;
}

}  // namespace flor::instrument
