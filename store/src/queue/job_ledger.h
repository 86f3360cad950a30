// A machine's record of a queue of evaluations on a server: the jobs that it added or evaluated,
// and the results that it knows. So they survive a server that restarts empty, and all that read
// results see them.
#pragma once

#include "queue/jobs.h"
#include "queue/sightings.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// As thread-safe as Catalog, and throws what it throws.
class JobLedger {
 public:
  /// `queue` is its name. The store must outlive the ledger.
  JobLedger(const Store& store, std::string queue);

  struct Result {
    std::int64_t token = 0;  ///< of the lease that it came from
    std::int64_t attempts = 0;
    std::int64_t finished_us = 0;
    std::string json;
  };
  struct Entry {
    std::int64_t job = 0;      ///< its number in the queue
    NewJob what;               ///< without `evaluator`
    std::string spec, digest;  ///< of the evaluator
    std::optional<Result> result = {};
  };
  /// By number.
  std::vector<Entry> entries() const;
  /// The `life` that `write` was given last; empty at first.
  std::string life() const;

  /// Changes that are written in one durable transaction.
  struct Changes {
    std::optional<std::string> life = {};  ///< names a state that the queue has not lost
    /// Known from now on. Those with a result also become finished jobs of the home's own queue,
    /// whatever was known of them; without one, nothing changes for a job whose result is known.
    std::vector<Entry> known = {};
    std::vector<Entry> forgotten = {};  ///< by people; their results stay
    std::vector<Sighting> sightings = {};
  };
  void write(const Changes& changes);

  /// Names this store on this machine until the machine restarts, so that owners of leases are
  /// recognized as local.
  std::string place() const;
  /// Whether a process of this machine holds that lock (`Store::lock_run`).
  bool is_held(std::string_view key) const;

 private:
  std::shared_ptr<struct QueueFile> file_;
  std::string queue_;
};

}  // namespace flor::store
