// Mediates between a watch and the queue of evaluations: collects what the queue must be told,
// receives leases, and decides which results the user may be told.
#pragma once

#include "queue/job_queue.h"
#include "watch/accepted_results.h"
#include "watch/evaluators/evaluation_group.h"
#include "watch/retry_pause.h"
#include "watch/watch_plan.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// The number of further jobs that an evaluator could take.
struct Demand {
  std::int64_t evaluator = 0;
  std::size_t count = 0;
};

/// A moment, by the clock for waiting and by the clock that the queue uses.
struct Moment {
  std::chrono::steady_clock::time_point now;
  std::int64_t unix_us = 0;
};

/// Collects orders (reports about leases, new jobs, checkpoints that were seen) for the next
/// exchange with the queue. Only one exchange may run at a time; the caller carries it out, in
/// whatever thread, and brings the replies. A result goes through these steps:
///
///   end        a worker has a verdict; it is an order
///   take       the queue has accepted it: its event waits to be durable
///   synced     it is durable: the user may be told (AcceptedResults)
///
/// If an exchange fails, no order is lost: all are sent again, before later ones. Only reports that
/// a lease lives are made anew. If the queue refuses a report, because its lease was lost,
/// cancelled or dropped, the user is told nothing.
///
/// Pure, apart from notes to the user: no thread, no clock, no queue. Not thread-safe.
class JobDesk {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// How often to look at the queue even if its bell announced no change by another process.
  static constexpr std::chrono::milliseconds kLook{60'000};
  /// Pauses between tries of an exchange that fails.
  static constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{10'000};

  /// `terms`: owner, lease and retries of all exchanges. `order`: the order in which jobs are
  /// leased. `now`: the beginning of the intervals until the first heartbeat and the first look.
  JobDesk(store::JobOrders terms, store::JobOrder order, WatchNote note, Time now);

  // Orders.
  void add(store::NewJob job) { orders_.additions.push_back(std::move(job)); }
  void saw(store::Sighting sighting) { orders_.sightings.push_back(std::move(sighting)); }
  /// Returns a leased job that was not tried, so that another worker may take it at once.
  void give_back(const store::Lease& lease);
  void give_back(const std::vector<store::Lease>& leases);
  /// Reports that the checkpoint of a leased job is gone.
  void forget(const store::Lease& lease);
  /// Reports the verdict on a leased job. `path`: its checkpoint, as shown to users.
  void end(Verdict verdict, std::string path);
  /// Assigns jobs that the queue does not know yet to the new version of an evaluator; `old` and
  /// `now` are ids in the queue.
  void replace_evaluator(std::int64_t old, std::int64_t now);
  /// Whether there is anything to tell the queue.
  bool has_orders() const;
  /// Orders that have the terms and nothing else.
  const store::JobOrders& terms() const { return terms_; }

  // Exchanges.
  /// Tells the desk that the queue has changed: the next exchange comes soon, and checks that all
  /// leases still live.
  void ring(Time now);
  /// Makes the next exchange ask the queue for jobs.
  void look() { look_ = true; }
  /// Whether an exchange must begin. `holds`: whether there are leases without a verdict.
  bool is_due(const Moment& at, const std::vector<Demand>& demands, bool holds) const;
  /// When the next exchange or sync is due, unless something happens earlier.
  Time due(const Moment& at, const std::vector<Demand>& demands, bool holds) const;
  /// Begins an exchange. The returned orders stay valid until `take` or `failed`. `held`: all
  /// leases without a verdict; they are renewed if that is due.
  const store::JobOrders& begin(const Moment& at, const std::vector<store::Lease>& held,
                                const std::vector<Demand>& demands);
  /// Begins the exchange that ends the watch: it leases and renews nothing.
  const store::JobOrders& begin_last();
  bool is_exchanging() const { return exchanging_; }

  struct News {
    std::vector<store::LeasedJob> leases;  ///< to be evaluated
    std::vector<store::Lease> called_off;  ///< lost: stop their evaluation
  };
  News take(const store::JobReplies& replies);
  void failed(Time now, const std::string& why);
  /// Whether the latest exchange failed.
  bool fails() const { return pause_.fails(); }

  // Results.
  /// The results that the queue has accepted.
  AcceptedResults& accepted() { return accepted_; }
  const AcceptedResults& accepted() const { return accepted_; }
  /// The number of results that are not durable, or not even accepted.
  std::size_t unpublished() const { return events_.size() + accepted_.size(); }

  // Ends.
  /// Whether there is nothing left to do: no orders wait here, and an exchange that began when
  /// everything else was idle (`rests`) found no job. Otherwise makes the next exchange ask the
  /// queue once more.
  bool is_idle(bool rests);
  /// The reason if exchanges have failed for longer than `patience`, else nullopt.
  std::optional<std::string> failure(Time now, std::chrono::milliseconds patience) const;

 private:
  void add_heartbeats(Time now, const std::vector<store::Lease>& held);
  void begin_saying();
  void note_copies(const store::JobReplies& replies);
  Time next_lease(const Moment& at, const std::vector<Demand>& demands) const;

  store::JobOrders terms_;
  store::JobOrder order_;
  WatchNote note_;
  store::JobOrders orders_;                  // of the next exchange
  store::JobOrders said_;                    // of the running exchange, or the latest
  std::map<store::Lease, JobEvent> events_;  // results of leases whose report was sent, or will be
  AcceptedResults accepted_;
  std::optional<std::int64_t> next_us_;  // when there may be more to lease, in the queue's time
  std::set<std::int64_t> exhausted_;  // evaluators for which the latest exchange found too few jobs
  std::size_t demands_ = 0;           // number of evaluators that the latest exchange asked for
  Moment asked_;                      // when the latest exchange began
  Time next_heartbeat_, next_look_;
  bool look_ = true, exchanging_ = false;
  bool found_nothing_open_ = false;  // by an exchange that began when everything else was idle
  RetryPause pause_{kFirstPause, kLongestPause};
};

}  // namespace flor::cli
