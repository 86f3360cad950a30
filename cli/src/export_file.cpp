#include "export_file.h"

#include "output/text.h"

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

store::ExportReport export_checkpoint(const store::Store& store, std::int64_t checkpoint,
                                      const std::filesystem::path& file,
                                      const ExportOrigin& origin, const std::stop_token& stop) {
  if (is_torch(file)) return store::write_torch_archive(store, checkpoint, file, stop);
  return store::write_safetensors(store, checkpoint, file,
                                  {{"format", "pt"},
                                   {"flor.run", origin.run},
                                   {"flor.experiment", origin.experiment},
                                   {"flor.commit", origin.commit},
                                   {"flor.epoch", std::to_string(origin.epoch)},
                                   {"flor.loop", origin.loop},
                                   {"flor.saved", origin.saved},
                                   {"flor.digest", origin.digest}},
                                  stop);
}

}  // namespace flor::cli
