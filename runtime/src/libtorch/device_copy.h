// Copies of tensors from devices that do not stop the training.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <cstddef>
#include <memory>

namespace flor::libtorch {

/// Enqueues a copy to `into`, pinned memory, on the stream on which the tensor is computed: later
/// writes cannot overtake it, and wait for it.
std::shared_ptr<PendingCopy> copy_from_device(const at::Tensor& tensor, std::byte* into);

/// Small tensors take longer to stage than to copy.
bool is_worth_staging(const at::Tensor& tensor);

/// Copies the tensor on its device, which is fifty times as fast as over the bus; from there it is
/// brought to the host beside the training, on a stream of its own. `last`: an earlier copy, or
/// null. Null where less than an eighth of the device's memory would be free (a quarter, for the
/// first copy of a tensor): it belongs to the training.
std::shared_ptr<StagedCopy> stage_on_device(const at::Tensor& tensor,
                                            const std::shared_ptr<StagedCopy>& last);

}  // namespace flor::libtorch
