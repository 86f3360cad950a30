// A journal whose writer has ended, rewritten with the same meaning in fewer frames: the values of
// a series in blocks as large as they may be, and each fact about loops once.
// docs/internals/format.md has the rules.
#pragma once

#include "file/filesystem.h"
#include "journal/journal_reader.h"

#include <cstdint>
#include <filesystem>

namespace flor::store {

struct Sealed {
  JournalPosition end;           ///< of the new file
  JournalPosition read;          ///< up to where the journal was read
  std::uint64_t bytes_read = 0;  ///< of the journal
};

/// Writes the events of `journal` to `made`, which must not exist, reads it again and compares
/// both, and makes it durable. Throws Damaged where the journal is, or where the two differ in
/// meaning, and Error where the disk refuses; then there is no `made`. Takes some ten megabytes of
/// memory.
Sealed seal_journal(Filesystem& filesystem, const std::filesystem::path& journal,
                    const std::filesystem::path& made);

}  // namespace flor::store
