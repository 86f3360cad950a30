// Variables that a loop leaves to its next iteration, and to the code after it.
#pragma once

#include "instrument/program.h"
#include "instrument/references.h"
#include "instrument/state_type.h"
#include "instrument/tensor_changes.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::instrument {

struct CarriedVariable {
  int variable = -1;
  StateType type;
};

/// Variables are changed in doubt, with one exception: functions and methods of libtorch leave the
/// tensors alone that they get, but for those whose names say otherwise.
class Carried {
 public:
  Carried(const Program& program, const StateTypes& types)
      : program_(program),
        types_(types),
        references_(program, types),
        tensors_(program, types, references_) {}
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;

  /// The variables that the loop changes and that exist outside of it, in the order of their
  /// declarations: locals and parameters of the function, and members of its object.
  std::vector<CarriedVariable> changed(Loop loop) const;
  /// Those of them that the next iteration, or code after the loop, may read.
  std::vector<CarriedVariable> of_main(Loop loop) const;
  /// Global variables, and variables that functions keep, that the loop changes.
  std::vector<int> hidden(Loop loop) const;
  /// Objects that the loop changes and that are not known: references to unknown ones, and
  /// variables that these sources do not declare.
  std::vector<int> unknown(Loop loop) const;
  /// Members of modules that the loop changes and that no checkpoint of a module has.
  std::vector<int> unsaved_members(Loop loop) const;

  /// The functions of these sources that run while the loop does.
  std::set<int> running(Loop loop) const {
    return tensors_.running(loop.body, program_.step(loop).whole);
  }

  /// Whether code of the function in `region` after the loop may read what the loop leaves in the
  /// variable.
  bool is_read_after(Loop loop, int variable, Range region) const;

  const References& references() const { return references_; }
  /// Whether an integer, or the value of an expression, stays what it is while the loop runs.
  bool is_invariant(Loop loop, Range expression) const;
  /// Whether the body of the loop may assign to its own variable.
  bool assigns(Loop loop, int variable) const;

 private:
  enum class Use { none, read, set };

  std::set<int> written(Loop loop) const;
  std::set<int> drawn_from(Loop loop) const;
  void add_owners(Loop loop, std::set<int>& changing) const;
  bool has_changing_member(std::string_view own, const std::set<int>& changing, int depth) const;
  bool is_changed(Loop loop, int variable, StateKind kind) const;
  bool is_tensor_changed(Loop loop, int variable) const;
  bool is_trained(Loop loop, int variable) const;
  bool is_made_of(int object, int variable, int depth) const;
  bool is_visible(Loop loop, const Variable& variable) const;
  bool is_named_otherwise(Loop loop, int id) const;
  bool names(const sources::Keys& keys, int variable) const;
  bool is_in_macro(std::string_view macro, int variable, std::set<std::string_view>& seen) const;
  bool is_frozen(Loop loop, int id) const;
  bool reads_in_function(std::string_view name, int variable) const;
  bool is_read_otherwise(int body, int step, int variable) const;
  bool touches(int body, int step, int variable) const;
  bool sets(int body, int step, int variable) const;
  Use first_use(int body, int header, int variable) const;
  bool is_used_below(int body, int header, int variable) const;

  const Program& program_;
  const StateTypes& types_;
  References references_;
  TensorChanges tensors_;
};

}  // namespace flor::instrument
