// Decides whether a checkpoint is complete: by its own form, by whether a process is writing it,
// and by how long it has been unchanged.
#pragma once

#include "queue/jobs.h"

#include <flor/store/digest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace flor::cli {

/// Completeness, as the content of a file or of a directory shows it.
enum class Wholeness : std::uint8_t {
  partial,  ///< bytes or files are missing
  whole,    ///< everything that it declares is there
  unknown,  ///< it does not declare its content
};

/// How a form is recognised, and how a file of it is examined.
struct FileForm {
  const char* name;
  /// `head`: the first 8 bytes, or fewer. `extension`: with its dot, lower case.
  bool (*is_of)(std::span<const std::byte> head, const std::string& extension);
  Wholeness (*examine)(int descriptor, std::uint64_t bytes);
};
/// The first that recognises a file examines it. zip: written by torch.save; whole if its central
/// directory is at its end and each entry begins where that says. safetensors: whole if its length
/// is what its header says. Any other file is unknown, or partial if it has no bytes.
std::span<const FileForm> file_forms();

/// Files in a directory whose presence says that all others are complete.
std::span<const char* const> directory_markers();

/// Examines the file, or every file of the directory. A directory is whole if it has a marker, or
/// an index (*.index.json) all of whose files are whole; and partial if one of its files is, or one
/// is named like a temporary one. `marker`: a further name of a marker; if given the others do not
/// count. A missing path is partial.
Wholeness examine(const std::filesystem::path& path, const std::string& marker = {});

/// Whether some process has the file, or one of the directory, open for writing. Known only of
/// local files that belong to this user; false for others. The calling process must ignore SIGIO.
bool is_being_written(const std::filesystem::path& path);

/// Identity of a file; for a directory, its own device and inode, the bytes of all its files, and
/// the latest of their times. Nothing if it is gone.
std::optional<store::FileIdentity> identify(const std::filesystem::path& path);

/// Digest of a file; for a directory, of the names, lengths and digests of all its files. Nothing
/// after read errors, or if files disappear.
std::optional<store::Digest> content_digest(const std::filesystem::path& path);

/// Observations of a checkpoint that may be complete.
struct Observation {
  Wholeness form = Wholeness::unknown;
  bool being_written = false;
  bool published = false;                 ///< it was renamed to its name, and not changed since
  std::chrono::nanoseconds unchanged{0};  ///< for how long
};
/// Unknown forms need to be published, or unchanged for `settle`.
bool is_complete(const Observation& observation, std::chrono::nanoseconds settle);

}  // namespace flor::cli
