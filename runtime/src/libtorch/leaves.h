// The tensors of a module of C++ or TorchScript: its parameters and buffers with their names.
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
  std::vector<int> origins;    ///< index of the first leaf that is the same tensor, or -1
};

LayoutEntry describe_leaf(std::string kind, const NamedLeaf& leaf);

/// Collects the leaves, and finds out which of them are the same tensor.
Leaves make_leaves(std::vector<NamedLeaf> parameters, std::vector<NamedLeaf> buffers);

/// Writes each tensor once, and the gradients that are to be kept. Returns the descriptions of the
/// tensors, to which the caller may append.
std::vector<LayoutEntry> write_leaves(const Leaves& leaves, const StateWriter& writer);

/// Restores the tensors in place. Throws, having changed nothing, if they are not the parameters
/// and buffers that `entries` describe.
void read_leaves(const Leaves& leaves, const std::vector<LayoutEntry>& entries,
                 const StateReader& reader);

}  // namespace flor::libtorch
