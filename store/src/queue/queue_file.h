// The waiting evaluations, and the sightings of watches: a database of its own in the home, so that
// recorders and watches do not wait for each other's locks. The ends of evaluations are in logs
// before they are here (journal/evaluation_log.h), and a queue that is made again takes them from
// there.
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
  look,    ///< makes no file: without a sound one, the queue is made in memory
  change,  ///< as `look` in a store that was opened for reading only
};

/// The queue of the home, which is made where it is missing, and made again where it is damaged,
/// which a line on standard error reports. For `change` it first enters all events of the logs.
/// `database` keeps it open. Locks the database's mutex, which is never locked within the queue's.
std::shared_ptr<QueueFile> queue_of(Database& database, QueueUse use);

/// Lets the next process that changes the queue make it again if its database is inconsistent.
void doubt_queue(const Database& database);

}  // namespace flor::store
