#include "sources/source_questions.h"

#include "sources/slicer.h"
#include "sources/syntax/logging.h"

#include <fmt/format.h>

#include <algorithm>

namespace flor::sources {
namespace {

bool holds(Range outer, Range inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}
bool meet(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

/// Whether a change of one extent may alter a value that is read with the other.
bool conflict(Extent changed, Extent read) {
  return changed != Extent::part || read == Extent::whole;
}

/// Whether text goes there, while nothing that a program computes comes from there.
bool is_output(std::string_view name) {
  return name == "stdout" || name == "stderr" || name == "cout" || name == "cerr" ||
         name == "clog" || is_print(name);
}

std::string question_of(const Change& change) {
  const std::string& what = change.what;
  const std::size_t open = what.find('"'), close = what.rfind('"');
  if (what.starts_with("logs ") && open != close) return what.substr(open, close - open + 1);
  return change.where;
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// State that a replay restores.

KeptState::KeptState(const Effects& effects) {
  const auto& bodies = effects.model().bodies();
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    for (std::size_t s = 0; s < bodies[b].steps.size(); ++s) {
      const StepEffects& step = effects.of(static_cast<int>(b), static_cast<int>(s));
      const Step& place = bodies[b].steps[s];
      bool always = place.function == bodies[b].block;
      for (int p = place.parent; p >= 0; p = bodies[b].steps[static_cast<std::size_t>(p)].parent) {
        always = always && bodies[b].steps[static_cast<std::size_t>(p)].flor != nullptr;
      }
      for (const auto& [variable, extent] : step.registered) {
        if (always && extent == Extent::whole) kept_.insert(variable);
      }
      for (const Call& call : step.calls) {
        for (const int body : call.bodies) {
          given_[{body, -1}].push_back(call.receiver);
          for (std::size_t i = 0; i < call.arguments.size(); ++i) {
            given_[{body, static_cast<int>(i)}].push_back(call.arguments[i]);
          }
        }
      }
    }
  }
  // Functions that register their parameters register what callers pass.
  for (const auto& [parameter, given] : given_) {
    const Body& body = bodies[static_cast<std::size_t>(parameter.first)];
    const auto index = static_cast<std::size_t>(parameter.second);
    if (parameter.second < 0 || index >= body.parameters.size()) continue;
    if (!kept_.contains(body.parameters[index])) continue;
    for (const Keys& keys : given) {
      for (const auto& [variable, extent] : keys) {
        if (extent == Extent::whole) kept_.insert(variable);
      }
    }
  }
  while (add_aliases(effects)) {}
}

bool KeptState::all_kept(const Keys& keys) const {
  return !keys.empty() && std::ranges::all_of(keys, [this](const auto& key) {
    return key.second != Extent::whole || kept_.contains(key.first);
  });
}

bool KeptState::add_aliases(const Effects& effects) {
  const Model& model = effects.model();
  const std::size_t before = kept_.size();
  for (const auto& [parameter, given] : given_) {
    const Body& body = model.bodies()[static_cast<std::size_t>(parameter.first)];
    const auto index = static_cast<std::size_t>(parameter.second);
    const int variable = parameter.second < 0                   ? body.self
                         : index < body.parameters.size() ? body.parameters[index]
                                                          : -1;
    if (variable < 0) continue;
    // A function that calls itself may pass its own parameter on, which says nothing new.
    const auto itself = [&](const Keys& keys) {
      return !keys.empty() &&
             std::ranges::all_of(keys, [&](const auto& key) { return key.first == variable; });
    };
    std::size_t others = 0;
    const bool kept = std::ranges::all_of(given, [&](const Keys& keys) {
      if (itself(keys)) return true;
      ++others;
      return all_kept(keys);
    });
    if (kept && others > 0) kept_.insert(variable);
  }
  const auto& variables = model.variables();
  for (std::size_t id = 0; id < variables.size(); ++id) {
    const Variable& variable = variables[id];
    if (!variable.type.reference || variable.parameter >= 0 || variable.persistent) continue;
    const auto own = static_cast<int>(id);
    const std::vector<int> others = effects.reachable(own);
    if (others.size() <= 1) continue;
    if (std::ranges::all_of(others, [&](int other) {
          return other == own || kept_.contains(other);
        })) {
      kept_.insert(own);
    }
  }
  return kept_.size() != before;
}

// ---------------------------------------------------------------------------------------------
// Values that questions read.

Questions::Questions(const std::vector<const Source*>& sources, const std::vector<Change>& changes,
                     std::vector<std::pair<const Source*, Range>> main, std::size_t work_max)
    : model_(sources), effects_(model_, work_max), kept_(effects_), main_(std::move(main)) {
  find_calls_and_writes();
  find_early();
  for (const Change& change : changes) {
    if (!change.source || change.now.empty()) continue;
    slice(change);
  }
  complete_ = !effects_.is_spent();
}

void Questions::find_calls_and_writes() {
  const auto& bodies = model_.bodies();
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    for (std::size_t s = 0; s < bodies[b].steps.size(); ++s) {
      const int body = static_cast<int>(b), step = static_cast<int>(s);
      const StepEffects& effects = effects_.of(body, step);
      for (const Call& call : effects.calls) {
        for (const int callee : call.bodies) callers_[callee].push_back({body, step, &call});
      }
      for (const auto& [variable, extent] : effects.writes) {
        writers_[variable].push_back({body, step, extent});
      }
    }
  }
}

/// Finds the early bodies: those that are called, and only by early statements.
void Questions::find_early() {
  const auto& bodies = model_.bodies();
  early_.assign(bodies.size(), false);
  std::vector<bool> handed(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    for (std::size_t s = 0; s < bodies[b].steps.size(); ++s) {
      for (const int other : effects_.of(static_cast<int>(b), static_cast<int>(s)).handed_on) {
        handed[static_cast<std::size_t>(other)] = true;
      }
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const auto found = callers_.find(static_cast<int>(b));
      if (early_[b] || handed[b] || bodies[b].piece->anywhere || is_implicit(bodies[b]) ||
          found == callers_.end()) {
        continue;
      }
      early_[b] = std::ranges::all_of(found->second, [this](const Caller& caller) {
        return is_early(caller.body, caller.step);
      });
      more = more || early_[b];
    }
  }
}

bool Questions::is_early(int body, int step) const {
  if (early_[static_cast<std::size_t>(body)]) return true;
  const Body& function = model_.bodies()[static_cast<std::size_t>(body)];
  if (!function.piece->entry || main_.empty()) return false;
  const Step& own = function.steps[static_cast<std::size_t>(step)];
  if (own.function != function.block) return false;  // it belongs to a lambda
  return std::ranges::all_of(main_, [&](const auto& loop) {
    const bool here = loop.first == &function.reader->source() &&
                      function.piece->range.holds(loop.second.begin);
    if (!here || own.whole.end > loop.second.begin) return false;
    // No loop around the main loop executes the step again.
    return std::ranges::none_of(function.steps, [&](const Step& other) {
      return other.is_loop && holds(other.whole, loop.second) && other.whole != loop.second;
    });
  });
}

void Questions::slice(const Change& change) {
  const auto& bodies = model_.bodies();
  Slice slice{.change = &change, .question = question_of(change), .reads = {}};
  Slicer slicer(*this);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    if (&bodies[b].reader->source() != change.source) continue;
    for (std::size_t s = 0; s < bodies[b].steps.size(); ++s) {
      if (!meet(bodies[b].steps[s].range, change.now)) continue;
      slicer.add_step(static_cast<int>(b), static_cast<int>(s), true);
      slice.understood = true;
    }
  }
  slicer.run();
  slice.reads = slicer.take();
  slices_.push_back(std::move(slice));
}

std::optional<std::pair<int, std::size_t>> Questions::body_at(const Source& source,
                                                              std::size_t at) const {
  const auto& bodies = model_.bodies();
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    if (&bodies[b].reader->source() == &source && bodies[b].piece->range.holds(at)) {
      return std::pair(static_cast<int>(b), at);
    }
  }
  return std::nullopt;
}

