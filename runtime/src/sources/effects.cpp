#include "sources/effects.h"

#include "sources/evaluator.h"

#include <algorithm>

namespace flor::sources {

bool Summary::operator==(const Summary& other) const {
  const auto same = [](const Keys& a, const Keys& b) { return std::ranges::equal(a, b); };
  return writes == other.writes && iterates == other.iterates && stores == other.stores &&
         same(shared_reads, other.shared_reads) && same(shared_writes, other.shared_writes) &&
         same(returned, other.returned);
}

Effects::Effects(Model& model) : model_(model) {
  for (const Body& body : model_.bodies()) steps_.emplace_back(body.steps.size());
  summaries_.resize(model_.bodies().size());
  constexpr int kRounds = 12;
  for (int i = 0; i < kRounds && round(); ++i) {}
}

/// All statements once; true if there is more than before.
bool Effects::round() {
  more_ = false;
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    const auto body = static_cast<int>(b);
    for (std::size_t s = 0; s < steps_[b].size(); ++s) {
      steps_[b][s] = Evaluator(*this, body).evaluate(model_.bodies()[b].steps[s]);
    }
    Summary summary = summarize(body);
    if (summary == summaries_[b]) continue;
    summaries_[b] = std::move(summary);
    more_ = true;
  }
  return more_;
}

void Effects::link(int from, int to) {
  if (from != to && refers_[from].insert(to).second) more_ = true;
}

std::set<int> Effects::reachable(std::set<int> variables) const {
  std::vector<int> open(variables.begin(), variables.end());
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    const auto found = refers_.find(id);
    if (found == refers_.end()) continue;
    for (const int other : found->second) {
      if (variables.insert(other).second) open.push_back(other);
    }
  }
  return variables;
}

Summary Effects::summarize(int id) const {
  Summary out;
  const auto b = static_cast<std::size_t>(id);
  const Body& body = model_.bodies()[b];
  std::set<int> changed, mentioned;
  for (const StepEffects& step : steps_[b]) {
    for (const auto& [variable, extent] : step.reads) {
      mentioned.insert(variable);
      if (model_.variable(variable).persistent) out.shared_reads.add(variable, extent);
    }
    for (const auto& [variable, extent] : step.writes) {
      mentioned.insert(variable);
      if (extent != Extent::rebound) changed.insert(variable);
      if (model_.variable(variable).persistent) out.shared_writes.add(variable, extent);
    }
  }
  const auto parameter_of = [&](int variable) -> std::optional<int> {
    const Variable& v = model_.variable(variable);
    if (v.body != id) return std::nullopt;
    if (variable == body.self) return -1;
    if (v.parameter >= 0) return v.parameter;
    return std::nullopt;
  };
  for (const int variable : reachable(changed)) {
    if (const auto parameter = parameter_of(variable)) out.writes.insert(*parameter);
    if (model_.variable(variable).persistent && !changed.contains(variable)) {
      out.shared_writes.add(variable, Extent::whole);
    }
  }
  for (const StepEffects& step : steps_[b]) {
    for (const int variable : step.iterated) {
      if (const auto parameter = parameter_of(variable)) out.iterates.insert(*parameter);
    }
  }
  for (const int variable : mentioned) {
    const auto holder = parameter_of(variable);
    if (!holder && !model_.variable(variable).persistent) continue;
    for (const int kept : reachable({variable})) {
      const auto parameter = parameter_of(kept);
      if (kept != variable && parameter) {
        out.stores.insert({holder ? ~(*holder + 1) : variable, *parameter});
      }
    }
  }
  for (const int variable : reachable({body.result})) {
    if (parameter_of(variable) || model_.variable(variable).persistent) {
      out.returned.add(variable, Extent::whole);
    }
  }
  return out;
}

}  // namespace flor::sources
