// Evaluates the expressions of one statement: which variables they read, change, or may refer to.
#pragma once

#include "sources/effects/effects.h"

#include <set>
#include <string_view>
#include <vector>

namespace flor::sources {

class Evaluator {
 public:
  Evaluator(Effects& effects, int body);
  StepEffects evaluate(const Step& step);

 private:
  /// The value of an expression: the variables that it names or may refer to.
  struct Value {
    Keys keys;
    bool tensors = false;  ///< a container of tensors
    Kind kind = Kind::unknown;
    std::string_view own = {};
    bool lvalue = false, constant = false, torch = false;
    bool restarts = false;
    bool taken = false;  ///< the address of the object, or a lambda that captures it
    bool literal = false;
    bool through = false;  ///< the object that a name refers to, not the name itself: *p, f(), v[i]
    int lambda = -1;     ///< the variable that holds the lambda; -1: none
  };
  struct Name {
    std::size_t at = 0;  ///< position of its last component
    std::vector<std::string_view> qualifiers;
    std::size_t end = 0;  ///< after the name and its template arguments
  };

  // Evaluation of expressions, in effect_evaluator.cpp.
  Value expression(Range range);
  Value operand(std::size_t& k, std::size_t end);
  Value group(std::size_t& k, std::size_t end);
  Value lambda(const Inner& inner);
  Value cast(std::size_t& k, std::size_t end);
  Value self() const;
  Value postfix(Value value, std::size_t& k, std::size_t end);
  Value member(Value value, std::size_t& k, std::size_t end);
  bool is_callable_member(const Value& value, std::string_view name) const;
  Value named(std::size_t& k, std::size_t end);
  Value variable_value(int id, std::size_t at);
  Value declaration(int id, std::size_t& k, std::size_t end);
  bool is_declared_elsewhere(int id) const;
  bool is_elsewhere(const Name& name) const;
  bool is_of_library(const Name& name) const;
  bool has_own_literal(Range range) const;
  bool is_constant_name(std::string_view word) const;
  void leave_sources();
  /// Which kind of code may keep an argument of a call.
  enum class Keeper { torch, standard, other };
  Keeper keeper_of(const Value& object) const;
  void add_pasted(Range macro, const std::vector<Token>& tokens, std::size_t at, Value& value);
  bool may_leave(const std::vector<Token>& tokens, std::size_t k) const;
  Value without_outside(const Value& value) const;
  void keep_outside(const Value& value);
  bool is_of_other_library(Range types) const;
  void ask(const Value& object);
  void know_parts(std::size_t close, std::string_view own);
  void initialize(int id, const Value& value);
  void initializers(Range list);
  void make(int id, const std::vector<Value>& values);
  void assign(const Value& target, const Value& value, bool through);
  void iterate(const Value& range);
  Name name_at(std::size_t k, std::size_t end) const;
  bool is_type_here(std::size_t k) const;
  bool is_own_operator(std::string_view symbol);

  // Calls, in evaluator_calls.cpp.
  std::vector<Value> arguments(Range range);
  Value call(const Name& name, Range parentheses);
  Value call_flor(std::string_view name, Range parentheses);
  Value call_library(const Name& name, const std::vector<Value>& values, Range parentheses);
  Value call_method(Value receiver, std::string_view name, Range parentheses);
  Value call_variable(const Value& callee, Range parentheses);
  Value call_bodies(const std::vector<int>& bodies, const std::vector<Value>& values,
                    const Value* receiver);
  void apply(int body, const std::vector<Value>& values, const Value* receiver);
  Value construct(std::string_view own, const std::vector<Value>& values,
                  const Value* place = nullptr);
  Value expand(std::string_view macro, std::size_t at, std::set<std::string_view>& seen);
  std::vector<int> methods(const Value& receiver, std::string_view name) const;
  /// Records that unknown code gets these values: it may change them, and store them in each other.
  void hand_over(const std::vector<Value>& values, const Value* receiver, Keeper keeper);

  const Summary& summary_of(int body) { return effects_.summary_for(body_, body); }
  void read(const Value& value);
  void use(std::string_view own, int depth);
  void mutate(const Value& value);
  void refer(const Value& from, const Value& to);
  static bool may_be_kept(const Value& value, bool torch);
  static void join(Value& all, const Value& one);
  static Value of_kind(Kind kind);

  Effects& effects_;
  Model& model_;
  int body_;
  const Body& function_;
  const Reader& reader_;
  StepEffects out_;
  int depth_ = 0;
};

}  // namespace flor::sources