/// The variables that the statements of the loop may change, and that outlive the loop.
Keys Questions::changed_by(const Source& source, Range loop, bool main) const {
  const int body = body_at(source, loop.begin)->first;
  const Body& function = model_.bodies()[static_cast<std::size_t>(body)];
  Keys written, kept;
  std::set<int> through;
  const auto add = [&](int variable, Extent extent) {
    written.add(variable, extent);
    if (extent != Extent::rebound) through.insert(variable);
  };
  for (std::size_t s = 0; s < function.steps.size(); ++s) {
    const Step& step = function.steps[s];
    const StepEffects& effects = effects_.of(body, static_cast<int>(s));
    if (step.flor && holds(step.whole, loop)) kept.add(effects.attached);
    if (!holds(loop, step.range)) continue;
    for (const auto& [variable, extent] : effects.writes) add(variable, extent);
    for (const int variable : effects.iterated) through.insert(~variable);
  }
  for (std::size_t b = 0; b < model_.bodies().size(); ++b) {
    const Body& other = model_.bodies()[b];
    if (!other.piece->anywhere || other.is_constructor()) continue;
    for (const auto& [variable, extent] : effects_.summary(static_cast<int>(b)).shared_writes) {
      add(variable, extent);
    }
  }
  ascend(written, through);
  std::set<int> active{body};  // functions that may be running while the loop does
  std::vector<int> open{body};
  while (!open.empty()) {
    const auto found = callers_.find(open.back());
    open.pop_back();
    if (found == callers_.end()) continue;
    for (const Caller& caller : found->second) {
      if (active.insert(caller.body).second) open.push_back(caller.body);
    }
  }
  const auto is_gone = [&](const Variable& v) {  // the variable does not exist while the loop runs
    if (v.persistent || v.body < 0) return false;
    return !active.contains(v.body) || (v.body == body && v.at > 0 && !meet(v.scope, loop));
  };
  Keys out;
  for (const auto& [variable, extent] : written) {
    const Variable& v = model_.variable(variable);
    const bool own = v.body == body && !v.persistent && loop.holds(v.at) && v.parameter < 0;
    if (own || is_gone(v) || kept_.holds(variable) || kept.holds(variable, Extent::whole)) continue;
    if (main && begins_anew(variable, body, loop)) continue;
    out.add(variable, extent);
  }
  return out;
}

