// One change of the queue. Ends of evaluations are written to their log before the queue has them.
#pragma once

#include "queue/queue_file.h"

#include <cstdint>
#include <mutex>

namespace flor::store {

/// A transaction of the queue, which holds the queue's mutex. Without `commit` nothing is changed.
class QueueChange {
 public:
  /// `now`: Unix time in microseconds.
  QueueChange(QueueFile& queue, std::int64_t now, Kept kept = Kept::here);
  ~QueueChange();
  QueueChange(const QueueChange&) = delete;
  QueueChange& operator=(const QueueChange&) = delete;

  std::int64_t now() const { return now_; }
  Connection& connection() { return queue_.connection; }
  /// Writes to the log that the job has ended, as its row says at the moment.
  void ended(std::int64_t job);
  /// Writes to the log that the job counts as never requested. Call it before its row is changed or
  /// removed. Does nothing if the job had not ended.
  void forgets(std::int64_t job);

  /// Throws Error if the log or the queue cannot be written.
  void commit();

 private:
  void say(std::int64_t job, bool forgotten);

  std::lock_guard<std::recursive_mutex> lock_;
  QueueFile& queue_;
  std::int64_t now_;
  Transaction transaction_;
  bool committed_ = false;
  bool said_ = false;  ///< events were appended to the log
};

}  // namespace flor::store
