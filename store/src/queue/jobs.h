// The queue of evaluations: which checkpoints are to be judged by which evaluator, who is at it,
// and what came out. It lies in the home, or on a server that several machines share; what a
// watch has seen of its directories (queue/sightings.h) stays in the home of its machine.
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
  leased = 1,     ///< a worker is at it
  failed = 2,     ///< its last attempt failed; it is tried again when it is due
  done = 3,       ///< has its result
  dead = 4,       ///< failed as often as it may: waits for a person
  cancelled = 5,  ///< by a person
};
std::string_view to_string(JobState state);
std::optional<JobState> job_state_from(std::string_view text);

/// An evaluation that is wanted. (content, evaluator, arguments) identifies it: the same content is
/// judged once, under however many names it is found.
struct NewJob {
  Digest content;              ///< of the checkpoint
  std::int64_t evaluator = 0;  ///< of `JobQueue::add_evaluator`
  std::string arguments = {};  ///< what else the evaluator is told
  std::string path;            ///< where the checkpoint is, absolute
  std::int64_t priority = 0;   ///< greater ones are taken first, whatever the order
};

/// The longest result of an evaluation; bytes.
inline constexpr std::size_t kResultLimit = 1 << 20;

/// Names one attempt at a job. The token grows with each lease, and when a person interferes: what
/// a worker says with an older one is refused.
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

/// An evaluator as it was when its jobs were added: another content makes other jobs.
struct Evaluator {
  std::int64_t id = 0;
  std::string spec;    ///< as people call it
  std::string digest;  ///< of the file behind it, hex
};

/// When a failed attempt is followed by another: after `first_us`, then twice as long each time, up
/// to `longest_us`; a quarter more or less of that, which depends on the job, so that not all come
/// back at once.
struct RetryPolicy {
  std::int64_t attempts = 4;  ///< that may fail; then the job is dead
  std::int64_t first_us = 1'000'000;
  std::int64_t longest_us = 300'000'000;
};
/// How long to wait after that many attempts have failed, at least 1; microseconds.
std::int64_t backoff_us(const RetryPolicy& policy, const Lease& lease, std::int64_t failed);

/// What a worker says about its lease.
struct JobReport {
  enum class Kind : std::uint8_t {
    alive,   ///< goes on: the lease is prolonged
    done,    ///< `text` is the result
    failed,  ///< `text` says why
    back,    ///< was not tried: somebody else may, at once
    gone,  ///< its checkpoint is no more: the job is forgotten, and added again if that comes back
  };
  Lease lease;
  Kind kind = Kind::alive;
  std::string text = {};
};

enum class JobOrder : std::uint8_t {
  fifo,
  newest,
  bisect,  ///< always the one farthest from those that are judged or being judged
};

struct LeaseRequest {
  std::int64_t evaluator = 0;
  std::size_t count = 0;  ///< at most
  JobOrder order = JobOrder::fifo;
};

/// Everything that a coordinator has to say at a moment.
struct JobOrders {
  std::string owner;                   ///< key of a lock (`Store::lock_run`) that it holds
  std::int64_t lease_us = 30'000'000;  ///< for how long leases are given or prolonged
  RetryPolicy retries;                 ///< of the jobs that fail
  std::vector<JobReport> reports = {};
  std::vector<NewJob> additions = {};
  /// Remembered in the home as soon as the additions are in the queue, not before: replace those
  /// of the same watch and path.
  std::vector<Sighting> sightings = {};
  std::vector<LeaseRequest> requests = {};
};

struct JobReplies {
  std::vector<bool>
      accepted;             ///< for each report; false: the lease is somebody else's, or nobody's
  std::vector<bool> added;  ///< for each addition; false: such a job was there
  std::vector<std::string> same_as;  ///< for each: where that one was found, if elsewhere
  std::vector<LeasedJob> leases;
  /// What people should know: one line each.
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
/// whatever had come to pass of them is not done twice.
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

  /// Where it is, for people: a URL without user and password; empty for the home's.
  virtual std::string name() const = 0;

  /// Reports, then additions, then leases, in one transaction: after a crash either everything of
  /// it has happened or nothing. Before leases are given, those are taken away whose owner's lock
  /// is free, so that it has died, and those that nobody prolonged in time. The latter get half a
  /// lease (of who asks) more when that is seen first: after a pause of everybody, as when a
  /// machine was suspended, who lives prolongs its leases before anybody takes them. To lose a
  /// lease is no failure of the job.
  ///
  /// Everybody sees it at once, but a loss of power may undo it until `sync` has returned. Work may
  /// begin before that, as what was found would be found again; no result may be told of.
  virtual JobReplies exchange(const JobOrders& orders) = 0;
  /// Waits until everything that was exchanged before is as durable as the queue can make it.
  /// Others may exchange meanwhile.
  virtual void sync() {}

  /// Finds it, or adds it.
  virtual std::int64_t add_evaluator(std::string_view spec, std::string_view digest) = 0;
  virtual std::vector<Evaluator> evaluators() const = 0;

  // For people. The numbers are those of the jobs that changed.
  /// In the order in which they were added.
  virtual std::vector<Job> jobs(const JobFilter& filter = {}) const = 0;
  /// Failed, dead and cancelled ones are queued again, with all their attempts.
  virtual std::int64_t retry(const JobFilter& filter) = 0;
  /// Ends those that are not done. Their workers are told so and are refused.
  virtual std::int64_t cancel(const JobFilter& filter) = 0;
  /// Forgets jobs with their results.
  virtual std::int64_t drop(const JobFilter& filter) = 0;

  /// A descriptor that becomes readable when there is more to lease, or a job was cancelled,
  /// because of somebody who may be another process; it may ring for nothing. It stays the queue's,
  /// and the same. Who has not asked for it is not told of what happened before.
  virtual int bell() = 0;
  /// Makes the bell unreadable until it rings again, and says whether it had rung. Never waits.
  virtual bool hush() = 0;
};

/// The queue in the home of a store, which must outlive it. How a job ended is in a log before the
/// queue has it: both in one change.
std::unique_ptr<JobQueue> open_home_queue(const Store& store, JobQueue::Clock clock = {});

}  // namespace flor::store