/// Adds the objects that changed variables refer to, and the arguments that callers passed for
/// changed parameters. For `~variable`, a parameter that is only iterated over, some arguments are
/// known to stay unchanged.
void Questions::ascend(Keys& changed, std::set<int>& through) const {
  std::set<int> done;
  std::vector<int> open(through.begin(), through.end());
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (!done.insert(next).second) continue;
    const bool iterated = next < 0;
    const int id = iterated ? ~next : next;
    const Variable& variable = model_.variable(id);
    if (!iterated) {
      for (const int other : effects_.reachable(id)) {
        if (other != id) {
          changed.add(other, Extent::whole);
          open.push_back(other);
        }
      }
    }
    const auto found = callers_.find(variable.body);
    if (found == callers_.end()) continue;
    const Body& body = model_.bodies()[static_cast<std::size_t>(variable.body)];
    const Type& type = variable.type;
    const bool copied = !type.reference && (type.kind == Kind::number ||
                                            type.kind == Kind::setting ||
                                            type.kind == Kind::container);
    if ((variable.parameter < 0 && id != body.self) || copied) continue;
    for (const Caller& caller : found->second) {
      const auto index = static_cast<std::size_t>(variable.parameter);
      const Keys* given = id == body.self                           ? &caller.call->receiver
                          : index < caller.call->arguments.size() ? &caller.call->arguments[index]
                                                                  : nullptr;
      if (!given) continue;
      for (const auto& [other, extent] : *given) {
        const Variable& v = model_.variable(other);
        const bool unknown = v.type.kind == Kind::unknown || v.type.kind == Kind::library;
        if (iterated && !unknown) continue;
        if (iterated && v.parameter >= 0) {
          open.push_back(~other);
          continue;
        }
        changed.add(other, extent);
        open.push_back(other);
      }
    }
  }
}

/// Whether each iteration sets the variable before it does anything else with it.
bool Questions::begins_anew(int variable, int body, Range loop) const {
  const Body& function = model_.bodies()[static_cast<std::size_t>(body)];
  for (std::size_t s = 0; s < function.steps.size(); ++s) {
    const Step& step = function.steps[s];
    if (!holds(loop, step.range)) continue;
    const StepEffects& effects = effects_.of(body, static_cast<int>(s));
    const bool reads = effects.reads.holds(variable, Extent::whole) ||
                       effects.reads.holds(variable, Extent::part);
    const bool writes = effects.writes.holds(variable, Extent::whole) ||
                        effects.writes.holds(variable, Extent::part);
    if (effects.writes.holds(variable, Extent::rebound) && !writes) {
      const bool direct = step.parent >= 0 &&
                          function.steps[static_cast<std::size_t>(step.parent)].whole == loop &&
                          step.function == function.block;
      const bool plain = function.reader->is_name(step.range.begin) &&
                         function.reader->is(step.range.begin + 1, "=");
      std::size_t mentions = 0;
      for (std::size_t k = step.range.begin; k < step.range.end; ++k) {
        mentions += function.reader->is(k, model_.variable(variable).name) ? 1 : 0;
      }
      return direct && plain && mentions == 1;
    }
    if (reads || writes) return false;
  }
  return false;
}

