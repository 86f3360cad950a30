// Chooses the tensors of a checkpoint that go into a .pt file, and gives them the names that
// PyTorch's load_state_dict expects.
#pragma once

#include "checkpoint/transfer.h"

#include <flor/store/checkpoint.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct StateDict {
  std::string object;  ///< the exported object; empty: all objects, whose names then prefix those
                       ///< of the tensors
  std::vector<std::string> modules;  ///< other modules that could have been exported instead
  std::vector<store::ArchivedTensor> tensors;
};

/// The parameters and buffers of a registered module without their gradients, a tied tensor under
/// each of its names; of another kind of object everything in it. Without `object`, takes the only
/// module, or all objects if there is no module or several. Internal items of Flor are left out.
/// Throws NotFound for an object that the checkpoint does not have, UsageError for a module with
/// sparse or quantized tensors.
StateDict state_dict_of(const store::CheckpointReader& checkpoint, std::string_view object);

}  // namespace flor::cli
