// Copies of tensors from devices to the host, without stopping the training.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <cstddef>
#include <memory>

namespace flor::libtorch {

/// Enqueues a copy to `into`, which is pinned host memory, on the stream that computes the tensor.
/// So later writes to the tensor come after the copy.
std::shared_ptr<PendingCopy> copy_from_device(const at::Tensor& tensor, std::byte* into);

/// Whether a copy on the device pays off; small tensors are copied to the host in less time.
bool is_worth_staging(const at::Tensor& tensor);

/// Copies the tensor on its device, which is fifty times as fast as over the bus. From there it is
/// copied to the host during the training, on a separate stream. `last` is an earlier copy, or
/// null. Returns null if less than an eighth of the device's memory would stay free for the
/// training, or less than a quarter at the first copy of a tensor.
std::shared_ptr<StagedCopy> stage_on_device(const at::Tensor& tensor,
                                            const std::shared_ptr<StagedCopy>& last);

}  // namespace flor::libtorch
