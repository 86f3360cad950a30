// Is a checkpoint all there? What its own form says, whether somebody is writing it, and for how
// long nobody has.
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

/// What the content of a file or of a directory says of itself.
enum class Wholeness : std::uint8_t {
  partial,  ///< bytes or files are missing
  whole,    ///< everything is there that it says is in it
  unknown,  ///< it does not say what is in it
};

/// What a form is recognised by, and how it is examined.
struct FileForm {
  const char* name;
  /// `head`: the first 8 bytes, or fewer. `extension`: with its dot, lower case.
  bool (*is_of)(std::span<const std::byte> head, const std::string& extension);
  Wholeness (*examine)(int descriptor, std::uint64_t bytes);
};
/// The first that recognises a file examines it. zip: what torch.save writes; whole if its central
/// directory is at its end and each entry begins where that says. safetensors: whole if its length
/// is what its header says. Any other is unknown, or partial if it has no bytes.
std::span<const FileForm> file_forms();

/// Files in a directory whose presence says that all others are complete.
std::span<const char* const> directory_markers();

/// Whether the file, or every file of the directory, is there. A directory is whole if it has a
/// marker, or an index (*.index.json) all of whose files are whole; and partial if one of its files
/// is, or one is named like a temporary one. `marker`: a further name of a marker; if given the
/// others do not count. What is gone is partial.
Wholeness examine(const std::filesystem::path& path, const std::string& marker = {});

/// Whether some process has the file, or one of the directory, open for writing. Only known of
/// local files that belong to this user; false of others. A process that asks must ignore SIGIO.
bool is_being_written(const std::filesystem::path& path);

/// Of a directory: its own device and inode, the bytes of all its files, the latest of their times.
/// Nothing if it is gone.
std::optional<store::FileIdentity> identify(const std::filesystem::path& path);

/// Of a file: as of an item. Of a directory: of the names, lengths and digests of all its files.
/// Read errors and files that disappear give nothing.
std::optional<store::Digest> content_digest(const std::filesystem::path& path);

/// What is known of a checkpoint that may be complete.
struct Observation {
  Wholeness form = Wholeness::unknown;
  bool being_written = false;
  bool published = false;                 ///< it was renamed to its name, and not changed since
  std::chrono::nanoseconds unchanged{0};  ///< for how long
};
/// Unknown forms need to be published, or unchanged for `settle`.
bool is_complete(const Observation& observation, std::chrono::nanoseconds settle);

}  // namespace flor::cli
