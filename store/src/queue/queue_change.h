// One change of the queue in the catalog: what becomes of evaluations is in their log before the
// index has it.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <mutex>

namespace flor::store {

/// Holds the database's mutex and a transaction. Without `commit` nothing has happened.
class QueueChange {
 public:
  /// `now`: Unix time, microseconds.
  QueueChange(Database& database, std::int64_t now);
  ~QueueChange();
  QueueChange(const QueueChange&) = delete;
  QueueChange& operator=(const QueueChange&) = delete;

  Connection& connection() { return database_.connection; }
  /// The job has ended, as its row says now.
  void ended(std::int64_t job);
  /// The job counts as never wanted: to be said before its row is changed or removed. Nothing where
  /// it had not ended.
  void forgets(std::int64_t job);

  /// Throws Error.
  void commit();

 private:
  void say(std::int64_t job, bool forgotten);

  std::lock_guard<std::recursive_mutex> lock_;
  Database& database_;
  std::int64_t now_;
  Transaction transaction_;
  bool committed_ = false;
};

}  // namespace flor::store
