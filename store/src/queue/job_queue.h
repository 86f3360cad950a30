// The queue of evaluations: which checkpoints are to be scored by which evaluators, which worker
// does it, and the results. The queue lies in the home, or on a server that several machines share.
// What a watch has seen (queue/sightings.h) is always stored in the home of its machine.
#pragma once

#include "queue/sightings.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// The numbers are on disk: append only.
enum class JobState : std::uint8_t {
  queued = 0,
  leased = 1,     ///< a worker is running it
  failed = 2,     ///< its last attempt failed; it is tried again at `due_us`
  done = 3,       ///< it has a result
  dead = 4,       ///< all permitted attempts failed; a user must decide
  cancelled = 5,  ///< by a user
};
std::string_view to_string(JobState state);
std::optional<JobState> job_state_from(std::string_view text);

/// A requested evaluation, identified by (content, evaluator, arguments). Equal content is scored
/// once, even if it is found under several names.
struct NewJob {
  Digest content;              ///< digest of the checkpoint
  std::int64_t evaluator = 0;  ///< id returned by `JobQueue::add_evaluator`
  std::string arguments = {};  ///< additional arguments of the evaluator
  std::string path;            ///< absolute path of the checkpoint
  std::int64_t priority = 0;   ///< jobs with a greater priority are taken first, whatever the
                               ///< JobOrder
};

/// Limit of the length of an evaluation's result, in bytes.
inline constexpr std::size_t kResultLimit = 1 << 20;

/// Identifies one attempt at a job. `token` increases with each lease and when a user changes the
/// job; reports with an older token are refused.
struct Lease {
  std::int64_t job = 0;
  std::int64_t token = 0;
  auto operator<=>(const Lease&) const = default;
};

struct LeasedJob {
  Lease lease;
  NewJob what;
  std::int64_t attempt = 1;  ///< number of failed attempts plus 1
};

struct Job {
  Lease lease;  ///< the latest one
  NewJob what;
  JobState state = JobState::queued;
  std::int64_t attempts = 0;  ///< number of failed attempts
  std::string owner;          ///< key of the lock that the owner of the lease holds
  // All times are Unix time in microseconds.
  std::int64_t added_us = 0;
  std::int64_t due_us = 0;  ///< not tried before this time
  std::optional<std::int64_t> leased_us, lease_until_us;
  std::optional<std::int64_t> finished_us;  ///< for jobs that are done, dead or cancelled
  std::string message;                      ///< why the last attempt failed
  std::string result;                       ///< JSON; empty unless the job is done
};

/// An evaluator with the content that it had when its jobs were added. After a change of its
/// content it is another evaluator, with other jobs.
struct Evaluator {
  std::int64_t id = 0;
  std::string spec;    ///< as users write it
  std::string digest;  ///< digest of the evaluator's file, in hex
};

/// Pauses after failed attempts: `first_us`, doubled after each failure, up to `longest_us`. Each
/// pause is varied by up to a quarter, depending on the job, so that not all jobs return at once.
struct RetryPolicy {
  std::int64_t attempts = 4;  ///< number of failures after which the job is dead
  std::int64_t first_us = 1'000'000;
  std::int64_t longest_us = 300'000'000;
};
/// Returns the pause in microseconds after `failed` failures, which must be at least 1.
std::int64_t backoff_us(const RetryPolicy& policy, const Lease& lease, std::int64_t failed);

/// A worker's report about a lease.
struct JobReport {
  enum class Kind : std::uint8_t {
    alive,   ///< still running; prolongs the lease
    done,    ///< `text` is the result
    failed,  ///< `text` is the reason
    back,    ///< was not tried; another worker may try it at once
    gone,    ///< its checkpoint is gone; the job is deleted, and added again if the checkpoint
             ///< reappears
  };
  Lease lease;
  Kind kind = Kind::alive;
  std::string text = {};
};

enum class JobOrder : std::uint8_t {
  fifo,
  newest,
  bisect,  ///< the one farthest from all that are done or running (queue/job_choice.h)
};

struct LeaseRequest {
  std::int64_t evaluator = 0;
  std::size_t count = 0;  ///< the most leases wanted
  JobOrder order = JobOrder::fifo;
};

