// Reads event files of TensorBoard: TFRecord frames with messages of type Event.
#pragma once

#include "imports/logged_run.h"

#include <cstdint>
#include <string>

namespace flor::store {
class File;
}

namespace flor::cli {

/// True if the file begins with a TFRecord frame.
bool is_event_file(const store::File& file);

/// Adds the scalars of the file to `run` (also those that are tensors without dimensions), their
/// steps as steps of one epoch, their times, and the arguments and the end that the plug-in hparams
/// writes. Other values are counted in a remark. A frame that is damaged or cut off ends the file:
/// a remark says where. Any bytes may be read: memory is bounded by the file and by 64 MiB a frame.
/// `name` is for remarks, safe to print. Throws Error if the file cannot be read.
void read_events(const store::File& file, const std::string& name, LoggedRun& run);

}  // namespace flor::cli
