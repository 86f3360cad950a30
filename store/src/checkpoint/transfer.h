// Exports a checkpoint to a file for other tools, and imports such a file.
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
  std::int64_t tensors = 0;  ///< number of items written as tensors
  std::int64_t others = 0;   ///< number of items that are not tensors, written as metadata
  std::uint64_t bytes = 0;   ///< size of the file
};

/// Writes the checkpoint as a .safetensors file with `metadata` (name to text) in its header. The
/// header also receives items that the format has no type for, so that `read_safetensors` returns
/// every item. The file appears when it is complete and durable, and replaces an existing one.
/// Throws UsageError if the format cannot hold the checkpoint, Error if the file cannot be written,
/// Damaged if the checkpoint cannot be read. If `stop` is requested, throws Error after the current
/// tensor; no file remains.
ExportReport write_safetensors(const Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata,
                               const std::stop_token& stop = {});

/// Writes items in memory in the same way.
ExportReport write_safetensors(const Snapshot& snapshot, const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata);

/// An item of a checkpoint and its name in a .pt file. An item may have several names.
struct ArchivedTensor {
  std::string name;
  std::size_t item = 0;  ///< index in `CheckpointReader::items`
};

/// Writes these tensors as a .pt archive: a dictionary from names to CPU tensors, which Python's
/// `torch.load` and libtorch's `torch::pickle_load` read. Items that are not tensors become tensors
/// of their bytes. Otherwise like `write_safetensors`.
ExportReport write_torch_archive(const Store& store, const CheckpointReader& checkpoint,
                                 std::span<const ArchivedTensor> tensors,
                                 const std::filesystem::path& file,
                                 const std::stop_token& stop = {});

/// Reads a .safetensors file written by Flor or any other program. Throws Error if the file cannot
/// be read, UsageError if it is not such a file or has a type that Flor does not know.
Snapshot read_safetensors(const std::filesystem::path& file);

struct ImportedRun {
  Run run;
  CheckpointInfo checkpoint;
};

/// Stores a file's content as a new, finished run of one epoch. If that fails, the run is dropped;
/// if the disk refuses that as well, an interrupted run without a checkpoint remains.
ImportedRun import_snapshot(Store& store, const NewRun& start, const std::filesystem::path& file,
                            const Snapshot& snapshot);

}  // namespace flor::store
