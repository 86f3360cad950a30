// Chooses the tensors of a checkpoint that go into a .pt file, and their names: those that
// PyTorch's load_state_dict expects.
#pragma once

#include "checkpoint/transfer.h"

#include <flor/store/checkpoint.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct StateDict {
  std::string object;  ///< its object; empty: all objects, their names before those of tensors
  std::vector<std::string> modules;  ///< modules that could have been chosen instead
  std::vector<store::ArchivedTensor> tensors;
};

/// The parameters and buffers of a registered module, tied ones under each of their names, without
/// their gradients; of another object everything in it. Without `object`, the only module; if there
/// is none, or several, all objects. Items of Flor's own are left out. Throws NotFound for an
/// object that the checkpoint does not have, UsageError for a module that holds sparse or quantized
/// tensors.
StateDict state_dict_of(const store::CheckpointReader& checkpoint, std::string_view object);

}  // namespace flor::cli
