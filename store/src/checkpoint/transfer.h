// One checkpoint to a file that other tools read, and back.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace flor::store {

class Store;

struct ExportReport {
  std::int64_t tensors = 0;  ///< written as tensors
  std::int64_t others = 0;   ///< items that are no tensors: kept as metadata
  std::uint64_t bytes = 0;   ///< of the file
};

/// Writes the checkpoint as a .safetensors file, with `metadata` (text by name) in its header.
/// Items that the format has no type for are kept there, too, so that `read_safetensors` returns
/// every item. The file appears under its name when it is whole and durable; an existing one is
/// replaced. Throws UsageError if the form cannot hold it, Error if it cannot be written, Damaged
/// if the checkpoint cannot be read. When `stop` is requested it ends with an Error after the
/// present tensor, and leaves no file.
ExportReport write_safetensors(const Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata,
                               const std::stop_token& stop = {});

/// The same of items in memory.
ExportReport write_safetensors(const Snapshot& snapshot, const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata);

/// An item of a checkpoint under a name of a .pt file; several names may have one item.
struct ArchivedTensor {
  std::string name;
  std::size_t item = 0;  ///< index in `CheckpointReader::items`
};

/// Writes these tensors as a .pt archive: a dictionary from name to tensor, on the CPU, which
/// `torch.load` of Python and `torch::pickle_load` of libtorch read. Items that are no tensors
/// become tensors of their bytes. Otherwise like `write_safetensors`.
ExportReport write_torch_archive(const Store& store, const CheckpointReader& checkpoint,
                                 std::span<const ArchivedTensor> tensors,
                                 const std::filesystem::path& file,
                                 const std::stop_token& stop = {});

/// Reads a .safetensors file, of Flor or of any other origin. Throws Error if the file cannot be
/// read, UsageError if it is no such file or has a type that Flor does not know.
Snapshot read_safetensors(const std::filesystem::path& file);

struct ImportedRun {
  Run run;
  CheckpointInfo checkpoint;
};

/// Enters a file's content as a new run of one epoch, which is finished. Where that fails, the run
/// is dropped; where the disk refuses that, too, an interrupted one without a checkpoint is left.
ImportedRun import_snapshot(Store& store, const NewRun& start, const std::filesystem::path& file,
                            const Snapshot& snapshot);

}  // namespace flor::store
