#include "instrument/training.h"

#include "instrument/loop_form.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace flor::instrument {
namespace {

class Finder {
 public:
  Finder(const Program& program, const StateTypes& types, const Carried& carried)
      : program_(program), types_(types), carried_(carried) {}

  std::vector<Training> run(std::uint32_t line) {
    const int entry = program_.entry();
    const Range whole = program_.body(entry).block;
    if (line > 0) {
      main_.push_back(at_line(line));
    } else if (program_.trains(entry, whole)) {
      descend(entry, whole);
    } else {
      choose_by_state(entry);
    }
    std::vector<Training> trainings;
    for (const Loop main : main_) trainings.push_back({main, nested_of(main)});
    return trainings;
  }

 private:
  std::string name(Loop loop) const {
    return program_.place(loop.body, program_.step(loop).whole.begin);
  }

  Loop at_line(std::uint32_t line) const {
    const auto& bodies = program_.model().bodies();
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const Source& source = program_.source_of(static_cast<int>(b));
      if (&source != program_.files().front().get()) continue;
      for (std::size_t s = 0; s < bodies[b].steps.size(); ++s) {
        const Step& step = bodies[b].steps[s];
        if (step.is_loop && step.function == bodies[b].block &&
            source.line(step.whole.begin) == line) {
          return {static_cast<int>(b), static_cast<int>(s)};
        }
      }
    }
    throw UsageError(fmt::format("{} has no loop in line {}: give the line of its for or while",
                                 program_.files().front()->path, line));
  }

  /// Whether the model is made inside the loop, which therefore trains several models.
  bool makes_model(Loop loop) const {
    const Range whole = program_.step(loop).whole;
    for (const Variable& v : program_.model().variables()) {
      if (v.body != loop.body || v.at == 0 || !whole.holds(v.at) || v.type.reference) continue;
      const auto id = static_cast<int>(&v - program_.model().variables().data());
      if (types_.of(id).kind == StateKind::module) return true;
    }
    return false;
  }

  /// Adds the outermost loops that train, in this function or in those that it calls.
  void descend(int body, Range range) {
    if (!seen_.insert({body, range.begin}).second) return;
    std::vector<Range> inside;
    std::vector<std::pair<std::size_t, std::function<void()>>> todo;
    for (const Loop loop : program_.loops_in(body, range)) {
      const Range whole = program_.step(loop).whole;
      inside.push_back(whole);
      if (!program_.trains(body, whole)) continue;
      todo.emplace_back(whole.begin, [=, this] {
        if (makes_model(loop) || model_is_made_below(loop)) {
          descend(body, {program_.step(loop).range.end, whole.end});
        } else {
          main_.push_back(loop);
        }
      });
    }
    for (const int s : program_.steps_in(body, range)) {
      const Range step = program_.step({body, s}).range;
      if (std::ranges::any_of(inside, [&](Range loop) { return is_within(loop, step); })) continue;
      for (const int callee : program_.called_in(body, step)) {
        if (!program_.trains(callee, program_.body(callee).block)) continue;
        if (program_.body(callee).is_constructor()) continue;
        todo.emplace_back(step.begin, [=, this] { descend(callee, program_.body(callee).block); });
      }
    }
    std::ranges::stable_sort(todo, {}, [](const auto& one) { return one.first; });
    for (const auto& [at, act] : todo) act();
  }

  /// Whether all training in the loop happens in functions that make their own model.
  bool model_is_made_below(Loop loop) const {
    bool found = false;
    for (const int callee : program_.called_in(loop.body, program_.step(loop).whole)) {
      const Body& body = program_.body(callee);
      if (body.is_constructor() || !program_.trains(callee, body.block)) continue;
      bool makes = false;
      for (const Variable& v : program_.model().variables()) {
        if (v.body != callee || v.parameter >= 0 || v.at == 0 || v.type.reference) continue;
        const auto id = static_cast<int>(&v - program_.model().variables().data());
        makes = makes || types_.of(id).kind == StateKind::module;
      }
      if (!makes) return false;
      found = true;
    }
    return found;
  }

