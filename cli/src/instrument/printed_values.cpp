#include "instrument/printed_values.h"

#include "sources/syntax/libraries.h"
#include "sources/syntax/logging.h"

#include <algorithm>
#include <map>
#include <set>

namespace flor::instrument {
namespace {

class Printed {
 public:
  Printed(const Program& program, const StateTypes& types) : program_(program), types_(types) {}

  std::vector<PrintedValue> run(const std::vector<Training>& trainings) {
    for (const Training& training : trainings) mains_.push_back(training.main);
    for (const Loop main : mains_) {
      look(main.body, {program_.step(main).range.end, program_.step(main).whole.end});
    }
    std::map<std::string, int> count;
    for (const PrintedValue& value : found_) ++count[value.name];
    std::erase_if(found_, [&](const PrintedValue& value) { return count[value.name] > 1; });
    return std::move(found_);
  }

 private:
  void look(int body, Range range) {
    for (const int s : program_.steps_in(body, range)) {
      const Step& step = program_.step({body, s});
      statement(body, step.range);
      for (const int callee : program_.called_in(body, step.range)) {
        if (seen_.contains(callee) || !is_called_within(callee, body, range)) continue;
        seen_.insert(callee);
        look(callee, program_.body(callee).block);
      }
    }
  }

  /// Whether all calls of the function are in this part of that one.
  bool is_called_within(int callee, int body, Range range) const {
    const auto& callers = program_.callers(callee);
    return !program_.body(callee).is_constructor() &&
           std::ranges::all_of(callers, [&](const Program::Caller& caller) {
             return caller.body == body &&
                    is_within(range, program_.step({caller.body, caller.step}).range);
           });
  }

  void statement(int body, Range range) {
    const Reader& reader = *program_.body(body).reader;
    std::size_t k = range.begin;
    while (reader.is(k + 1, "::")) k += 2;
    if (reader.is(k, "cout") || reader.is(k, "cerr") || reader.is(k, "clog")) {
      for (std::size_t i = k + 1; i < range.end;) {
        std::size_t end = i + 1;
        while (end < range.end && !reader.is(end, "<<") && !reader.is(end, ";")) {
          end = reader.is(end, "(") || reader.is(end, "[") || reader.is(end, "{")
                    ? reader.behind(end)
                    : end + 1;
        }
        if (reader.is(i, "<<")) operand(body, {i + 1, end});
        i = end;
      }
    } else if (sources::is_print(reader.text(k)) && reader.is(k + 1, "(")) {
      for (const Range part : reader.split({k + 2, reader.behind(k + 1) - 1})) operand(body, part);
    }
  }

  void operand(int body, Range range) {
    const Reader& reader = *program_.body(body).reader;
    if (range.empty() || !reader.is_name(range.begin)) return;
    const int id = program_.model().resolve(body, reader.text(range.begin), range.begin);
    if (id < 0 || program_.variable(id).body != body) return;
    const Variable& v = program_.variable(id);
    const StateType type = types_.of(id);
    const std::size_t after = range.begin + 1;
    if (after == range.end) {
      const bool fraction = type.name == "double" || type.name == "float" ||
                            (v.type.deduced && v.type.kind == sources::Kind::number && !counts(v));
      if (!fraction) return;
    } else if (!is_element(reader, {after, range.end}) || type.kind == StateKind::script) {
      return;
    }
    if (v.type.constant && v.parameter < 0 && !is_inside(body, v)) return;
    std::set<int> seen;
    if (depends_on_clock(id, seen)) return;
    const bool shifted = reader.is(range.begin - 1, "<<");
    found_.push_back({body, range, std::string(v.name), shifted ? range.begin - 1 : range.begin});
  }

  /// Whether it is declared in a main loop, or in a function that one calls.
  bool is_inside(int body, const Variable& v) const {
    return std::ranges::none_of(mains_, [&](Loop main) { return main.body == body; }) ||
           std::ranges::any_of(mains_, [&](Loop main) {
             return main.body == body && program_.step(main).whole.holds(v.at);
           });
  }

  /// Whether it is `.item<T>()` or `.template item<T>()`.
  static bool is_element(const Reader& reader, Range range) {
    std::size_t k = range.begin;
    if (!reader.is(k, ".")) return false;
    if (reader.is(++k, "template")) ++k;
    if (!reader.is(k, "item") || !reader.is(k + 1, "<")) return false;
    const bool fraction = reader.is(k + 2, "double") || reader.is(k + 2, "float");
    const std::size_t open = reader.behind_angles(k + 1);
    return fraction && reader.is(open, "(") && reader.behind(open) == range.end;
  }

  /// Whether the initializer of a deduced variable is a whole number.
  bool counts(const Variable& v) const {
    const Reader& reader = *program_.body(v.body).reader;
    for (std::size_t k = v.at; k < reader.size() && !reader.is(k, ";"); ++k) {
      const std::string_view word = reader.text(k);
      if (word == "double" || word == "float" || word == "/") return false;
      if (reader.is_literal(k) && word.find('.') != word.npos) return false;
    }
    return true;
  }

  bool depends_on_clock(int id, std::set<int>& seen) const {
    const Variable& v = program_.variable(id);
    if (!seen.insert(id).second || v.body < 0 || v.at == 0) return false;
    const Body& body = program_.body(v.body);
    for (std::size_t s = 0; s < body.steps.size(); ++s) {
      const sources::StepEffects& effects = program_.effects().of(v.body, static_cast<int>(s));
      using sources::Extent;
      const bool writes = effects.writes.holds(id, Extent::whole) ||
                          effects.writes.holds(id, Extent::part) ||
                          effects.writes.holds(id, Extent::rebound);
      if (!writes) continue;
      const Range range = body.steps[s].range;
      for (std::size_t k = range.begin; k < range.end; ++k) {
        const std::string_view word = body.reader->text(k);
        const bool is_name = body.reader->is_name(k);
        const int other = is_name ? program_.model().resolve(v.body, word, k) : -1;
        const bool qualified = k > 1 && body.reader->is(k - 1, "::");
        const bool of_torch = qualified && body.reader->is(k - 2, "torch");
        const bool own = other >= 0 && !qualified && program_.variable(other).at != 0;
        if (word == "chrono" || word == "Timer" || word == "timer" || word == "elapsed" ||
            word == "omp_get_wtime" || (sources::has_hidden_state(word) && !of_torch && !own)) {
          return true;
        }
        if (other >= 0 && depends_on_clock(other, seen)) return true;
      }
    }
    return false;
  }

  const Program& program_;
  const StateTypes& types_;
  std::vector<Loop> mains_;
  std::set<int> seen_;
  std::vector<PrintedValue> found_;
};

}  // namespace

std::vector<PrintedValue> find_printed(const Program& program, const StateTypes& types,
                                       const std::vector<Training>& trainings) {
  return Printed(program, types).run(trainings);
}

}  // namespace flor::instrument
