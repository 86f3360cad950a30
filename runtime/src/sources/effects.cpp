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
  if (from == to || !links_.insert({from, to}).second) return;
  more_ = true;
  const auto size = static_cast<std::size_t>(std::max(from, to)) + 1;
  if (refers_.size() < size) {
    refers_.resize(size);
    referred_.resize(size);
  }
  refers_[static_cast<std::size_t>(from)].push_back(to);
  referred_[static_cast<std::size_t>(to)].push_back(from);
}

std::set<int> Effects::reachable(const std::set<int>& variables) const {
  return spread(refers_, variables);
}
std::set<int> Effects::reaching(int variable) const { return spread(referred_, {variable}); }

std::set<int> Effects::spread(const std::vector<std::vector<int>>& links,
                              const std::set<int>& variables) {
  std::vector<int> open(variables.begin(), variables.end()), all = open;
  std::vector<bool> known(links.size());
  const auto add = [&](int id) {
    const auto index = static_cast<std::size_t>(id);
    if (known[index]) return;
    known[index] = true;
    open.push_back(id);
    all.push_back(id);
  };
  for (const int id : variables) {
    if (static_cast<std::size_t>(id) < links.size()) known[static_cast<std::size_t>(id)] = true;
  }
  while (!open.empty()) {
    const auto index = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (index >= links.size()) continue;
    for (const int other : links[index]) add(other);
  }
  std::ranges::sort(all);
  return {all.begin(), all.end()};
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
  // From the few parameters back to what keeps them: there may be many that keep something.
  std::vector<std::pair<int, int>> parameters;  // number and variable
  if (body.self >= 0) parameters.emplace_back(-1, body.self);
  for (std::size_t i = 0; i < body.parameters.size(); ++i) {
    parameters.emplace_back(static_cast<int>(i), body.parameters[i]);
  }
  for (const auto& [number, parameter] : parameters) {
    if (parameter < 0 || parameter_of(parameter) != number) continue;
    for (const int variable : reaching(parameter)) {
      if (variable == parameter || !mentioned.contains(variable)) continue;
      const auto holder = parameter_of(variable);
      if (!holder && !model_.variable(variable).persistent) continue;
      out.stores.insert({holder ? ~(*holder + 1) : variable, number});
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