/// Everything that a coordinator asks of the queue in one exchange.
struct JobOrders {
  std::string owner;                   ///< key of a lock (`Store::lock_run`) that the coordinator
                                       ///< holds
  std::int64_t lease_us = 30'000'000;  ///< how long leases are given or prolonged
  RetryPolicy retries;                 ///< for jobs that fail
  std::vector<JobReport> reports = {};
  std::vector<NewJob> additions = {};
  /// Sightings to store in the home once the additions are in the queue. They replace those of the
  /// same watch and path.
  std::vector<Sighting> sightings = {};
  std::vector<LeaseRequest> requests = {};
};

struct JobReplies {
  std::vector<bool> accepted;  ///< per report: false if the lease is not this worker's any more
  std::vector<bool> added;     ///< per addition: false if the job already existed
  std::vector<std::string> same_as;  ///< per addition: path under which its content was found
                                     ///< before, if different
  std::vector<LeasedJob> leases;
  /// Messages for the user, one line each.
  std::vector<std::string> remarks = {};
  /// Unix time in microseconds at which the same requests may get more leases even if no job is
  /// added; absent if never.
  std::optional<std::int64_t> next_us;
};

struct JobFilter {
  std::optional<JobState> state = {};
  std::optional<std::int64_t> evaluator = {};
  std::set<std::int64_t> ids = {};  ///< ids of jobs; empty: all
  bool accepts(const Job& job) const;
};

/// The server of a queue does not answer. Nothing is lost: the same orders may be given again, and
/// what was already carried out is not repeated.
class QueueUnreachable : public Error {
 public:
  using Error::Error;
};

/// Many processes may use a queue at once. Thread-safe. Throws what Catalog throws, and
/// QueueUnreachable if the queue lies on a server.
class JobQueue {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Unix time in microseconds

  virtual ~JobQueue() = default;

  /// Returns the queue's name for messages: a URL without user and password; empty for the home's
  /// queue.
  virtual std::string name() const = 0;

  /// Carries out reports, then additions, then leases, in one transaction: after a crash all of it
  /// has happened, or nothing. Before giving leases, it revokes leases whose owner has died, as its
  /// lock shows, and those that were not prolonged in time. A lease that was not prolonged is first
  /// extended by half of `lease_us`: after a pause of all processes, such as a suspended machine,
  /// living workers can then prolong their leases before they are revoked. A revoked lease does not
  /// count as a failure of the job.
  ///
  /// All processes see the changes at once, but a power loss may undo them until `sync` has
  /// returned. Work on leases may begin before that, because it would be found again; results must
  /// not be announced.
  virtual JobReplies exchange(const JobOrders& orders) = 0;
  /// Waits until all earlier exchanges are as durable as the queue can make them. Other threads may
  /// call `exchange` meanwhile.
  virtual void sync() {}

  /// Returns the id of the evaluator, which is added if it is new.
  virtual std::int64_t add_evaluator(std::string_view spec, std::string_view digest) = 0;
  virtual std::vector<Evaluator> evaluators() const = 0;

  // Functions for the user's commands. Those that change jobs return the number of changed jobs.
  /// Returns jobs in the order in which they were added.
  virtual std::vector<Job> jobs(const JobFilter& filter = {}) const = 0;
  /// Queues failed, dead and cancelled jobs again, with all their attempts.
  virtual std::int64_t retry(const JobFilter& filter) = 0;
  /// Cancels jobs that are not done. Their workers learn of it, and their reports are refused.
  virtual std::int64_t cancel(const JobFilter& filter) = 0;
  /// Deletes jobs and their results.
  virtual std::int64_t drop(const JobFilter& filter) = 0;

  /// Returns a descriptor that becomes readable when there may be more to lease, or a job was
  /// cancelled, by any process. It may become readable for no reason. It belongs to the queue and
  /// stays the same. Only events after the first call make it readable.
  virtual int bell() = 0;
  /// Makes the descriptor unreadable until the next event, and returns whether it was readable.
  /// Never waits.
  virtual bool hush() = 0;
};

/// Opens the queue in the home of a store, which must outlive it. The end of a job is written to a
/// log (journal/evaluation_log.h) before it is in the queue; both are one change.
std::unique_ptr<JobQueue> open_home_queue(const Store& store, JobQueue::Clock clock = {});

}  // namespace flor::store
