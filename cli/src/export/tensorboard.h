// Exports a run as an event file for TensorBoard.
#pragma once

#include "export/value_rows.h"

#include <cstdint>
#include <filesystem>

namespace flor::cli {

struct TensorBoardReport {
  std::filesystem::path file;
  std::int64_t events = 0;    ///< events with values
  std::int64_t left_out = 0;  ///< values without a form in TensorBoard: tensors
};

/// Writes the run into its own subdirectory of `directory`, so that several runs can share
/// `directory`. The name and the content of the file depend on the run alone: a second export
/// replaces the first.
///
/// Numbers become scalars, histograms become histograms, images become images; texts, JSON and
/// tables become texts, and so do the arguments. A metric's tag is its name, with the loop appended
/// if it was logged in several loops. The step is the number of the step in its nested loop,
/// counted over all epochs; for values of the main loop it is the epoch; if a place has several
/// values, it is the number of the value. The time is that of `Course::clock_us`. Throws Error if
/// the file cannot be written.
TensorBoardReport write_event_file(const store::Store& store, const store::Run& run,
                                   const ExportQuestion& question,
                                   const std::filesystem::path& directory, std::int64_t now_us);

}  // namespace flor::cli