std::optional<Questions::Read> Questions::find(const Source& source, Range loop, bool main) const {
  if (slices_.empty()) return std::nullopt;
  if (!complete_ || !body_at(source, loop.begin)) {
    return Read{slices_.front().change, slices_.front().question, {}, false};
  }
  const Keys changed = changed_by(source, loop, main);
  std::optional<Read> outside;  // only used if no variable is found, which says more
  for (const Slice& slice : slices_) {
    if (!main && slice.change->source == &source && holds(loop, slice.change->now)) continue;
    for (const auto& [variable, extent] : changed) {
      for (const Extent read : {Extent::whole, Extent::part}) {
        if (!slice.reads.holds(variable, read) || !conflict(extent, read)) continue;
        if (variable != model_.outside()) {
          return Read{slice.change, slice.question, std::string(model_.variable(variable).name),
                      false};
        }
        outside = Read{slice.change, slice.question, {}, true};
      }
    }
  }
  return outside;
}

std::optional<Questions::Read> Questions::of_nested(const Source& source, Range loop) const {
  return find(source, loop, false);
}
std::optional<Questions::Read> Questions::of_main(const Source& source, Range loop) const {
  return find(source, loop, true);
}

bool Questions::leaves_function(const Source& source, Range loop) const {
  const auto found = body_at(source, loop.begin);
  if (!found) return true;
  const Body& body = model_.bodies()[static_cast<std::size_t>(found->first)];
  for (std::size_t k = loop.begin; k < loop.end; ++k) {
    const std::string_view word = body.reader->text(k);
    if (const Inner* inner = model_.macro(word)) {
      const auto& tokens = model_.source_of_macro(word)->tokens.all;
      for (std::size_t i = inner->range.begin; i < inner->range.end; ++i) {
        if (tokens[i].is("return") || tokens[i].is("goto")) return true;
      }
    }
    if (word != "return" && word != "goto" && word != "co_return") continue;
    const bool in_lambda = std::ranges::any_of(body.steps, [&](const Step& step) {
      return step.function.holds(k) && holds(loop, step.function);
    });
    if (!in_lambda) return true;
  }
  return false;
}

/// Whether the sources show everything that changes the variable, and everything that it holds.
bool Questions::is_shown(int id) const {
  const Variable& variable = model_.variable(id);
  const Type& type = variable.type;
  const bool frozen = type.frozen && (type.element.empty() || model_.is_plain_class(type.element));
  const bool known = frozen || (type.kind != Kind::unknown && type.kind != Kind::library &&
                                type.kind != Kind::loader);
  return known || type.tensors || kept_.holds(id) || variable.is_result ||
         variable.name == "this" || (variable.body < 0 && is_output(variable.name));
}

bool Questions::outlives(int id, const Source& source, Range loop) const {
  const Variable& variable = model_.variable(id);
  const auto body = body_at(source, loop.begin);
  return variable.persistent ||
         (body && body->first == variable.body && !loop.holds(variable.at));
}

std::optional<std::string> Questions::unproven() const {
  if (!complete_) return "the sources are too many to be analysed";
  // State of libraries is as it was before the loops, unless code in the loops calls code outside
  // these sources.
  const bool calls_outside = std::ranges::any_of(main_, [this](const auto& loop) {
    if (!body_at(*loop.first, loop.second.begin)) return true;
    return std::ranges::any_of(changed_by(*loop.first, loop.second, true), [this](const auto& key) {
      return key.first == model_.outside();
    });
  });
  for (const Slice& slice : slices_) {
    if (!slice.understood) return slice.change->where + " is outside of all functions";
    for (const auto& key : slice.reads) {
      const int id = key.first;
      const bool outlives_any = std::ranges::any_of(
          main_, [&](const auto& loop) { return outlives(id, *loop.first, loop.second); });
      const Variable& variable = model_.variable(id);
      const bool elsewhere = id == model_.outside() || variable.is_open();
      if (is_shown(id) || !outlives_any || (elsewhere && !calls_outside)) continue;
      if (id == model_.outside()) {
        return fmt::format("{} calls code that the sources do not show", slice.question);
      }
      return fmt::format("{} reads '{}', whose state the sources do not show", slice.question,
                         model_.variable(id).name);
    }
  }
  return std::nullopt;
}

}  // namespace flor::sources
