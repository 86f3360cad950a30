// Mends damaged journals: keeps their undamaged events, and adds what the index still knows about
// their runs, so that an index built from the journals will have it.
#pragma once

#include "database/database.h"
#include "file/paths.h"
#include "index/refresh.h"
#include "journal/journal_reader.h"
#include "maintain/repair.h"

#include <filesystem>

namespace flor::store {

/// Mends journals that no process writes. Call it with the maintenance lock, after all other
/// repairs. It may be interrupted at any point without loss; the next call does the rest.
void mend_journals(Database& database, RepairReport& report);

/// True if the end of a journal that no process writes is damaged or gone, so that its writer seems
/// to have been killed, and its copy lacks the end, too. `read` must have reached the end of the
/// journal.
bool lacks_end(const JournalReader& read, const std::filesystem::path& journal,
               const KnownJournal& known);

/// Creates the directory for damaged files.
void make_quarantine(const Paths& paths);

}  // namespace flor::store
