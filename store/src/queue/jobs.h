// The queue of evaluations: which checkpoints are to be scored by which evaluators, by which
// worker, and with what result. It lies in the home, or on a server that several machines share;
// the sightings of a watch (queue/sightings.h) stay in the home of its machine.
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

/// The values are on disk: append only.
enum class JobState : std::uint8_t {
  queued = 0,
  leased = 1,     ///< a worker is running it
  failed = 2,     ///< its last attempt failed; it is tried again when it is due
  done = 3,       ///< has its result
  dead = 4,       ///< failed as often as it may: waits for a person
  cancelled = 5,  ///< by a person
};
std::string_view to_string(JobState state);
std::optional<JobState> job_state_from(std::string_view text);

/// A requested evaluation. (content, evaluator, arguments) identifies it: the same content is
/// scored once, under however many names it is found.
struct NewJob {
  Digest content;              ///< of the checkpoint
  std::int64_t evaluator = 0;  ///< of `JobQueue::add_evaluator`
  std::string arguments = {};  ///< further arguments for the evaluator
  std::string path;            ///< where the checkpoint is, absolute
  std::int64_t priority = 0;   ///< greater ones are taken first, whatever the order
};

/// The longest result of an evaluation; bytes.
inline constexpr std::size_t kResultLimit = 1 << 20;

/// Names one attempt at a job. The token grows with each lease, and when the user interferes:
/// reports with an older one are refused.
struct Lease {
  std::int64_t job = 0;
  std::int64_t token = 0;
  auto operator<=>(const Lease&) const = default;
};

struct LeasedJob {
  Lease lease;
  NewJob what;
  std::int64_t attempt = 1;  ///< 1 more than the attempts that have failed
};

struct Job {
  Lease lease;  ///< the latest
  NewJob what;
  JobState state = JobState::queued;
  std::int64_t attempts = 0;  ///< that failed
  std::string owner;          ///< of the lease: the key of the lock that it holds
  // Unix time in microseconds.
  std::int64_t added_us = 0;
  std::int64_t due_us = 0;  ///< not tried before
  std::optional<std::int64_t> leased_us, lease_until_us;
  std::optional<std::int64_t> finished_us;  ///< of done, dead and cancelled ones
  std::string message;                      ///< why the last attempt failed
  std::string result;                       ///< JSON; empty unless done
};

/// An evaluator as it was when its jobs were added: with another content it gets other jobs.
struct Evaluator {
  std::int64_t id = 0;
  std::string spec;    ///< as people call it
  std::string digest;  ///< of the evaluator's file, hex
};

/// The pauses after failed attempts: `first_us`, then twice as long each time, up to `longest_us`;
/// a quarter more or less of that, which depends on the job, so that not all come back at once.
struct RetryPolicy {
  std::int64_t attempts = 4;  ///< that may fail; then the job is dead
  std::int64_t first_us = 1'000'000;
  std::int64_t longest_us = 300'000'000;
};
/// How long to wait after that many attempts have failed, at least 1; microseconds.
std::int64_t backoff_us(const RetryPolicy& policy, const Lease& lease, std::int64_t failed);

/// A worker's report about its lease.
struct JobReport {
  enum class Kind : std::uint8_t {
    alive,   ///< still running: the lease is prolonged
    done,    ///< `text` is the result
    failed,  ///< `text` is the reason
    back,    ///< was not tried: another worker may try it at once
    gone,  ///< its checkpoint is gone: the job is forgotten, and added again if that comes back
  };
  Lease lease;
  Kind kind = Kind::alive;
  std::string text = {};
};

enum class JobOrder : std::uint8_t {
  fifo,
  newest,
  bisect,  ///< always the one farthest from those that are done or running
};

struct LeaseRequest {
  std::int64_t evaluator = 0;
  std::size_t count = 0;  ///< at most
  JobOrder order = JobOrder::fifo;
};