  /// Without gradients to look for: the loop of main that changes state which its next iteration
  /// reads.
  void choose_by_state(int entry) {
    std::vector<Loop> found, named;
    for (const Loop loop : program_.loops_in(entry, program_.body(entry).block)) {
      const auto carried = carried_.of_main(loop);
      const bool state = std::ranges::any_of(carried, [](const CarriedVariable& one) {
        return one.type.kind != StateKind::other || !one.type.own.empty();
      });
      if (!state) continue;
      found.push_back(loop);
      if (loop_variable(program_, loop).starts_with("epoch")) named.push_back(loop);
    }
    if (named.size() == 1) found = named;
    if (found.size() == 1) {
      main_ = found;
    } else if (found.size() > 1) {
      std::string lines;
      for (const Loop loop : found) lines += (lines.empty() ? "" : ", ") + name(loop);
      throw UsageError(fmt::format(
          "several loops of main may be the main loop ({}): say which with --line LINE", lines));
    }
  }

  std::vector<Loop> nested_of(Loop main) const {
    std::vector<Loop> found;
    const Range inside{program_.step(main).range.end, program_.step(main).whole.end};
    const bool torch = program_.trains(main.body, inside);
    std::set<int> changed;
    if (!torch) {
      for (const auto& one : carried_.of_main(main)) changed.insert(one.variable);
    }
    std::set<int> seen;
    const std::function<void(int, Range)> look = [&](int body, Range range) {
      std::vector<Range> loops;
      for (const Loop loop : program_.loops_in(body, range)) {
        const Range whole = program_.step(loop).whole;
        loops.push_back(whole);
        const bool changes = std::ranges::any_of(carried_.changed(loop), [&](const auto& one) {
          return changed.contains(one.variable);
        });
        if (torch ? program_.trains(body, whole) : changes && works(loop)) found.push_back(loop);
      }
      if (!torch) return;
      for (const int s : program_.steps_in(body, range)) {
        const Range step = program_.step({body, s}).range;
        if (std::ranges::any_of(loops, [&](Range one) { return is_within(one, step); })) continue;
        for (const int callee : program_.called_in(body, step)) {
          const Body& other = program_.body(callee);
          if (other.is_constructor() || !seen.insert(callee).second) continue;
          std::set<int> open;
          if (is_only_called_by_mains(callee, open)) look(callee, other.block);
        }
      }
    };
    look(main.body, inside);
    return found;
  }

  /// Whether the loop calls functions of the program or draws random numbers, so that skipping it
  /// may save time.
  bool works(Loop loop) const {
    const Range whole = program_.step(loop).whole;
    if (!program_.called_in(loop.body, whole).empty()) return true;
    return std::ranges::any_of(carried_.changed(loop), [](const CarriedVariable& one) {
      return one.type.kind == StateKind::engine;
    });
  }

  /// Whether the function runs only while a main loop does. `open`: functions being looked at.
  bool is_only_called_by_mains(int callee, std::set<int>& open) const {
    if (!open.insert(callee).second) return true;
    return std::ranges::all_of(program_.callers(callee), [&](const Program::Caller& caller) {
      const Range step = program_.step({caller.body, caller.step}).range;
      const bool inside = std::ranges::any_of(main_, [&](Loop main) {
        return caller.body == main.body && is_within(program_.step(main).whole, step);
      });
      const bool around =
          std::ranges::any_of(main_, [&](Loop main) { return caller.body == main.body; });
      if (inside || around) return inside;
      return caller.body != program_.entry() && !program_.callers(caller.body).empty() &&
             is_only_called_by_mains(caller.body, open);
    });
  }

  const Program& program_;
  const StateTypes& types_;
  const Carried& carried_;
  std::vector<Loop> main_;
  std::set<std::pair<int, std::size_t>> seen_;
};

}  // namespace

std::vector<Training> find_trainings(const Program& program, const StateTypes& types,
                                     const Carried& carried, std::uint32_t line) {
  return Finder(program, types, carried).run(line);
}

}  // namespace flor::instrument
