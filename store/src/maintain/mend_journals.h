// Journals that were damaged: what is sound in them stays, and what the index still knows of their
// runs is written down again, so that an index that is made from them has it, too.
#pragma once

#include "database/database.h"
#include "file/paths.h"
#include "journal/journal_reader.h"
#include "maintain/repair.h"

#include <filesystem>

namespace flor::store {

/// Those that no process writes. To be called with the maintenance lock, when all else is repaired.
/// Wherever it is stopped, nothing is lost, and the next call does the rest.
void mend_journals(Database& database, RepairReport& report);

/// What the index has of a journal.
struct KnownJournal {
  JournalPosition end;  ///< up to where it has entered it
  bool closed = false;  ///< its writer was seen to have ended
};
/// The end of a journal that no process writes is damaged or gone, which looks like one whose
/// writer was killed, and its copy does not have it. `read`: to its end.
bool lacks_end(const JournalReader& read, const std::filesystem::path& journal,
               const KnownJournal& known);

/// The directory for what was damaged.
void make_quarantine(const Paths& paths);

}  // namespace flor::store
