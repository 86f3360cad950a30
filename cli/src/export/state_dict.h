// What of a checkpoint goes into a .pt file, and under which names: those by which PyTorch's
// load_state_dict asks.
#pragma once

#include "checkpoint/transfer.h"

#include <flor/store/checkpoint.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct StateDict {
  std::string object;  ///< whose it is; empty: of all objects, their names before those of tensors
  std::vector<std::string> modules;  ///< that one could be written of instead
  std::vector<store::ArchivedTensor> tensors;
};

/// The parameters and buffers of a registered module, tied ones under each of their names, and not
/// their gradients; of another object all that it holds. Without `object` the only module that
/// there is; where there is none, or several, all objects. What Flor keeps for itself is left out.
/// Throws NotFound for an object that the checkpoint does not have, UsageError for a module that
/// holds sparse or quantized tensors.
StateDict state_dict_of(const store::CheckpointReader& checkpoint, std::string_view object);

}  // namespace flor::cli
