// The database of waiting evaluations and of what watches have seen. It is separate from the
// catalog, so that recorders and watches do not wait for each other's locks. Ends of evaluations
// are in logs before they are here (journal/evaluation_log.h), and a rebuilt queue takes them from
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
  /// Opens an empty queue in memory.
  QueueFile(const Paths& store_paths, Filesystem& filesystem);

  EvaluationLog evaluations;  ///< the log of this process
};

enum class QueueUse {
  look,    ///< creates no file: if there is no sound one, the queue is built in memory
  change,  ///< the file may be created and written; like `look` if the store was opened for reading
           ///< only
};

/// Returns the queue of the home; `database` keeps it open. With `change`, creates it if it is
/// missing, rebuilds it if it is damaged (a line on standard error says so), and enters all events
/// of the logs. Locks the database's mutex; code that holds the queue's mutex never locks that one.
std::shared_ptr<QueueFile> queue_of(Database& database, QueueUse use);

/// If the queue is inconsistent as a database, marks it to be rebuilt by the next process that
/// changes it.
void doubt_queue(const Database& database);

}  // namespace flor::store
