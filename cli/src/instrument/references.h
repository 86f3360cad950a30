// Names that stand for other objects: references, range-for references, structured bindings,
// iterators, and the handles of tensors and modules.
#pragma once

#include "instrument/program.h"
#include "instrument/state_type.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace flor::instrument {

/// The name that is called by the bracket at `open`, also with template arguments; nothing if none
/// is, as in (a) and static_cast<T>(a).
std::optional<std::size_t> called_name(const Reader& reader, std::size_t open);

class References {
 public:
  References(const Program& program, const StateTypes& types) : program_(program), types_(types) {}

  /// The variables whose objects, or parts of them, a reference stands for; empty for others, and
  /// where the sources do not show them.
  const std::set<int>& targets(int variable) const { return known(variable).targets; }
  /// Those and the variables whose content a copy shares with it, as that of a tensor or an
  /// iterator.
  const std::set<int>& shared(int variable) const { return known(variable).shared; }
  /// Whether the variable is a reference that these sources initialize with what they do not show.
  bool is_unknown(int variable) const { return known(variable).unknown; }

  /// Whether the variable is initialized with a lambda.
  bool is_lambda(int variable) const;

  /// Whether a change in place of the value of the expression may be one of the variable.
  bool reaches(int body, Range expression, int variable) const {
    return std::ranges::any_of(roots(body, expression, true, 0),
                               [&](int root) { return reaches(root, variable); });
  }

  /// Whether `named` is the variable, or a reference to it or a part of it.
  bool is_it(int named, int variable) const {
    return named == variable || (named >= 0 && targets(named).contains(variable));
  }
  /// Whether a change in place of what `named` refers to is one of the variable.
  bool reaches(int named, int variable) const {
    return named == variable || (named >= 0 && shared(named).contains(variable));
  }

 private:
  struct Known {
    std::set<int> targets, shared;
    bool unknown = false;
  };

  const Known& known(int variable) const;
  Known find(int variable) const;
  Range initializer(int variable) const;
  std::set<int> roots(int body, Range expression, bool copied, int depth) const;
  std::set<int> roots_of_call(int body, std::size_t name, Range inside, bool copied,
                              int depth) const;
  bool copies_content(int variable) const;

  const Program& program_;
  const StateTypes& types_;
  mutable std::map<int, Known> known_;
};

}  // namespace flor::instrument
