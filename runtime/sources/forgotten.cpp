#include "sources/forgotten.h"

#include "sources/source_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace flor::sources {
namespace {

constexpr int kUnreached = 1 << 20;

bool is_within(Range outer, Range inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Whether flor::with takes a variable of this type.
bool can_be_attached(const Variable& variable) {
  const Kind kind = variable.type.kind;
  return !variable.type.constant && !variable.binding && !variable.name.empty() &&
         (kind == Kind::number || kind == Kind::tensor || kind == Kind::container);
}

}  // namespace

class ForgottenFinder {
 public:
  explicit ForgottenFinder(const Questions& questions)
      : q_(questions), model_(questions.model_), effects_(questions.effects_) {
    find_depths();
    for (std::size_t b = 0; b < model_.bodies().size(); ++b) {
      for (std::size_t s = 0; s < model_.bodies()[b].steps.size(); ++s) {
        const StepEffects& effects = effects_.of(static_cast<int>(b), static_cast<int>(s));
        for (const Keys* keys : {&effects.registered, &effects.attached}) {
          for (const auto& [variable, extent] : *keys) mentioned_.insert(variable);
        }
      }
    }
  }

  static std::vector<Forgotten> of(const Questions& questions) {
    if (!questions.complete_) return {};
    return ForgottenFinder(questions).run();
  }

 private:
  enum class Use { none, read, set };

  std::vector<Forgotten> run() {
    for (std::size_t b = 0; b < model_.bodies().size(); ++b) {
      const Body& body = model_.bodies()[b];
      for (std::size_t s = 0; s < body.steps.size(); ++s) {
        const Step& step = body.steps[s];
        if (!step.flor || step.function != body.block) continue;
        const int depth = depths_[b] + around(body, step.parent);
        if (depth <= 1) look_at(static_cast<int>(b), static_cast<int>(s), depth == 0);
      }
    }
    return std::move(out_);
  }

  const Body& body(int id) const { return model_.bodies()[static_cast<std::size_t>(id)]; }

  /// How many of the headers around `step`, itself included, are those of Flor's loops.
  static int around(const Body& body, int step) {
    int count = 0;
    for (; step >= 0; step = body.steps[static_cast<std::size_t>(step)].parent) {
      count += body.steps[static_cast<std::size_t>(step)].flor ? 1 : 0;
    }
    return count;
  }

  /// Finds for each function the smallest number of Flor's loops around its calls.
  void find_depths() {
    depths_.assign(model_.bodies().size(), kUnreached);
    std::vector<int> open;
    for (std::size_t b = 0; b < depths_.size(); ++b) {
      if (!model_.bodies()[b].piece->entry) continue;
      depths_[b] = 0;
      open.push_back(static_cast<int>(b));
    }
    while (!open.empty()) {
      const int caller = open.back();
      open.pop_back();
      for (std::size_t s = 0; s < body(caller).steps.size(); ++s) {
        const int depth = depths_[static_cast<std::size_t>(caller)] +
                          around(body(caller), body(caller).steps[s].parent);
        for (const Call& call : effects_.of(caller, static_cast<int>(s)).calls) {
          for (const int callee : call.bodies) {
            int& known = depths_[static_cast<std::size_t>(callee)];
            if (depth >= known) continue;
            known = depth;
            open.push_back(callee);
          }
        }
      }
    }
  }

  void look_at(int id, int header, bool main) {
    const Step& loop = body(id).steps[static_cast<std::size_t>(header)];
    for (const int variable : changed_in(id, loop.whole)) {
      if (is_kept(variable) || is_attached(id, loop.whole, variable)) continue;
      std::optional<std::string> where;
      if (main) {
        std::size_t at = 0;
        const Use use = first_use(id, header, variable, at);
        if (use == Use::set) continue;  // each iteration sets it before it is read
        if (use == Use::read) where = place(id, at);
      }
      if (!where) where = read_behind(id, loop.whole, loop.parent, variable);
      if (!where) where = read_by_caller(id, variable);
      if (where) add(loop, variable, std::move(*where));
    }
  }

  void add(const Step& loop, int variable, std::string where) {
    if (!told_.insert(variable).second) return;
    const bool named = loop.flor->naming == ForLoop::Naming::literal;
    out_.push_back({std::string(model_.variable(variable).name),
                    named ? loop.flor->name : std::string("loop"), std::move(where)});
  }

  std::string place(int id, std::size_t at) const {
    const Source& source = body(id).reader->source();
    return fmt::format("{}:{}", source.path, source.line(at));
  }

