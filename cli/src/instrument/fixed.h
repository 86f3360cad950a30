// Whether an expression in the header of a loop gives the same value at each of its iterations,
// and whether more than the statements that name a variable may change it.
#pragma once

#include "instrument/carried.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::instrument {

class Fixed {
 public:
  Fixed(const Program& program, const StateTypes& types, const Carried& carried, Loop loop);

  /// Whether an expression that was found to be arithmetic keeps its value while the loop runs.
  bool is_fixed(Range expression) const;
  /// Whether the body of the loop may change the variable that its header declares: by an
  /// assignment, or by a reference, a pointer, a lambda or a macro.
  bool is_counter_changed(int variable) const;
  /// Whether a pointer, or an element of a container of them, may get another object while the loop
  /// runs.
  bool is_rebound(int variable) const;
  /// Whether a local pointer may be null where the loop begins.
  bool is_maybe_null(int variable) const;
  /// The replacement of a macro of these sources; nothing if the name is no macro. Empty: the
  /// macro has arguments, or several definitions.
  std::optional<std::vector<std::string_view>> replacement(std::string_view name) const;

 private:
  struct Macro {
    std::string_view name;
    bool function = false;
    std::vector<std::string_view> words;
  };

  void find_macros();
  std::set<int> moved() const;
  bool is_bound(std::size_t at, bool parts) const;
  bool is_reference_made_of(std::size_t at, bool parts) const;
  bool is_lambda(const sources::Inner& inner) const;
  bool is_in_stored_lambda(std::size_t at) const;
  bool is_macro_changing(std::size_t at) const;
  bool is_rebound(int body, Range range, int variable, std::set<std::pair<int, int>>& seen) const;
  bool is_rebound_at(int body, std::size_t at) const;
  bool is_handed_over(int body, std::size_t at) const;
  bool refers_to_argument(int body, std::size_t open, std::size_t index) const;
  bool is_object_referring(int variable, std::size_t index) const;
  bool is_declared_to_refer(std::string_view name, std::size_t index) const;
  bool refers(const Reader& reader, Range parameters, std::size_t index) const;
  bool is_in_macro(std::string_view name) const;
  std::vector<std::size_t> mentions(Range range, int variable) const;
  bool is_assigned_in_lambda(int variable) const;
  bool may_move(int variable, std::size_t at, const std::set<int>& moving) const;

  const Program& program_;
  const StateTypes& types_;
  const Carried& carried_;
  Loop loop_;
  const Body& body_;
  const Reader& reader_;
  Range whole_, header_;
  std::vector<Macro> macros_;
};

}  // namespace flor::instrument
