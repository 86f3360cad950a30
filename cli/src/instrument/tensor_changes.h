// Whether code changes a tensor, or the tensors in a container: by name, through references and
// other handles, in functions and lambdas that it calls, and in library functions.
#pragma once

#include "instrument/program.h"
#include "instrument/references.h"
#include "instrument/state_type.h"

#include <set>
#include <utility>

namespace flor::instrument {

/// Functions and methods of libtorch leave tensors alone, but for those whose names say otherwise.
/// Code that these sources do not show may change what it gets.
class TensorChanges {
 public:
  TensorChanges(const Program& program, const StateTypes& types, const References& references)
      : program_(program), types_(types), references_(references) {}

  bool in_loop(Loop loop, int variable) const;
  /// Whether a call of the function changes the variable, a parameter of it or a shared one.
  bool in_function(int body, int variable) const;
  /// The functions of these sources that run while the code in `range` does.
  std::set<int> running(int body, Range range) const;

 private:
  using Seen = std::set<std::pair<int, std::pair<std::size_t, int>>>;

  bool in(int body, Range range, int variable, Seen& seen) const;
  bool is_assigned(int body, Range range, int variable) const;
  bool by_name(int body, Range range, int variable, Seen& seen) const;
  bool by_chain(const Reader& reader, std::size_t k, std::size_t end, bool container) const;
  bool by_call(int body, std::size_t open, std::size_t at, int variable, Seen& seen) const;
  bool by_lambda(int body, const sources::Inner& lambda, std::size_t index, Seen& seen) const;
  bool by_function(int body, Range range, int variable, Seen& seen) const;
  std::vector<Range> lambdas_used(int body, Range range) const;

  const Program& program_;
  const StateTypes& types_;
  const References& references_;
};

}  // namespace flor::instrument
