// Exports a run as an event file for TensorBoard.
#pragma once

#include "export/value_rows.h"

#include <cstdint>
#include <filesystem>

namespace flor::cli {

struct TensorBoardReport {
  std::filesystem::path file;
  std::int64_t events = 0;    ///< events with values
  std::int64_t left_out = 0;  ///< values for which TensorBoard has no form: tensors
};

/// Writes the run into a directory of its own below `directory`, so that several runs may share
/// that. The name and the content of the file depend on the run alone: a second export replaces the
/// first.
///
/// Numbers become scalars, histograms histograms, images images, texts, JSON and tables texts; the
/// arguments are a text, too. A metric's tag is its name, followed by the loop if it was logged in
/// several. The step is the number of the step in its nested loop, counted over all epochs, or the
/// epoch for values logged in the main loop, or the number of the value if places have several; the
/// time is that of `Course::clock_us`. Throws Error if the file cannot be written.
TensorBoardReport write_event_file(const store::Store& store, const store::Run& run,
                                   const ExportQuestion& question,
                                   const std::filesystem::path& directory, std::int64_t now_us);

}  // namespace flor::cli
