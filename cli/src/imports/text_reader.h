// Reads logs that are text: what a program printed, and the numbers in it.
#pragma once

#include "imports/logged_run.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {
class File;
}

namespace flor::cli {

struct TextQuestion {
  /// Regular expressions with the number of the epoch and of the step in brackets. Empty: an epoch
  /// is found where lines say `Epoch 3`, `epoch=3` or `[Epoch: 3/10]`, and no step.
  std::string epoch = {}, step = {};
  /// Regular expressions with the number of a metric in brackets, as of flor extract.
  std::vector<std::string> metrics = {};
  /// How many bytes of the text are kept: the first and the last half of so many.
  std::uint64_t kept_bytes = std::uint64_t{16} << 20;
};

/// Adds the text as what the run printed, at the places that its lines tell, and the numbers found
/// in all of it, also in what is not kept. Bytes that are not UTF-8 are kept as they are. Throws
/// UsageError if the file is no text, or a regular expression is wrong or finds no number.
void read_text(const store::File& file, const TextQuestion& question, LoggedRun& run);

}  // namespace flor::cli
