// How a tensor is connected to libtorch's gradient graph: how this is recorded, and how a restored
// tensor gets the same connection.
#pragma once

#include <flor/state/state_io.h>

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace flor::libtorch {

/// Whether the tensor itself was made to require a gradient. libtorch's requires_grad() is also
/// true for a view made of a parameter while gradients were off, although it never receives one.
bool trains(const at::Tensor& tensor);

Lineage lineage_of(const at::Tensor& tensor);

/// Makes a view of `base` with the relation `standing`. Sizes, strides and offset count elements of
/// `base`.
at::Tensor view_of(const at::Tensor& base, Standing standing, at::IntArrayRef sizes,
                   at::IntArrayRef strides, std::int64_t offset);

/// Makes a restored tensor require a gradient if it was `trained` or `computed`. The sources of a
/// computed tensor are lost: it can be read, but a backward pass that reaches it throws an error
/// that explains this, with `name`.
void take_part(const at::Tensor& tensor, bool trained, bool computed, const std::string& name);

}  // namespace flor::libtorch