/// All requests of a coordinator at one moment.
struct JobOrders {
  std::string owner;                   ///< key of a lock (`Store::lock_run`) that it holds
  std::int64_t lease_us = 30'000'000;  ///< for how long leases are given or prolonged
  RetryPolicy retries;                 ///< of the jobs that fail
  std::vector<JobReport> reports = {};
  std::vector<NewJob> additions = {};
  /// Stored in the home after the additions are in the queue, not before: they replace those of the
  /// same watch and path.
  std::vector<Sighting> sightings = {};
  std::vector<LeaseRequest> requests = {};
};

struct JobReplies {
  std::vector<bool>
      accepted;             ///< for each report; false: the lease belongs to another worker or to
                            ///< none
  std::vector<bool> added;  ///< for each addition; false: such a job existed already
  std::vector<std::string> same_as;  ///< for each: where that one was found, if elsewhere
  std::vector<LeasedJob> leases;
  /// Remarks for the user: one line each.
  std::vector<std::string> remarks = {};
  /// Unix time in microseconds at which these requests may get more leases though no job is added;
  /// absent if never.
  std::optional<std::int64_t> next_us;
};

struct JobFilter {
  std::optional<JobState> state = {};
  std::optional<std::int64_t> evaluator = {};
  std::set<std::int64_t> ids = {};  ///< empty: all
  bool accepts(const Job& job) const;
};

/// The server of a queue does not answer. Nothing is lost: the same orders may be given again, and
/// those that were carried out already are not repeated.
class QueueUnreachable : public Error {
 public:
  using Error::Error;
};

/// Many processes may use a queue at once. Thread-safe; throws what Catalog throws, and
/// QueueUnreachable if it lies on a server.
class JobQueue {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Unix time in microseconds

  virtual ~JobQueue() = default;

  /// Where it is, for messages: a URL without user and password; empty for the home's.
  virtual std::string name() const = 0;

  /// Carries out reports, then additions, then leases, in one transaction: after a crash either all
  /// of it has happened or nothing. Before leases are given, it takes back those whose owner has
  /// died, as its lock shows, and those that were not prolonged in time. The latter are first
  /// extended by half a lease (of the caller): after a pause of all processes, as when a machine
  /// was suspended, workers that live prolong their leases before they are taken. A lost lease is
  /// no failure of the job.
  ///
  /// Every process sees the changes at once, but a loss of power may undo them until `sync` has
  /// returned. Work may begin before that, as its results would be found again; no result may be
  /// announced.
  virtual JobReplies exchange(const JobOrders& orders) = 0;
  /// Waits until everything that was exchanged before is as durable as the queue can make it. Other
  /// threads may exchange meanwhile.
  virtual void sync() {}

  /// Finds it, or adds it.
  virtual std::int64_t add_evaluator(std::string_view spec, std::string_view digest) = 0;
  virtual std::vector<Evaluator> evaluators() const = 0;

  // For the user's commands. They return how many jobs changed.
  /// In the order in which they were added.
  virtual std::vector<Job> jobs(const JobFilter& filter = {}) const = 0;
  /// Failed, dead and cancelled ones are queued again, with all their attempts.
  virtual std::int64_t retry(const JobFilter& filter) = 0;
  /// Ends those that are not done. Their workers are told so, and their reports are refused.
  virtual std::int64_t cancel(const JobFilter& filter) = 0;
  /// Forgets jobs with their results.
  virtual std::int64_t drop(const JobFilter& filter) = 0;

  /// A descriptor that becomes readable when there is more to lease, or a job was cancelled,
  /// perhaps by another process; it may ring for nothing. It stays the queue's, and the same. Only
  /// events after the first call ring it.
  virtual int bell() = 0;
  /// Makes the bell unreadable until it rings again, and says whether it had rung. Never waits.
  virtual bool hush() = 0;
};

/// The queue in the home of a store, which must outlive it. The end of a job is written to a log
/// before it is in the queue: both in one change.
std::unique_ptr<JobQueue> open_home_queue(const Store& store, JobQueue::Clock clock = {});

}  // namespace flor::store
