// Exports a checkpoint of a run as a file for other tools.
#pragma once

#include "checkpoint/transfer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The origin that a .safetensors file names.
struct ExportOrigin {
  std::string run;  ///< key
  std::string experiment, commit;
  std::int64_t epoch = 0;
  std::string loop = {};   ///< nested loop at whose end it was taken, if any
  std::string saved = {};  ///< name of a saved checkpoint
  std::string digest = {};
};

/// Accepts .pt and .pth, archives of PyTorch, and .safetensors; UsageError for any other ending.
void check_export_name(const std::filesystem::path& file);
struct ExportedFile {
  store::ExportReport report;
  std::vector<std::string> modules = {};  ///< several, of which `object` could have chosen one
};

/// Writes the file; the ending of its name chooses the form. A .safetensors file has the whole
/// checkpoint, a .pt file the state dictionary of `object` (export/state_dict.h). Throws what the
/// writers of checkpoint/transfer.h throw.
ExportedFile export_checkpoint(const store::Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file, const ExportOrigin& origin,
                               std::string_view object = {}, const std::stop_token& stop = {});

}  // namespace flor::cli
