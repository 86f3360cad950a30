#include "export/export_file.h"

#include "export/state_dict.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

namespace flor::cli {
namespace {

bool is_torch(const std::filesystem::path& file) {
  return file.extension() == ".pt" || file.extension() == ".pth";
}

}  // namespace

void check_export_name(const std::filesystem::path& file) {
  if (is_torch(file) || file.extension() == ".safetensors") return;
  throw UsageError(
      fmt::format("'{}' ends in neither .safetensors nor .pt: the ending chooses the format",
                  printable(file.string())));
}

ExportedFile export_checkpoint(const store::Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file, const ExportOrigin& origin,
                               std::string_view object, const std::stop_token& stop) {
  if (is_torch(file)) {
    const store::CheckpointReader reader(store, checkpoint);
    StateDict dict = state_dict_of(reader, object);
    return {store::write_torch_archive(store, reader, dict.tensors, file, stop),
            std::move(dict.modules)};
  }
  if (!object.empty()) {
    throw UsageError("--object is for .pt files: a .safetensors file has the whole checkpoint");
  }
  return {store::write_safetensors(store, checkpoint, file,
                                   {{"format", "pt"},
                                    {"flor.run", origin.run},
                                    {"flor.experiment", origin.experiment},
                                    {"flor.commit", origin.commit},
                                    {"flor.epoch", std::to_string(origin.epoch)},
                                    {"flor.loop", origin.loop},
                                    {"flor.saved", origin.saved},
                                    {"flor.digest", origin.digest}},
                                   stop)};
}

}  // namespace flor::cli
