// The tensors of a module, of C++ or of TorchScript: its parameters and buffers by their names.
#pragma once

#include "libtorch/gradient.h"
#include "protocol/module_layout.h"

#include <flor/state.h>

#include <cstddef>
#include <string>
#include <vector>

namespace flor::libtorch {

struct Leaves {
  std::vector<NamedLeaf> all;  ///< parameters, then buffers
  std::size_t parameters = 0;  ///< how many of the leaves are parameters
  std::vector<int> origins;    ///< index of the first one that is the same tensor, or -1
};

LayoutEntry describe_leaf(std::string kind, const NamedLeaf& leaf);

/// Determines which of them are one tensor.
Leaves make_leaves(std::vector<NamedLeaf> parameters, std::vector<NamedLeaf> buffers);

/// Writes each tensor once, and the gradients that are to be kept; returns their descriptions, to
/// which a caller may append.
std::vector<LayoutEntry> write_leaves(const Leaves& leaves, const StateWriter& writer);

/// Fills the tensors in place. Throws, without having changed anything, unless they are those that
/// the descriptions of parameters and buffers among `entries` name.
void read_leaves(const Leaves& leaves, const std::vector<LayoutEntry>& entries,
                 const StateReader& reader);

}  // namespace flor::libtorch
