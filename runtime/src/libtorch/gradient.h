// Gradients in checkpoints. A gradient is kept if a program can read it or accumulate into it.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <span>
#include <string>
#include <vector>

namespace flor::libtorch {

// The words for a gradient in a layout. The form of a sparse gradient stands before the word.
inline constexpr std::string_view kNoGradient = "undefined";
inline constexpr std::string_view kZeroGradient = "zero";
inline constexpr std::string_view kKeptGradient = "kept";  ///< stored as item "grad/NAME"
/// The tensor was computed, and passes its gradient on.
inline constexpr std::string_view kPassedOn = "passed-on";

struct NamedLeaf {
  std::string name;
  at::Tensor tensor;
};

/// Writes the gradients that are not zero. Returns a description of the gradient of each leaf.
std::vector<std::string> write_gradients(const StateWriter& writer,
                                         std::span<const NamedLeaf> leaves);

/// Restores the gradient of a leaf as its description says.
void read_gradient(const StateReader& reader, const NamedLeaf& leaf,
                   const std::string& description);

}  // namespace flor::libtorch
