// Sealing: a journal whose writer has ended is rewritten with the same meaning in fewer frames. The
// values of a series are merged into the largest possible blocks, and repeated facts about loops
// into one. docs/internals/format.md has the rules.
#pragma once

#include "file/filesystem.h"
#include "journal/journal_reader.h"

#include <cstdint>
#include <filesystem>

namespace flor::store {

struct Sealed {
  JournalPosition end;           ///< end of the sealed file
  JournalPosition read;          ///< how far the journal was read
  std::uint64_t bytes_read = 0;  ///< number of bytes of the journal that were read
};

/// Writes the events of `journal` to `made`, which must not exist, reads it again, compares both,
/// and makes it durable. Throws Damaged if the journal is damaged or the two differ in meaning, and
/// Error if the disk fails; `made` does not exist then. Needs some ten megabytes of memory.
Sealed seal_journal(Filesystem& filesystem, const std::filesystem::path& journal,
                    const std::filesystem::path& made);

}  // namespace flor::store