  bool is_kept(int variable) const {
    const Variable& v = model_.variable(variable);
    return q_.kept_.holds(variable) || mentioned_.contains(variable) ||
           model_.is_kept_by_owner(v.name) || std::ranges::any_of(mentioned_, [&](int other) {
             return model_.variable(other).name == v.name;
           });
  }
  bool is_attached(int id, Range loop, int variable) const {
    for (std::size_t s = 0; s < body(id).steps.size(); ++s) {
      const Step& step = body(id).steps[s];
      if (step.flor && is_within(step.whole, loop) &&
          effects_.of(id, static_cast<int>(s)).attached.holds(variable, Extent::whole)) {
        return true;
      }
    }
    return false;
  }

  /// The variables from outside the loop that its statements certainly change.
  std::set<int> changed_in(int id, Range loop) const {
    std::set<int> changed;
    const auto add = [&](int variable) {
      const Variable& v = model_.variable(variable);
      const bool referred = v.type.reference && v.parameter < 0;
      const bool here = v.body == id && !v.persistent && !loop.holds(v.at) && !referred;
      const bool copied = v.parameter >= 0 && !v.type.reference;
      const bool known = v.parameter >= 0 || v.scope.holds(loop.begin);
      if (here && known && !copied && can_be_attached(v)) changed.insert(variable);
    };
    for (std::size_t s = 0; s < body(id).steps.size(); ++s) {
      const Step& step = body(id).steps[s];
      if (!is_within(loop, step.range) || step.function != body(id).block) continue;
      const StepEffects& effects = effects_.of(id, static_cast<int>(s));
      for (const auto& [variable, extent] : effects.assigned) add(variable);
      for (const Call& call : effects.calls) add_given(call, add);
      for (std::size_t k = step.range.begin; k + 3 < step.range.end; ++k) {
        if (const int variable = changed_by_method(id, k); variable >= 0) add(variable);
      }
    }
    return changed;
  }

  /// Adds numbers that a function of the program takes by reference and changes.
  template <typename Add>
  void add_given(const Call& call, const Add& add) const {
    if (call.bodies.size() != 1) return;
    const Body& callee = body(call.bodies.front());
    for (const int parameter : effects_.summary(call.bodies.front()).writes) {
      const auto index = static_cast<std::size_t>(parameter);
      if (parameter < 0 || index >= call.arguments.size()) continue;
      const Type& type = model_.variable(callee.parameters[index]).type;
      if (!type.reference || type.constant || type.kind != Kind::number) continue;
      for (const auto& [variable, extent] : call.arguments[index]) {
        if (model_.variable(variable).type.kind == Kind::number) add(variable);
      }
    }
  }

  /// Returns the variable of the container whose method is called at token `at`, as in
  /// `losses.push_back(loss)`; -1 if there is no such call, or if the method is known to only read.
  int changed_by_method(int id, std::size_t at) const {
    const Reader& reader = *body(id).reader;
    if (!reader.is_name(at) || !reader.is(at + 1, ".") || !reader.is(at + 3, "(")) return -1;
    if (at > 0 && (reader.is(at - 1, ".") || reader.is(at - 1, "->") || reader.is(at - 1, "::"))) {
      return -1;
    }
    const int variable = model_.resolve(id, reader.text(at), at);
    if (variable < 0 || model_.variable(variable).type.kind != Kind::container) return -1;
    return method_purity(reader.text(at + 2)).pure ? -1 : variable;
  }

  /// Whether the step sets the variable without reading its present value.
  bool sets(int id, const Step& step, int variable) const {
    const Reader& reader = *body(id).reader;
    bool set = false;
    std::size_t mentions = 0;
    for (std::size_t k = step.range.begin; k < step.range.end; ++k) {
      if (reader.is(k, "?") || reader.is(k, "&&") || reader.is(k, "||")) return false;
      if (!reader.is_name(k) || model_.resolve(id, reader.text(k), k) != variable ||
          (k > 0 && (reader.is(k - 1, ".") || reader.is(k - 1, "->")))) {
        continue;
      }
      ++mentions;
      const bool cleared = reader.is(k + 1, ".") &&
                           (reader.is(k + 2, "clear") || reader.is(k + 2, "zero_") ||
                            reader.is(k + 2, "assign") || reader.is(k + 2, "fill_"));
      const auto around = reader.bracket_around(k);
      const bool tied = around && *around > 0 && reader.is(*around - 1, "tie");
      const std::size_t behind = reader.is(k + 1, "[") ? reader.behind(k + 1) : k + 1;
      set = set || reader.is(behind, "=") || cleared || tied;
    }
    return mentions == 1 && (set || is_given_back(id, step, variable));
  }

