// A machine's record of an evaluation queue on a server: the jobs that this machine added or
// evaluated, and the results it knows. It makes them survive a server that restarts empty, and
// makes the results visible to everything that reads this home.
#pragma once

#include "queue/job_queue.h"
#include "queue/sightings.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// The ledger of one queue. Thread-safe like Catalog, and throws the same errors.
class JobLedger {
 public:
  /// `queue`: its name. The store must outlive the ledger.
  JobLedger(const Store& store, std::string queue);

  struct Result {
    std::int64_t token = 0;  ///< token of the lease under which it was found
    std::int64_t attempts = 0;
    std::int64_t finished_us = 0;
    std::string json;
  };
  struct Entry {
    std::int64_t job = 0;      ///< number of the job in the queue
    NewJob what;               ///< its `evaluator` is unused
    std::string spec, digest;  ///< name and digest of the evaluator
    std::optional<Result> result = {};
  };
  /// Returns all entries, ordered by number.
  std::vector<Entry> entries() const;
  /// Returns the last `life` that was written (see Changes); initially empty.
  std::string life() const;

  /// Changes that `write` stores in one durable transaction.
  struct Changes {
    std::optional<std::string> life = {};  ///< an identifier of the queue's data, which changes
                                           ///< when the server loses it
    /// Jobs to remember. One with a result also becomes a finished job of the home's own queue,
    /// replacing what was known about it. One without a result changes nothing if its result is
    /// known.
    std::vector<Entry> known = {};
    std::vector<Entry> forgotten = {};  ///< deleted by users; results stay
    std::vector<Sighting> sightings = {};
  };
  void write(const Changes& changes);

  /// Returns a name of this store on this machine, the same until the machine restarts. By it
  /// owners of leases are recognised as local.
  std::string place() const;
  /// True if a process of this machine holds the lock with this key (`Store::lock_run`).
  bool is_held(std::string_view key) const;

 private:
  std::shared_ptr<struct QueueFile> file_;
  std::string queue_;
};

}  // namespace flor::store
