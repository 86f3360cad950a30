// Decides whether a checkpoint file or directory is complete: by its content, by whether a process
// is writing it, and by how long it has been unchanged.
#pragma once

#include "queue/job_queue.h"

#include <flor/store/digest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace flor::cli {

/// Whether a file or directory is complete, as far as its content tells.
enum class Wholeness : std::uint8_t {
  partial,  ///< bytes or files are missing
  whole,    ///< everything that it declares is there
  unknown,  ///< the content does not tell its own length
};

/// A file format: how it is recognized, and how a file is checked for completeness.
struct FileForm {
  const char* name;
  /// `head`: the first 8 bytes, or fewer in a short file. `extension`: with its dot, in lower case.
  bool (*is_of)(std::span<const std::byte> head, const std::string& extension);
  Wholeness (*examine)(int descriptor, std::uint64_t bytes);
};
/// The formats; the first that recognizes a file examines it. zip (torch.save): whole if the
/// central directory is at the end and each entry begins where the directory says. safetensors:
/// whole if the file is as long as its header says. Any other file: unknown, or partial if it is
/// empty.
std::span<const FileForm> file_forms();

/// Names of files that are written last, so that their presence tells that the directory is
/// complete.
std::span<const char* const> directory_markers();

/// Examines a file, or every file of a directory. A directory is partial if one of its files or
/// index files is, or has the name of a temporary file. Otherwise it is whole if it has a marker
/// file or an index (*.index.json). `marker`: the name of the only marker file that counts, without
/// which a directory is partial; empty: `directory_markers`. A missing path is partial.
Wholeness examine(const std::filesystem::path& path, const std::string& marker = {});

/// Whether some process has the file, or a file of the directory, open for writing. Can be known
/// only for local files that belong to this user; otherwise returns false. The calling process must
/// ignore SIGIO.
bool is_being_written(const std::filesystem::path& path);

/// The identity of a file; for a directory its device and inode, the bytes of all its files, and
/// the latest of their times. nullopt if the path is gone.
std::optional<store::FileIdentity> identify(const std::filesystem::path& path);

/// The digest of a file; for a directory, of the names, lengths and digests of all its files.
/// nullopt if reading fails or files disappear.
std::optional<store::Digest> content_digest(const std::filesystem::path& path);

/// The facts that decide whether a checkpoint is complete.
struct Observation {
  Wholeness form = Wholeness::unknown;
  bool being_written = false;
  bool published = false;                 ///< whether it was renamed to its present name and not
                                          ///< changed since
  std::chrono::nanoseconds unchanged{0};  ///< for how long it has been unchanged
};
/// Whether the checkpoint is complete. One of an unknown format must have been published, or be
/// unchanged for at least `settle`.
bool is_complete(const Observation& observation, std::chrono::nanoseconds settle);

}  // namespace flor::cli
