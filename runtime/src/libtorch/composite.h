// Tensors that consist of several tensors or numbers: sparse ones of indices and values, quantized
// ones of integers and their scale.
#pragma once

#include "protocol/module_layout.h"

#include <flor/state.h>

#include <ATen/ATen.h>

#include <string>

namespace flor::libtorch {

bool is_composite(const at::Tensor& tensor);

/// Writes the parts as items, and returns the kind of the tensor as one word. Throws an error that
/// names the tensor if libtorch cannot provide the parts.
std::string write_composite(const StateWriter& writer, const at::Tensor& tensor);

/// Makes a new tensor of that kind, which is filled before the restore as a whole returns.
at::Tensor read_composite(const StateReader& reader, const std::string& kind,
                          const at::Tensor& present, const LayoutEntry& entry);

}  // namespace flor::libtorch
