// The place of a tensor in libtorch's graph of gradients: how it is written down, and how a
// restored tensor gets the same place.
#pragma once

#include <flor/state/state_io.h>

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace flor::libtorch {

/// The tensor itself was told to require a gradient. libtorch says that of views, too, that were
/// made of a parameter while gradients were switched off, although no gradient ever comes to them.
bool trains(const at::Tensor& tensor);

Lineage lineage_of(const at::Tensor& tensor);

/// A view of `base`, in elements of it, in the relation that `standing` says.
at::Tensor view_of(const at::Tensor& base, Standing standing, at::IntArrayRef sizes,
                   at::IntArrayRef strides, std::int64_t offset);

/// Lets a restored tensor require a gradient if it was `trained` or `computed`. The sources of a
/// computed one are lost: it can be read, but a backward pass that comes to it throws an error that
/// says so and names it.
void take_part(const at::Tensor& tensor, bool trained, bool computed, const std::string& name);

}  // namespace flor::libtorch
