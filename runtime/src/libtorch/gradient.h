// Gradients at checkpoints. Most programs clear them before they are used again, so that keeping
// them would be a waste; programs that accumulate them across an epoch boundary would resume wrong
// without them. Which of the two a program is shows at the first backward pass after a checkpoint.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace flor::libtorch {

// What a layout says of a gradient, in one word; before it the form of a sparse one.
inline constexpr std::string_view kNoGradient = "undefined";
inline constexpr std::string_view kZeroGradient = "zero";
inline constexpr std::string_view kOtherGradient = "other";          ///< and it is not kept
inline constexpr std::string_view kKeptGradient = "kept";            ///< as item "grad/NAME"
inline constexpr std::string_view kKeptOnceGradient = "once";        ///< the same, this time only
inline constexpr std::string_view kGradientElsewhere = "gradients";  ///< by flor::gradients

struct NamedLeaf {
  std::string name;
  at::Tensor tensor;
};

/// Describes the gradient of each leaf, writes those that are to be kept, and has the next backward
/// pass look at those that are not.
std::vector<std::string> write_gradients(const StateWriter& writer,
                                         std::span<const NamedLeaf> leaves);

/// From now on all gradients are written, or again only those that are carried.
void keep_all_gradients(bool keep) noexcept;

/// Restores the gradient of a leaf from its description.
void read_gradient(const StateReader& reader, const NamedLeaf& leaf,
                   const std::string& description);

}  // namespace flor::libtorch
