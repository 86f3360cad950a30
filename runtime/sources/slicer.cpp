#include "sources/slicer.h"

#include <algorithm>
#include <tuple>

namespace flor::sources {

void Slicer::run() {
  while (!open_.empty() && !q_.effects_.is_spent()) {
    const auto [variable, extent, up] = open_.back();
    open_.pop_back();
    expand(variable, extent, up);
  }
}

void Slicer::add_step(int body, int step, bool up) {
  const auto [found, inserted] = steps_.try_emplace({body, step}, up);
  if (!inserted && (found->second || !up)) return;
  found->second = up;
  const StepEffects& effects = q_.effects_.of(body, step);
  // The state that libraries kept before the main loops began was not changed by any loop.
  const bool early = q_.is_early(body, step);
  for (const auto& [variable, extent] : effects.reads) {
    if (variable != q_.model_.outside() || !early) add_variable(variable, extent, up);
  }
  for (const auto& [variable, extent] : effects.asked) {
    if (!early && !q_.kept_.holds(variable)) add_variable(q_.model_.outside(), Extent::whole, up);
  }
  for (const int variable : effects.iterated) add_variable(variable, Extent::whole, up);
  add_calls(effects);
  add_control(body, step, up);
}

/// Adds what called functions return through parameters, and everything that functions passed to a
/// call may do.
void Slicer::add_calls(const StepEffects& effects) {
  for (const Call& call : effects.calls) {
    for (const int id : call.bodies) {
      const Body& body = q_.model_.bodies()[static_cast<std::size_t>(id)];
      for (const int parameter : q_.effects_.summary(id).writes) {
        const int variable =
            parameter < 0 ? body.self : body.parameters[static_cast<std::size_t>(parameter)];
        if (variable >= 0) add_variable(variable, Extent::whole, false);
      }
    }
  }
  for (const int id : effects.handed_on) {
    const Body& body = q_.model_.bodies()[static_cast<std::size_t>(id)];
    if (body.result >= 0) add_variable(body.result, Extent::whole, false);
    for (const int parameter : body.parameters) add_variable(parameter, Extent::whole, false);
  }
}

/// Adds whatever decides whether the step is executed: the headers around it, earlier statements
/// that may leave, and the same for its callers.
void Slicer::add_control(int body, int step, bool up) {
  if (!controlled_.insert({body, step}).second && !up) return;
  const Body& function = q_.model_.bodies()[static_cast<std::size_t>(body)];
  const Step& own = function.steps[static_cast<std::size_t>(step)];
  if (own.parent >= 0) add_step(body, own.parent, up);
  add_exits(body, step, up);
  if (up) add_callers(body);
  if (own.function == function.block) return;
  // A lambda may be called wherever the variable that holds it is used.
  for (std::size_t s = 0; s < function.steps.size(); ++s) {
    const Step& other = function.steps[s];
    const bool around = other.range.begin <= own.function.begin &&
                        own.function.end <= other.range.end && other.function != own.function;
    if (!around) continue;
    if (controlled_.insert({body, static_cast<int>(s)}).second) {
      add_control(body, static_cast<int>(s), up);
    }
    for (const auto& [variable, extent] : q_.effects_.of(body, static_cast<int>(s)).writes) {
      if (extent != Extent::rebound) continue;
      for (std::size_t t = 0; t < function.steps.size(); ++t) {
        if (t != s && q_.effects_.of(body, static_cast<int>(t)).reads.holds(variable, Extent::whole) &&
            controlled_.insert({body, static_cast<int>(t)}).second) {
          add_control(body, static_cast<int>(t), up);
        }
      }
    }
  }
}

/// Adds statements before the step that may leave the function or loop around both.
void Slicer::add_exits(int body, int step, bool up) {
  const Body& function = q_.model_.bodies()[static_cast<std::size_t>(body)];
  const Step& own = function.steps[static_cast<std::size_t>(step)];
  const auto holds = [](Range outer, Range inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
  };
  for (std::size_t s = 0; s < function.steps.size(); ++s) {
    const Step& exit = function.steps[s];
    const std::string_view word = function.reader->text(exit.range.begin);
    const bool leaves = word == "return" || word == "throw" || word == "goto" || word == "co_return";
    const bool jumps = word == "break" || word == "continue";
    if ((!leaves && !jumps) || exit.parent < 0 || exit.function != own.function) continue;
    bool both = leaves;          // the function or loop that is left contains both steps
    // In a loop that Flor does not wrap, a later iteration may execute the step after the exit. A
    // goto may jump back to the step.
    bool comes_again = word == "goto";
    for (int p = exit.parent; p >= 0; p = function.steps[static_cast<std::size_t>(p)].parent) {
      const Step& header = function.steps[static_cast<std::size_t>(p)];
      const bool target = header.is_loop || (header.is_switch && word == "break");
      if (header.is_loop && !header.flor && holds(header.whole, own.range)) comes_again = true;
      if (!target || leaves) continue;
      both = holds(header.whole, own.range);
      break;
    }
    if (both && (exit.range.begin < own.range.begin || comes_again)) {
      add_step(body, exit.parent, up);
    }
  }
}

void Slicer::add_callers(int body) {
  if (!ascended_.insert(body).second) return;
  const auto found = q_.callers_.find(body);
  if (found == q_.callers_.end()) return;
  for (const auto& caller : found->second) add_control(caller.body, caller.step, true);
}

void Slicer::add_variable(int variable, Extent extent, bool up) {
  // The result of a function is followed into the function, not out to its callers.
  if (q_.model_.variable(variable).is_result) up = false;
  const auto [found, inserted] = known_.try_emplace({variable, extent}, up);
  if (!inserted && (found->second || !up)) return;
  found->second = up;
  reads_.add(variable, extent);
  open_.emplace_back(variable, extent, up);
}

void Slicer::expand(int id, Extent extent, bool up) {
  if (q_.kept_.holds(id) || id == q_.model_.outside()) return;
  const Variable& variable = q_.model_.variable(id);
  if (extent == Extent::whole) {
    for (const int other : q_.effects_.reachable(id)) add_variable(other, Extent::whole, up);
  }
  // The variable may refer to code outside these sources, which keeps parts of it.
  if (extent == Extent::part && id != q_.model_.outside()) {
    const auto reachable = q_.effects_.reachable(id);
    if (std::ranges::find(reachable, q_.model_.outside()) != reachable.end()) {
      add_variable(q_.model_.outside(), Extent::whole, up);
    }
  }
  for (const int other : q_.effects_.reaching(id)) {
    const auto found = q_.writers_.find(other);
    if (found == q_.writers_.end()) continue;
    for (const auto& writer : found->second) {
      if (other == id ? writer.extent == Extent::part && extent == Extent::part
                      : writer.extent == Extent::rebound) {
        continue;
      }
      const bool inside = writer.body == variable.body;
      add_step(writer.body, writer.step, inside ? up : variable.persistent || up);
    }
  }
  if (!up || variable.body < 0) return;
  const auto found = q_.callers_.find(variable.body);
  if (found == q_.callers_.end()) return;
  const Body& body = q_.model_.bodies()[static_cast<std::size_t>(variable.body)];
  for (const auto& caller : found->second) {
    const Keys* given = nullptr;
    if (id == body.self) {
      given = &caller.call->receiver;
    } else if (variable.parameter >= 0 &&
               static_cast<std::size_t>(variable.parameter) < caller.call->arguments.size()) {
      given = &caller.call->arguments[static_cast<std::size_t>(variable.parameter)];
    }
    if (!given) continue;
    for (const auto& [other, other_extent] : *given) add_variable(other, other_extent, true);
    // An argument that is no variable, as in `f(g(x))`: everything that the call reads.
    if (given->empty() && id != body.self) add_step(caller.body, caller.step, true);
  }
}

}  // namespace flor::sources
