// The evaluations that wait, and what watches have seen: a database of its own in the home, so that
// who records and who watches wait for no lock of each other. How evaluations ended is in logs
// before it is here (journal/evaluation_log.h), and a queue that is made again has it from there.
#pragma once

#include "database/database.h"
#include "database/open_file.h"
#include "journal/evaluation_log.h"

#include <memory>

namespace flor::store {

struct QueueFile : OpenFile {
  QueueFile(const Paths& store_paths, const std::filesystem::path& file, OpenMode open_mode,
            Filesystem& filesystem);
  /// In memory.
  QueueFile(const Paths& store_paths, Filesystem& filesystem);

  EvaluationLog evaluations;  ///< of this process
};

enum class QueueUse {
  look,    ///< makes no file: where there is no sound one, it is made in memory
  change,  ///< as `look` in a store that was opened for reading only
};

/// The queue of the home, which is made where it is missing, and made again where it is damaged;
/// the latter is said in a line on standard error. For who changes it, it has all that logs say.
/// `database` keeps it open. Locks the database's mutex, which is never locked within the queue's.
std::shared_ptr<QueueFile> queue_of(Database& database, QueueUse use);

/// Lets the next one who changes the queue make it again if it contradicts itself as a database.
void doubt_queue(const Database& database);

}  // namespace flor::store
