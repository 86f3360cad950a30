// Finds the variables that each statement of a program may read and change, through calls and
// aliases. A variable counts as changed unless the analysis shows that it is only read.
#pragma once

#include "sources/syntax/model.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace flor::sources {

/// How a statement uses a variable.
enum class Extent {
  whole,
  part,    ///< a member of it, which is tracked separately
  rebound  ///< it gets another value; the object it referred to is unchanged
};

class Keys {
 public:
  void add(int variable, Extent extent) { all_.insert({variable, extent}); }
  void add(const Keys& other) { all_.insert(other.all_.begin(), other.all_.end()); }
  bool holds(int variable, Extent extent) const { return all_.contains({variable, extent}); }
  bool empty() const { return all_.empty(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::set<std::pair<int, Extent>> all_;
};

struct Call {
  std::vector<int> bodies;
  std::vector<Keys> arguments;
  Keys receiver;
};

struct StepEffects {
  Keys reads, writes;
  Keys assigned;    ///< those of `writes` that an assignment operator changes
  Keys asked;       ///< objects of unknown types whose methods are called
  Keys attached;    ///< by flor::with in the header of a loop
  Keys registered;  ///< by flor::checkpoints
  std::set<int> iterated;  ///< parameters of unknown type over which a loop iterates
  std::vector<Call> calls;
  std::set<int> handed_on;  ///< bodies of functions that are named without being called
};

/// The effects of a function call on its arguments and on shared variables.
struct Summary {
  std::set<int> writes, iterates;  ///< parameter numbers; -1: the object it is called on
  /// Pairs: a variable (or a parameter, as ~number), and the parameter that it keeps afterwards.
  std::set<std::pair<int, int>> stores;
  Keys shared_reads, shared_writes;
  Keys returned;  ///< shared variables, and parameters of this function

  bool operator==(const Summary&) const;
};

class Effects {
 public:
  static constexpr std::size_t kWorkMax = 500'000'000;  ///< about 5 s

  /// Gives up after looking at about `work_max` expressions and references. The limit counts work
  /// and not time, so that it is the same on every machine.
  explicit Effects(Model& model, std::size_t work_max = kWorkMax);

  const Model& model() const { return model_; }
  /// False if the analysis gave up. Then nothing is known for sure about any statement.
  bool complete() const { return complete_; }
  /// Whether the analysis gave up, or the searches since then have used up the permitted work.
  bool is_spent() const { return !complete_ || work_ > work_max_; }
  const StepEffects& of(int body, int step) const {
    return steps_[static_cast<std::size_t>(body)][static_cast<std::size_t>(step)];
  }
  const Summary& summary(int body) const { return summaries_[static_cast<std::size_t>(body)]; }
  /// Returns these variables, and all variables that they may refer to.
  std::vector<int> reachable(const std::set<int>& variables) const;
  std::vector<int> reachable(int variable) const { return spread(refers_, {variable}); }
  /// Returns this variable, and all variables that may refer to it.
  std::vector<int> reaching(int variable) const { return spread(referred_, {variable}); }

 private:
  friend class Evaluator;

  bool round();
  void evaluate(int body);
  Summary summarize(int body) const;
  void link(int from, int to);
  const Summary& summary_for(int user, int body);
  void find_implicit();
  void changed_type(const Variable& variable);
  void know_lambda(int variable, StepEffects effects);
  std::vector<int> spread(const std::vector<std::vector<int>>& links,
                          std::vector<int> variables) const;

  Model& model_;
  std::vector<std::vector<StepEffects>> steps_;
  std::vector<Summary> summaries_;
  std::unordered_set<std::uint64_t> links_;
  std::vector<std::vector<int>> refers_, referred_;  ///< `links_` by variable
  /// Effects on shared variables of the operators, conversions, iterators and destructors of the
  /// program's own classes, which expressions call without naming them.
  Keys implicit_reads_, implicit_writes_;
  std::map<int, StepEffects> lambdas_;  ///< by variable: effects of calling the lambda it holds
  std::vector<std::unordered_set<int>> users_;  ///< by body: the bodies that used its summary
  std::vector<bool> open_;  ///< bodies to be evaluated, again or for the first time
  int evaluated_ = -1;      ///< the body being evaluated; -1: none
  bool all_open_ = false, linked_ = false, complete_ = true;
  bool settled_ = false;  ///< the last round evaluated all bodies and found nothing new
  mutable std::size_t work_ = 0;
  std::size_t work_max_;
  mutable std::vector<std::uint32_t> seen_;  ///< by variable: the last search that visited it
  mutable std::uint32_t search_ = 0;
};

}  // namespace flor::sources
