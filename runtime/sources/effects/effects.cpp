#include "sources/effects/effects.h"

#include "sources/effects/effect_evaluator.h"

#include <algorithm>

namespace flor::sources {
namespace {

constexpr std::size_t kWorkOfSearch = 10;  // so many references take as long as one search

}  // namespace

bool Summary::operator==(const Summary& other) const {
  const auto same = [](const Keys& a, const Keys& b) { return std::ranges::equal(a, b); };
  return writes == other.writes && iterates == other.iterates && stores == other.stores &&
         same(shared_reads, other.shared_reads) && same(shared_writes, other.shared_writes) &&
         same(returned, other.returned);
}

Effects::Effects(Model& model, std::size_t work_max) : model_(model), work_max_(work_max) {
  for (const Body& body : model_.bodies()) steps_.emplace_back(body.steps.size());
  summaries_.resize(model_.bodies().size());
  users_.resize(model_.bodies().size());
  // A body is evaluated again when a summary that it used has changed. At the end all bodies are
  // evaluated, until nothing changes any more.
  do {
    open_.assign(model_.bodies().size(), true);
    while (round()) {}
  } while (complete_ && !settled_);
}

/// Evaluates the open bodies once. Returns whether some are open afterwards.
bool Effects::round() {
  const std::size_t variables = model_.variables().size();
  std::vector<bool> evaluated(steps_.size());
  settled_ = std::ranges::find(open_, false) == open_.end();
  linked_ = all_open_ = false;
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    if (!open_[b]) continue;
    open_[b] = false;
    evaluated[b] = true;
    evaluate(static_cast<int>(b));
    if (!complete_) return false;
  }
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    if (!evaluated[b] && !linked_) continue;
    Summary summary = summarize(static_cast<int>(b));
    complete_ = work_ <= work_max_;
    if (!complete_) return false;
    if (summary == summaries_[b]) continue;
    summaries_[b] = std::move(summary);
    for (const int user : users_[b]) open_[static_cast<std::size_t>(user)] = true;
    settled_ = false;
  }
  settled_ = settled_ && !linked_;
  find_implicit();
  // A name that became known, or whose type changed, may be used anywhere.
  if (all_open_ || model_.variables().size() != variables) open_.assign(open_.size(), true);
  const bool more = std::ranges::find(open_, true) != open_.end();
  settled_ = settled_ && !more;
  return more;
}

void Effects::find_implicit() {
  const auto shared = [this](const Keys& from, Keys& to) {
    for (const auto& [variable, extent] : from) {
      if (model_.is_part(model_.variable(variable).name) || to.holds(variable, extent)) continue;
      to.add(variable, extent);
      all_open_ = true;
    }
  };
  for (std::size_t b = 0; b < summaries_.size(); ++b) {
    const bool destroys = model_.bodies()[b].is_destructor();
    if (!is_implicit(model_.bodies()[b]) && !destroys) continue;
    if (!destroys) shared(summaries_[b].shared_reads, implicit_reads_);
    shared(summaries_[b].shared_writes, implicit_writes_);
  }
}

void Effects::evaluate(int body) {
  evaluated_ = body;
  const auto b = static_cast<std::size_t>(body);
  for (std::size_t s = 0; s < steps_[b].size() && complete_; ++s) {
    steps_[b][s] = Evaluator(*this, body).evaluate(model_.bodies()[b].steps[s]);
    complete_ = work_ <= work_max_;
  }
}

const Summary& Effects::summary_for(int user, int body) {
  users_[static_cast<std::size_t>(body)].insert(user);
  return summary(body);
}

void Effects::know_lambda(int variable, StepEffects effects) {
  const auto same = [](const Keys& a, const Keys& b) { return std::ranges::equal(a, b); };
  StepEffects& known = lambdas_[variable];
  const bool news = !same(known.reads, effects.reads) || !same(known.writes, effects.writes);
  known = std::move(effects);
  if (news && model_.variable(variable).body != evaluated_) all_open_ = true;
}

void Effects::changed_type(const Variable& variable) {
  if (variable.body == evaluated_) {
    open_[static_cast<std::size_t>(evaluated_)] = true;
  } else {
    all_open_ = true;
  }
}

void Effects::link(int from, int to) {
  ++work_;
  const auto key = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
  if (from == to || !links_.insert(key).second) return;
  linked_ = true;
  const auto size = static_cast<std::size_t>(std::max(from, to)) + 1;
  if (refers_.size() < size) {
    refers_.resize(size);
    referred_.resize(size);
  }
  refers_[static_cast<std::size_t>(from)].push_back(to);
  referred_[static_cast<std::size_t>(to)].push_back(from);
}

std::vector<int> Effects::reachable(const std::set<int>& variables) const {
  return spread(refers_, {variables.begin(), variables.end()});
}

std::vector<int> Effects::spread(const std::vector<std::vector<int>>& links,
                                 std::vector<int> variables) const {
  if (seen_.size() < links.size()) seen_.resize(links.size());
  ++search_;
  work_ += kWorkOfSearch;
  for (const int id : variables) {
    if (static_cast<std::size_t>(id) < links.size()) seen_[static_cast<std::size_t>(id)] = search_;
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto index = static_cast<std::size_t>(variables[i]);
    if (index >= links.size()) continue;
    work_ += links[index].size();
    for (const int other : links[index]) {
      std::uint32_t& seen = seen_[static_cast<std::size_t>(other)];
      if (seen == search_) continue;
      seen = search_;
      variables.push_back(other);
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
  // Goes from the few parameters back to the variables that keep them, since many variables may
  // keep something.
  std::vector<std::pair<int, int>> parameters;  // parameter number and variable
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
  for (const int variable : reachable(body.result)) {
    if (parameter_of(variable) || model_.variable(variable).persistent) {
      out.returned.add(variable, Extent::whole);
    }
  }
  return out;
}

}  // namespace flor::sources