  /// Whether a function that the step calls sets the parameter for which it gets the variable.
  bool is_given_back(int id, const Step& step, int variable) const {
    const auto s = static_cast<int>(&step - body(id).steps.data());
    for (const Call& call : effects_.of(id, s).calls) {
      if (call.bodies.size() != 1) continue;
      const int callee = call.bodies.front();
      for (std::size_t i = 0; i < std::min(call.arguments.size(), body(callee).parameters.size());
           ++i) {
        if (!call.arguments[i].holds(variable, Extent::whole)) continue;
        std::size_t at = 0;
        const int parameter = body(callee).parameters[i];
        if (callee != id && !model_.variable(parameter).name.empty() &&
            first_use(callee, -1, parameter, at) == Use::set) {
          return true;
        }
      }
    }
    return false;
  }

  bool reads(int id, std::size_t step, int variable) const {
    const Keys& keys = effects_.of(id, static_cast<int>(step)).reads;
    return keys.holds(variable, Extent::whole) || keys.holds(variable, Extent::part);
  }

  /// The first use of the variable in the statements that `header` controls; -1 means the whole
  /// function.
  Use first_use(int id, int header, int variable, std::size_t& at) const {
    const auto& steps = body(id).steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].parent != header || steps[s].function != body(id).block) continue;
      if (sets(id, steps[s], variable)) return Use::set;
      if (reads(id, s, variable)) {
        at = steps[s].range.begin;
        return Use::read;
      }
      if (steps[s].whole == steps[s].range) continue;
      const Use inside = first_use(id, static_cast<int>(s), variable, at);
      // Loops that are never entered are rare, so a loop counts as entered.
      if (inside == Use::read || (inside == Use::set && steps[s].is_loop)) return inside;
    }
    return Use::none;
  }

  /// Where code after the loop reads the value that the loop left, before the variable is set
  /// again.
  std::optional<std::string> read_behind(int id, Range loop, int parent, int variable) const {
    const auto& steps = body(id).steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].range.begin < loop.end || steps[s].function != body(id).block) continue;
      const Variable& v = model_.variable(variable);
      if (v.parameter < 0 && !v.scope.holds(steps[s].range.begin)) continue;
      if (sets(id, steps[s], variable)) {
        if (is_around(id, steps[s].parent, parent)) return std::nullopt;
        continue;
      }
      if (reads(id, s, variable)) return place(id, steps[s].range.begin);
    }
    return std::nullopt;
  }
  /// Whether `header` is `step`, or one of the headers around it.
  bool is_around(int id, int header, int step) const {
    while (step >= 0 && step != header) step = body(id).steps[static_cast<std::size_t>(step)].parent;
    return step == header;
  }

  /// Where a caller reads the variable that it passed by reference.
  std::optional<std::string> read_by_caller(int id, int variable) const {
    const Variable& v = model_.variable(variable);
    if (v.parameter < 0) return std::nullopt;
    const auto found = q_.callers_.find(id);
    if (found == q_.callers_.end()) return std::nullopt;
    for (const auto& caller : found->second) {
      const auto index = static_cast<std::size_t>(v.parameter);
      if (index >= caller.call->arguments.size()) continue;
      const Step& step = body(caller.body).steps[static_cast<std::size_t>(caller.step)];
      for (const auto& [given, extent] : caller.call->arguments[index]) {
        const Variable& other = model_.variable(given);
        if (other.body != caller.body || other.parameter >= 0 || other.type.reference ||
            !can_be_attached(other) || is_kept(given)) {
          continue;
        }
        if (auto where = read_behind(caller.body, step.range, step.parent, given)) return where;
      }
    }
    return std::nullopt;
  }

  const Questions& q_;
  const Model& model_;
  const Effects& effects_;
  std::vector<int> depths_;   // by body
  std::set<int> mentioned_;   // by flor::checkpoints or flor::with, anywhere in the program
  std::set<int> told_;
  std::vector<Forgotten> out_;
};

std::vector<Forgotten> find_forgotten(const std::vector<SourceText>& texts) {
  constexpr std::size_t kWorkMax = 5'000'000;  // about 50 ms, since the program is waiting to begin
  std::vector<SourcePointer> sources;
  std::vector<const Source*> all;
  for (const SourceText& file : texts) {
    all.push_back(sources.emplace_back(std::make_unique<Source>(file.path, file.text)).get());
  }
  const std::vector<Change> none;
  const Questions questions(all, none, {}, kWorkMax);
  return ForgottenFinder::of(questions);
}

}  // namespace flor::sources
