// Gradients at checkpoints: a gradient that a program can read or accumulate into is kept.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <span>
#include <string>
#include <vector>

namespace flor::libtorch {

// The words for a gradient in a layout; before them the form of a sparse one.
inline constexpr std::string_view kNoGradient = "undefined";
inline constexpr std::string_view kZeroGradient = "zero";
inline constexpr std::string_view kKeptGradient = "kept";  ///< as item "grad/NAME"
inline constexpr std::string_view kPassedOn = "passed-on";  ///< of a tensor that was computed

struct NamedLeaf {
  std::string name;
  at::Tensor tensor;
};

/// Writes the gradients that are not zero, and describes that of each leaf.
std::vector<std::string> write_gradients(const StateWriter& writer,
                                         std::span<const NamedLeaf> leaves);

/// Restores the gradient of a leaf from its description.
void read_gradient(const StateReader& reader, const NamedLeaf& leaf,
                   const std::string& description);

}  // namespace flor::libtorch
