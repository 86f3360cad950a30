// Mends damaged journals: keeps their sound events, and writes down again what the index still
// knows about their runs, so that an index made from the journals has it, too.
#pragma once

#include "database/database.h"
#include "file/paths.h"
#include "index/refresh.h"
#include "journal/journal_reader.h"
#include "maintain/repair.h"

#include <filesystem>

namespace flor::store {

/// Mends journals that no process writes. Call it with the maintenance lock, when all else is
/// repaired. If it is stopped at any point, nothing is lost, and the next call does the rest.
void mend_journals(Database& database, RepairReport& report);

/// True if the end of a journal that no process writes is damaged or gone, which looks as if its
/// writer was killed, and its copy does not have it. `read`: has reached the journal's end.
bool lacks_end(const JournalReader& read, const std::filesystem::path& journal,
               const KnownJournal& known);

/// Makes the directory for damaged files.
void make_quarantine(const Paths& paths);

}  // namespace flor::store
