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

/// The origin of a checkpoint, as written into a .safetensors file.
struct ExportOrigin {
  std::string run;  ///< key of the run
  std::string experiment, commit;
  std::int64_t epoch = 0;
  std::string loop = {};   ///< the nested loop at whose end the checkpoint was taken; empty: at a
                           ///< boundary
  std::string saved = {};  ///< name of a saved checkpoint, or empty
  std::string digest = {};
};

/// Throws UsageError if the file name does not end in .pt or .pth (archives of PyTorch) or
/// .safetensors.
void check_export_name(const std::filesystem::path& file);
struct ExportedFile {
  store::ExportReport report;
  std::vector<std::string> modules = {};  ///< if there are several, `object` could have chosen one
                                          ///< of these
};

/// Writes the checkpoint to `file`; the extension chooses the format. A .safetensors file has the
/// whole checkpoint, a .pt file the state dictionary of `object` (export/state_dict.h). Throws
/// whatever the writers in checkpoint/transfer.h throw.
ExportedFile export_checkpoint(const store::Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file, const ExportOrigin& origin,
                               std::string_view object = {}, const std::stop_token& stop = {});

}  // namespace flor::cli
